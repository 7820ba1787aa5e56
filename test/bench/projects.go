// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	typedv1beta1 "groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/typed/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/plane"
)

// Goals for 1000 Projects on 2 cores. Gardener's API server and controller manager on the same control plane take
// 119.8 s with their default limits and 42.5 s without, 32 writes, 131 and 207 MiB.
const (
	goalReady            = 25.0
	goalWrites           = 16.0
	goalManagerMemory    = 100.0
	goalAPIServerMemory  = 150.0
	projectsOfTheGoals   = 1000
	benchmarkProjectName = "projects"
)

// benchmarkProjects creates Projects as fast as it can and measures until all of them are Ready.
func benchmarkProjects(ctx context.Context, reporter *report.Reporter, count, workers int) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := plane.Start(ctx, plane.Options{Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, PlainEtcd: true})
	if err != nil {
		return err
	}
	defer func() { _ = p.Stop(context.WithoutCancel(ctx)) }()

	config := rest.CopyConfig(p.Config())
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	projects := client.GardenerV1beta1().Projects()
	before, err := measure(ctx, p)
	if err != nil {
		return err
	}
	elapsed, err := untilReady(ctx, projects, count, workers)
	if err != nil {
		return err
	}
	after, err := measure(ctx, p)
	if err != nil {
		return err
	}
	return reportProjects(reporter, count, elapsed, before, after)
}

// untilReady creates the Projects and returns how long it took until the last one was Ready.
func untilReady(ctx context.Context, projects typedv1beta1.ProjectInterface, count, workers int) (time.Duration, error) {
	list, err := projects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	events, err := projects.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return 0, err
	}
	defer events.Stop()
	start := time.Now()
	failed := make(chan error, workers)
	names := make(chan string)
	go func() {
		defer close(names)
		for i := range count {
			names <- fmt.Sprintf("bench-%d", i)
		}
	}()
	var creators sync.WaitGroup
	for range workers {
		creators.Go(func() {
			for name := range names {
				if _, err := projects.Create(ctx, newProject(name), metav1.CreateOptions{}); err != nil {
					failed <- fmt.Errorf("cannot create project %s: %w", name, err)
					return
				}
			}
		})
	}
	ready := map[string]bool{}
	for len(ready) < count {
		select {
		case err := <-failed:
			return 0, err
		case event, open := <-events.ResultChan():
			if !open || event.Type == watch.Error {
				return 0, errors.Join(fmt.Errorf("the watch ended with %d of %d projects ready", len(ready), count), context.Cause(ctx))
			}
			if project, ok := event.Object.(*gardenerv1beta1.Project); ok && project.Status.Phase == gardenerv1beta1.ProjectReady {
				ready[project.Name] = true
			}
		}
	}
	elapsed := time.Since(start)
	creators.Wait()
	return elapsed, nil
}

// newProject returns a Project of usual size: an owner, and a member of each of two more roles.
func newProject(name string) *gardenerv1beta1.Project {
	member := func(user string, roles ...string) gardenerv1beta1.ProjectMember {
		m := gardenerv1beta1.ProjectMember{}
		m.Kind, m.Name, m.Roles = "User", user, roles
		return m
	}
	return &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gardenerv1beta1.ProjectSpec{
			Description: new("A project of a benchmark"),
			Members:     []gardenerv1beta1.ProjectMember{member("alice@example.com", "admin"), member("bob@example.com", "viewer", "uam")},
		},
	}
}

// reading is what the processes have used, and how many writes the manager has sent.
type reading struct {
	processes map[string]probe.Usage
	writes    float64
}

func measure(ctx context.Context, p *plane.Plane) (reading, error) {
	r := reading{processes: map[string]probe.Usage{}}
	all := append([]*plane.Process{p.Etcd, p.KubeAPIServer, p.KubeControllerManager}, append(p.APIServers, p.Managers...)...)
	for _, process := range all {
		u, err := probe.UsageOf(process.PID())
		if err != nil {
			return r, fmt.Errorf("cannot measure %s: %w", process.Name(), err)
		}
		r.processes[process.Name()] = u
	}
	var err error
	r.writes, err = writesOf(ctx, p.Managers[0])
	return r, err
}

// writesOf reads from the metrics of the manager how many writes it has sent, the renewals of its lease among them.
func writesOf(ctx context.Context, manager *plane.Process) (float64, error) {
	samples, err := probe.Scrape(ctx, http.DefaultClient, "http://"+manager.Address()+"/metrics", "rest_client_requests_total")
	if err != nil {
		return 0, err
	}
	if len(samples) == 0 {
		return 0, fmt.Errorf("the metrics of %s have no rest_client_requests_total", manager.Name())
	}
	sum := 0.0
	for _, s := range samples {
		if s.Labels["method"] != http.MethodGet {
			sum += s.Value
		}
	}
	return sum, nil
}

func reportProjects(reporter *report.Reporter, count int, elapsed time.Duration, before, after reading) error {
	goal := func(value float64) *float64 {
		if count != projectsOfTheGoals {
			return nil // the goals mention that many
		}
		return &value
	}
	add := func(process, name string, value float64, unit string, goal *float64) error {
		return reporter.Add(report.Figure{Benchmark: benchmarkProjectName, Process: process, Name: name, Value: value, Unit: unit, Objects: count, Goal: goal})
	}
	if err := add("", "time until all projects are Ready", elapsed.Seconds(), "s", goal(goalReady)); err != nil {
		return err
	}
	if err := add("", "writes per project", (after.writes-before.writes)/float64(count), "1", goal(goalWrites)); err != nil {
		return err
	}
	for _, name := range []string{"groundskeeper-apiserver", "groundskeeper-controller-manager", "kube-apiserver", "kube-controller-manager", "etcd"} {
		used, ok := after.processes[name]
		if !ok {
			return fmt.Errorf("process %s was not measured", name)
		}
		var memory *float64
		switch name {
		case "groundskeeper-apiserver":
			memory = goal(goalAPIServerMemory)
		case "groundskeeper-controller-manager":
			memory = goal(goalManagerMemory)
		}
		if err := add(name, "CPU", (used.CPU - before.processes[name].CPU).Seconds(), "CPU-s", nil); err != nil {
			return err
		}
		if err := add(name, "resident memory", used.RSS, "MiB", memory); err != nil {
			return err
		}
		if err := add(name, "most resident memory", used.Peak, "MiB", nil); err != nil {
			return err
		}
	}
	return nil
}
