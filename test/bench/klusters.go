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
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	benchmarkKlustersName = "klusters"

	// The load: Klusters of several projects of one cloud, each with a Secret and a dedicated router, all of whose routes lead to
	// servers.
	klustersOfTheGoals  = 1000
	projectsOfKlusters  = 10
	routesOfKlusters    = 10
	serversOfProject    = 10
	intervalOfKlusters  = time.Minute
	windowOfKlusters    = 2 * intervalOfKlusters
	requestsOfKlusters  = 100.0 // qps and burst
	idlePassesOfKluster = 10

	// Goals. A reconciliation over a router with live routes costs two requests; the check of the cloud, every five minutes, one
	// more.
	goalIdlePass              = 1.0
	goalSteadyWrites          = 0.1 // the renewals of the manager's lease are among them
	goalNone                  = 0.0
	goalKlusterFirstWrites    = 8.0
	goalKlusterSteadyRequests = 3.0
)

// benchmarkKlusters measures what it costs to manage many Klusters of one cloud. The API server of all workload clusters is that of
// the plane.
func benchmarkKlusters(ctx context.Context, reporter *report.Reporter) error {
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
	k := &klusters{Plane: p, reporter: reporter, on: filepath.Join(dir, "on.yaml"), off: filepath.Join(dir, "off.yaml")}
	if k.core, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if k.own, err = versioned.NewForConfig(config); err != nil {
		return err
	}
	if err := k.prepare(ctx); err != nil {
		return err
	}
	if err := k.idle(ctx); err != nil {
		return err
	}
	return k.crowd(ctx)
}

// klusters is a plane whose manager manages Klusters.
type klusters struct {
	*plane.Plane
	reporter *report.Reporter
	core     kubernetes.Interface
	own      versioned.Interface
	// on and off are configurations of the manager with and without the controllers of Klusters.
	on, off    string
	kubeconfig []byte
}

func (k *klusters) add(process, name string, value float64, unit string, goal *float64) error {
	return k.reporter.Add(report.Figure{
		Benchmark: benchmarkKlustersName, Process: process, Name: name, Value: value, Unit: unit, Objects: klustersOfTheGoals, Goal: goal,
	})
}

// idle counts what passes over a router without routes request from a cloud that no other client uses.
func (k *klusters) idle(ctx context.Context) error {
	cloud, router, err := k.idleCloud(ctx)
	if err != nil {
		return err
	}
	defer cloud.Close()
	if err := k.Managers[0].Restart(ctx, "--config="+k.on); err != nil {
		return err
	}
	if err := k.untilClean(ctx, 1); err != nil {
		return err
	}
	passes, _, err := k.passes(ctx, 0)
	if err != nil {
		return err
	}
	// Right behind a reconciliation, nothing that is counted as one of two figures is missing in the other.
	passes, checks, err := k.passes(ctx, passes+1)
	if err != nil {
		return err
	}
	cloud.Requests()
	morePasses, moreChecks, err := k.passes(ctx, passes+idlePassesOfKluster)
	if err != nil {
		return err
	}
	reads, others := 0.0, 0.0
	for _, request := range cloud.Requests() {
		if request.Method == http.MethodGet && request.Path == "/network/v2.0/routers/"+router {
			reads++
		} else {
			others++
		}
	}
	if err := k.Managers[0].Restart(ctx, "--config="+k.off); err != nil {
		return err
	}
	// A check reads the router once, too.
	reads -= moreChecks - checks
	return errors.Join(
		k.add("", "reads of the router for each run over one without routes", reads/(morePasses-passes), "1", new(goalIdlePass)),
		k.add("", "other requests of these runs", others, "1", new(goalNone)),
		k.dropIdle(ctx),
	)
}

// crowd registers all Klusters, starts the manager and measures the time until all are clean, and a window behind it.
func (k *klusters) crowd(ctx context.Context) error {
	cloud, err := k.fullCloud(ctx)
	if err != nil {
		return err
	}
	defer cloud.Close()
	start := time.Now()
	if err := k.Managers[0].Restart(ctx, "--config="+k.on); err != nil {
		return err
	}
	if err := k.untilClean(ctx, klustersOfTheGoals); err != nil {
		return err
	}
	first, err := k.read(ctx, cloud, start)
	if err != nil {
		return err
	}
	start = time.Now()
	timer := time.NewTimer(windowOfKlusters)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	steady, err := k.read(ctx, cloud, start)
	if err != nil {
		return err
	}
	// The manager began with nothing, so that the first reading is what the first reconciliation took.
	steady.cpu, steady.writes = steady.cpu-first.cpu, steady.writes-first.writes
	if err := k.publish("in the first run", first, new(goalKlusterFirstWrites)); err != nil {
		return err
	}
	if err := k.publish("in steady state", steady, new(goalSteadyWrites)); err != nil {
		return err
	}
	each := steady.requests.sum() / klustersOfTheGoals / steady.took.Minutes()
	return errors.Join(
		k.add("", "time until all routers are clean", first.took.Seconds(), "s", nil),
		k.add("", fmt.Sprintf("requests per kluster and minute, at an interval of %s", intervalOfKlusters), each, "1", new(goalKlusterSteadyRequests)),
	)
}
