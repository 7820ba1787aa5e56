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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	typedgimbalv1 "groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/typed/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	benchmarkMaintenanceName = "maintenance"

	// The load: routes of two kinds, applied by a user, so that each takes two writes to drain and two to restore.
	proxiesOfMaintenance = 2000
	routesOfMaintenance  = 500

	goalWritesPerRoute = 2.0
	// goalStatusWrites is how often a status is written, a second.
	goalStatusWrites = 1.0
)

// benchmarkMaintenance drains one of two backends that all routes refer to, and enables it again. Each route takes two writes.
func benchmarkMaintenance(ctx context.Context, reporter *report.Reporter, workers int) error {
	m := &maintained{
		reporter: reporter, benchmark: benchmarkMaintenanceName, objects: proxiesOfMaintenance + routesOfMaintenance, routes: proxiesOfMaintenance + routesOfMaintenance,
		unit: "route", goalWrites: goalWritesPerRoute, written: []string{"groundskeeper_maintenance_route_writes_total"},
	}
	return m.run(ctx, func(m *maintained) error { return m.loadRoutes(ctx, workers) })
}

// run starts a plane and loads it, drains the backend and enables it again.
func (m *maintained) run(ctx context.Context, load func(*maintained) error) error {
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
	m.Plane = p
	if err := load(m); err != nil {
		return err
	}
	client, err := versioned.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	m.backends = client.GimbalV1().DiscoveryBackends(backendNamespace)
	if err := m.until(ctx, gimbalv1.ClusterEnabled, metav1.ConditionFalse, "Enabled", ""); err != nil {
		return err
	}
	if err := m.until(ctx, gimbalv1.ClusterMaintenance, metav1.ConditionTrue, "Drained", "drain"); err != nil {
		return err
	}
	if err := m.until(ctx, gimbalv1.ClusterEnabled, metav1.ConditionFalse, "Enabled", "restore"); err != nil {
		return err
	}
	used, err := probe.UsageOf(p.Managers[0].PID())
	if err != nil {
		return err
	}
	for name, value := range map[string]float64{"resident memory": used.RSS, "most resident memory": used.Peak} {
		if err := m.add(p.Managers[0].Name(), name, value, "MiB", nil); err != nil {
			return err
		}
	}
	if m.unit == "Service" {
		return m.baseline(ctx)
	}
	return nil
}

// maintained is a plane with routes to two backends.
type maintained struct {
	*plane.Plane
	reporter  *report.Reporter
	backends  typedgimbalv1.DiscoveryBackendInterface
	benchmark string
	// objects is how many objects are drained, each of which is a unit; routes is how many routes refer to the backend.
	objects, routes int
	unit            string
	// written are the metrics that count the writes to drain them, with the labels of methods if they have such.
	written []string
	// goalWrites is how many writes one takes, goalTime how many seconds all of them take; 0 is no goal.
	goalWrites, goalTime float64
}

func (m *maintained) add(process, name string, value float64, unit string, goal *float64) error {
	return m.reporter.Add(report.Figure{
		Benchmark: m.benchmark, Process: process, Name: name, Value: value, Unit: unit, Objects: m.objects, Goal: goal,
	})
}

// until changes the backend, waits until its condition Drained follows, and reports what that took, unless what is "".
func (m *maintained) until(ctx context.Context, want gimbalv1.ClusterStatus, status metav1.ConditionStatus, reason, what string) error {
	before, err := m.writes(ctx)
	if err != nil {
		return err
	}
	usedBefore, err := m.usage()
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"cluster":{"clusterStatus":%q}}`, want)
	start := time.Now()
	changed, err := m.backends.Patch(ctx, drainedBackend, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	events, err := m.backends.Watch(ctx, metav1.ListOptions{ResourceVersion: changed.ResourceVersion, FieldSelector: "metadata.name=" + drainedBackend})
	if err != nil {
		return err
	}
	defer events.Stop()
	statusWrites := 0
	for backend := changed; !m.isDrained(backend, status, reason); {
		event, open := <-events.ResultChan()
		if !open || event.Type == watch.Error {
			return errors.Join(fmt.Errorf("the watch of the backend ended before it was %s", reason), context.Cause(ctx))
		}
		var ok bool
		if backend, ok = event.Object.(*gimbalv1.DiscoveryBackend); !ok {
			return fmt.Errorf("%T is not a DiscoveryBackend", event.Object)
		}
		statusWrites++
	}
	elapsed := time.Since(start)
	after, err := m.writes(ctx)
	if err != nil || what == "" {
		return err
	}
	used, err := m.usage()
	if err != nil {
		return err
	}
	goalTime := (*float64)(nil)
	if m.goalTime > 0 {
		goalTime = new(m.goalTime)
	}
	errs := []error{
		m.add("", "time to "+what+" all "+m.unit+"s", elapsed.Seconds(), "s", goalTime),
		m.add("", "writes per "+m.unit+" to "+what, (after-before)/float64(m.objects), "1", new(m.goalWrites)),
		m.add("", "status writes per second to "+what, float64(max(statusWrites-1, 0))/elapsed.Seconds(), "1", new(goalStatusWrites)),
	}
	for name, cpu := range used {
		errs = append(errs, m.add(name, "CPU to "+what, (cpu-usedBefore[name]).Seconds(), "CPU-s", nil))
	}
	return errors.Join(errs...)
}

// usage returns the CPU time of the processes that take part.
func (m *maintained) usage() (map[string]time.Duration, error) {
	used := map[string]time.Duration{}
	for _, process := range []*plane.Process{m.Managers[0], m.KubeAPIServer, m.Etcd} {
		usage, err := probe.UsageOf(process.PID())
		if err != nil {
			return nil, err
		}
		used[process.Name()] = usage.CPU
	}
	return used, nil
}

// isDrained reports whether the condition Drained of a backend, at present, has a status and a reason.
func (m *maintained) isDrained(backend *gimbalv1.DiscoveryBackend, status metav1.ConditionStatus, reason string) bool {
	c := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
	return c != nil && c.ObservedGeneration == backend.Generation && c.Status == status && c.Reason == reason &&
		backend.Status.Routes != nil && int(backend.Status.Routes.Matching) == m.routes
}

// writes is how many writes the manager has sent.
func (m *maintained) writes(ctx context.Context) (float64, error) {
	sum := 0.0
	for _, metric := range m.written {
		samples, err := probe.Scrape(ctx, http.DefaultClient, "http://"+m.Managers[0].Address()+"/metrics", metric)
		if err != nil {
			return 0, err
		}
		for _, s := range samples {
			if method := s.Labels["method"]; method != http.MethodGet {
				sum += s.Value
			}
		}
	}
	return sum, nil
}
