// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/plane"
)

// localVolumeLoad is a cluster that loses half of its nodes. A goal of 0 is none.
type localVolumeLoad struct {
	benchmark      string
	nodes, volumes int
	// goalClaims and goalVolumes are times until all of them have been deleted, from the first lost node on, in seconds.
	goalClaims, goalVolumes float64
	// goalRequests counts all requests but those for events, goalMemory is in MiB, goalCPU in CPU-seconds, goalLines in
	// log lines for each lost node.
	goalRequests, goalMemory, goalCPU, goalLines float64
}

// localVolumeLoads returns the loads of the reference figures: a deletion for each claim and volume, and at most as many requests again
// that find its node immediately before, which concurrent deletions share. The node-cleanup controller of sig-storage-local-static-provisioner
// takes 239.6 s for the claims of the first and 600.2 s for its volumes (13.7 s and 28.6 s with a higher limit of requests compiled
// in), 78 MiB, and has 107 of its requests rejected; it takes 36 CPU-seconds and writes 203 MB of logs for the second.
func localVolumeLoads() []localVolumeLoad {
	return []localVolumeLoad{
		{benchmark: "localvolume", nodes: 20, volumes: 2000, goalClaims: 5, goalVolumes: 8, goalRequests: 4100, goalMemory: 78},
		// A line each, and a few for the batches.
		{benchmark: "localvolume-many", nodes: 1000, volumes: 5000, goalCPU: 5, goalLines: 1.1},
	}
}

// benchmarkLocalVolumes measures how long it takes until the claims and volumes of lost nodes have been deleted, and what it costs.
func benchmarkLocalVolumes(ctx context.Context, reporter *report.Reporter) error {
	for _, load := range localVolumeLoads() {
		if err := load.run(ctx, reporter); err != nil {
			return fmt.Errorf("%s: %w", load.benchmark, err)
		}
	}
	return nil
}

func (l localVolumeLoad) run(ctx context.Context, reporter *report.Reporter) (err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	policy, audit := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(cleanerPolicy), 0o600); err != nil {
		return err
	}
	p, err := plane.Start(ctx, plane.Options{
		Dir: filepath.Join(dir, "plane"), PlainEtcd: true,
		KubeAPIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + audit},
		KubeControllers: []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller",
			"persistentvolume-protection-controller"},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop(context.WithoutCancel(ctx))) }()
	config := rest.CopyConfig(p.Config())
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := l.prepare(ctx, client); err != nil {
		return err
	}
	cleaner, err := startCleaner(ctx, p, dir)
	if err != nil {
		return err
	}
	defer cleaner.stop()
	before, err := cleaner.reading()
	if err != nil {
		return err
	}
	othersBefore, err := cpuOf(p)
	if err != nil {
		return err
	}
	seen, err := l.lose(ctx, client)
	if err != nil {
		return err
	}
	after, err := cleaner.reading()
	if err != nil {
		return err
	}
	others, err := cpuOf(p)
	if err != nil {
		return err
	}
	cleaner.stop()
	if l.goalClaims > 0 {
		if seen.floor, err = l.deleteRest(ctx, client); err != nil {
			return err
		}
	}
	requests, err := readAudit(audit)
	if err != nil {
		return err
	}
	for name, used := range others {
		figure := report.Figure{Benchmark: l.benchmark, Process: name, Name: "CPU while nodes are lost", Value: (used - othersBefore[name]).Seconds(), Unit: "CPU-s", Objects: l.volumes}
		if err := reporter.Add(figure); err != nil {
			return err
		}
	}
	return l.report(reporter, seen, before, after, requests)
}

// deleteRest deletes the claims that are left, immediately and with nothing else to do, and returns how long it takes until they
// have been deleted: kube-controller-manager takes their finalizers off one after the other. No cleanup can be faster.
func (l localVolumeLoad) deleteRest(ctx context.Context, client kubernetes.Interface) (time.Duration, error) {
	claims := client.CoreV1().PersistentVolumeClaims(benchNamespace)
	left, err := claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	watcher, err := claims.Watch(ctx, metav1.ListOptions{ResourceVersion: left.ResourceVersion})
	if err != nil {
		return 0, err
	}
	defer watcher.Stop()
	start, deletion := time.Now(), make(chan error, 1)
	go func() {
		deletion <- each(len(left.Items), func(i int) error { return claims.Delete(ctx, left.Items[i].Name, metav1.DeleteOptions{}) })
	}()
	for deleted := 0; deleted < len(left.Items); {
		select {
		case err := <-deletion:
			if err != nil {
				return 0, err
			}
			deletion = nil
		case event, open := <-watcher.ResultChan():
			if !open {
				return 0, ended(ctx, "claims", deleted, len(left.Items))
			}
			if event.Type == watch.Deleted {
				deleted++
			}
		}
	}
	return time.Since(start), nil
}

// cpuOf returns what the processes of the control plane have used.
func cpuOf(p *plane.Plane) (map[string]time.Duration, error) {
	used := map[string]time.Duration{}
	for _, process := range []*plane.Process{p.Etcd, p.KubeAPIServer, p.KubeControllerManager} {
		u, err := probe.UsageOf(process.PID())
		if err != nil {
			return nil, fmt.Errorf("cannot measure %s: %w", process.Name(), err)
		}
		used[process.Name()] = u.CPU
	}
	return used, nil
}

func (l localVolumeLoad) report(reporter *report.Reporter, seen *observation, before, after cleanerReading, requests auditCounts) error {
	const process = "groundskeeper-local-volume-node-cleanup"
	goal := func(value float64) *float64 {
		if value == 0 {
			return nil
		}
		return &value
	}
	figures := []report.Figure{
		{Name: "time until all claims have a deletion timestamp", Value: seen.claimsDeleted.Seconds(), Unit: "s"},
		{Name: "time until all volumes have a deletion timestamp", Value: seen.volumesDeleted.Seconds(), Unit: "s"},
		{Name: "time until all claims are deleted", Value: seen.deletedClaims.Seconds(), Unit: "s", Goal: goal(l.goalClaims)},
		{Name: "time until all volumes are deleted", Value: seen.deletedVolumes.Seconds(), Unit: "s", Goal: goal(l.goalVolumes)},
		{Name: "claims without an event that came before their deletion", Value: float64(seen.withoutEvent()), Unit: "1", Goal: new(0.0)},
		{Name: "claims whose event was stored after their deletion", Value: float64(seen.storedLate()), Unit: "1"},
		{Process: process, Name: "requests, without events", Value: float64(requests.others), Unit: "1", Goal: goal(l.goalRequests)},
		{Process: process, Name: "requests for events", Value: float64(requests.events), Unit: "1"},
		{Process: process, Name: "requests forbidden", Value: float64(requests.forbidden), Unit: "1", Goal: new(0.0)},
		{Process: process, Name: "requests with another 4xx status", Value: float64(requests.rejected), Unit: "1"},
		{Process: process, Name: "CPU while nodes are lost", Value: (after.CPU - before.CPU).Seconds(), Unit: "CPU-s", Goal: goal(l.goalCPU)},
		{Process: process, Name: "total CPU", Value: after.CPU.Seconds(), Unit: "CPU-s"},
		{Process: process, Name: "resident memory before", Value: before.RSS, Unit: "MiB"},
		{Process: process, Name: "most resident memory", Value: after.Peak, Unit: "MiB", Goal: goal(l.goalMemory)},
		{Process: process, Name: "log lines for each lost node", Value: float64(after.lines-before.lines) / float64(l.nodes/2), Unit: "1", Goal: goal(l.goalLines)},
	}
	if seen.floor > 0 { // only measured where the time has a goal
		figures = append(figures, report.Figure{Name: "lower bound: a client that only deletes the same claims", Value: seen.floor.Seconds(), Unit: "s"})
	}
	for _, figure := range figures {
		figure.Benchmark, figure.Objects = l.benchmark, l.volumes
		if err := reporter.Add(figure); err != nil {
			return err
		}
	}
	return nil
}

// cleanerTimeout is how long the process may take until it is ready.
const cleanerTimeout = time.Minute
