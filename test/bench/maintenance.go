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

// benchmarkMaintenance drains one of two backends that all routes refer to, and enables it again.
func benchmarkMaintenance(ctx context.Context, reporter *report.Reporter, workers int) error {
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
	m := &maintained{Plane: p, reporter: reporter}
	if err := m.load(ctx, workers); err != nil {
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
	return nil
}

// maintained is a plane with routes to two backends.
type maintained struct {
	*plane.Plane
	reporter *report.Reporter
	backends typedgimbalv1.DiscoveryBackendInterface
}

func (m *maintained) add(process, name string, value float64, unit string, goal *float64) error {
	return m.reporter.Add(report.Figure{
		Benchmark: benchmarkMaintenanceName, Process: process, Name: name, Value: value, Unit: unit,
		Objects: proxiesOfMaintenance + routesOfMaintenance, Goal: goal,
	})
}

// until changes the backend, waits until its condition Drained follows, and reports what that took, unless what is "".
func (m *maintained) until(ctx context.Context, want gimbalv1.ClusterStatus, status metav1.ConditionStatus, reason, what string) error {
	before, err := m.routeWrites(ctx)
	if err != nil {
		return err
	}
	usedBefore, err := probe.UsageOf(m.Managers[0].PID())
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
	for backend := changed; !drainedAs(backend, status, reason); {
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
	after, err := m.routeWrites(ctx)
	if err != nil || what == "" {
		return err
	}
	used, err := probe.UsageOf(m.Managers[0].PID())
	if err != nil {
		return err
	}
	return errors.Join(
		m.add("", "time to "+what+" all routes", elapsed.Seconds(), "s", nil),
		m.add("", "writes per route to "+what, (after-before)/(proxiesOfMaintenance+routesOfMaintenance), "1", new(goalWritesPerRoute)),
		m.add("", "status writes per second to "+what, float64(max(statusWrites-1, 0))/elapsed.Seconds(), "1", new(goalStatusWrites)),
		m.add(m.Managers[0].Name(), "CPU to "+what, (used.CPU-usedBefore.CPU).Seconds(), "CPU-s", nil),
	)
}

// drainedAs reports whether the condition Drained of a backend, at present, has a status and a reason.
func drainedAs(backend *gimbalv1.DiscoveryBackend, status metav1.ConditionStatus, reason string) bool {
	c := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
	return c != nil && c.ObservedGeneration == backend.Generation && c.Status == status && c.Reason == reason &&
		backend.Status.Routes != nil && backend.Status.Routes.Matching == proxiesOfMaintenance+routesOfMaintenance
}

// routeWrites is how many writes of routes the manager has sent.
func (m *maintained) routeWrites(ctx context.Context) (float64, error) {
	samples, err := probe.Scrape(ctx, http.DefaultClient, "http://"+m.Managers[0].Address()+"/metrics", "groundskeeper_maintenance_route_writes_total")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, s := range samples {
		sum += s.Value
	}
	return sum, nil
}
