// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/plane"
)

// Goals for 2,000 Services with 5 addresses each. The original takes 1200 s for the first sync with its default limits
// and 391 s without; a restart without changes takes it 47 minutes and 14,000 requests.
const (
	benchmarkDiscovererName        = "discoverer"
	benchmarkDiscovererRestartName = "discoverer-restart"
	benchmarkDiscovererChangeName  = "discoverer-change"

	goalFirstSync         = 10.0
	goalCopyWrites        = 2.0
	goalDiscovererMemory  = 40.0
	goalDiscovererRestart = 2.0
	// discoveredChanges is how many changes, one after the other, the latency is the median of.
	discoveredChanges = 101
)

// discovery is a cluster, a backend and what is to be copied from the one to the other.
type discovery struct {
	here, backend *plane.Plane
	// client and backendClient are an administrator's.
	client, backendClient kubernetes.Interface
	report                *report.Reporter
	services              int
	dir, kubeconfig       string // of the discoverer, for the cluster it writes to
}

// benchmarkDiscoverer measures what a first sync, a restart without changes and single changes cost, and how fast a
// client is that creates the same objects and does nothing else.
func benchmarkDiscoverer(ctx context.Context, reporter *report.Reporter, services int) (err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d := &discovery{report: reporter, services: services, dir: dir}
	room := []string{"--service-cluster-ip-range=10.96.0.0/12"} // for more than 254 services
	d.here, err = plane.Start(ctx, plane.Options{
		Dir: filepath.Join(dir, "here"), APIServers: 1, SharedEtcd: true, PlainEtcd: true, KubeAPIServerFlags: room,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.here.Stop(context.WithoutCancel(ctx))) }()
	if d.backend, err = plane.Start(ctx, plane.Options{Dir: filepath.Join(dir, "backend"), PlainEtcd: true, KubeAPIServerFlags: room}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.backend.Stop(context.WithoutCancel(ctx))) }()
	if d.client, err = fastClient(d.here); err != nil {
		return err
	}
	if d.backendClient, err = fastClient(d.backend); err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.firstSync(ctx); err != nil {
		return fmt.Errorf("%s: %w", benchmarkDiscovererName, err)
	}
	if err := d.restart(ctx); err != nil {
		return fmt.Errorf("%s: %w", benchmarkDiscovererRestartName, err)
	}
	floor, err := d.floor(ctx)
	if err != nil {
		return err
	}
	return d.add(benchmarkDiscovererName, report.Figure{Name: "lower bound: a client that only creates the same objects", Value: floor.Seconds(), Unit: "s"})
}

func fastClient(p *plane.Plane) (kubernetes.Interface, error) {
	config := rest.CopyConfig(p.Config())
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	return kubernetes.NewForConfig(config)
}

// firstSync starts a discoverer where there are no copies yet.
func (d *discovery) firstSync(ctx context.Context) (err error) {
	copies, err := d.watchCopies(ctx)
	if err != nil {
		return err
	}
	defer copies.stop()
	before, err := d.measure(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	process, err := d.startDiscoverer(ctx)
	if err != nil {
		return err
	}
	defer process.stop()
	if err := copies.all(ctx, d.services); err != nil {
		return errors.Join(err, process.tail())
	}
	elapsed := time.Since(start)
	if err := process.synced(ctx); err != nil {
		return err
	}
	after, err := d.measure(ctx)
	if err != nil {
		return err
	}
	used, err := probe.UsageOf(process.cmd.Process.Pid)
	if err != nil {
		return err
	}
	writes := after.writes - before.writes
	return d.add(benchmarkDiscovererName,
		report.Figure{Name: "time from the start of the process until all is copied", Value: elapsed.Seconds(), Unit: "s", Goal: new(goalFirstSync)},
		report.Figure{Name: "writes per service", Value: writes / float64(d.services), Unit: "1", Goal: new(goalCopyWrites)},
		report.Figure{Process: discovererName, Name: "memory, peak", Value: used.Peak, Unit: "MiB", Goal: new(goalDiscovererMemory)},
		report.Figure{Process: discovererName, Name: "CPU", Value: used.CPU.Seconds(), Unit: "CPU-s"},
		report.Figure{Process: "kube-apiserver of the copies", Name: "CPU", Value: (after.cpu - before.cpu).Seconds(), Unit: "CPU-s"},
	)
}

// restart starts a discoverer where all copies are right, and then changes one service after the other.
func (d *discovery) restart(ctx context.Context) error {
	before, err := d.measure(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	process, err := d.startDiscoverer(ctx)
	if err != nil {
		return err
	}
	defer process.stop()
	if err := process.synced(ctx); err != nil {
		return errors.Join(err, process.tail())
	}
	elapsed := time.Since(start)
	after, err := d.measure(ctx)
	if err != nil {
		return err
	}
	used, err := probe.UsageOf(process.cmd.Process.Pid)
	if err != nil {
		return err
	}
	err = d.add(benchmarkDiscovererRestartName,
		report.Figure{Name: "time until it has the Lease and has compared everything", Value: elapsed.Seconds(), Unit: "s", Goal: new(goalDiscovererRestart)},
		report.Figure{Name: "writes of copies", Value: after.writes - before.writes, Unit: "1", Goal: new(0.0)},
		report.Figure{Process: discovererName, Name: "memory, peak", Value: used.Peak, Unit: "MiB", Goal: new(goalDiscovererMemory)},
		report.Figure{Process: discovererName, Name: "CPU", Value: used.CPU.Seconds(), Unit: "CPU-s"},
	)
	if err != nil {
		return err
	}
	return d.changes(ctx)
}

// changes measures how long a change in the backend takes until it is here.
func (d *discovery) changes(ctx context.Context) error {
	copies, err := d.watchCopies(ctx)
	if err != nil {
		return err
	}
	defer copies.stop()
	before, err := d.measure(ctx)
	if err != nil {
		return err
	}
	var took []time.Duration
	for i := range min(discoveredChanges, d.services) {
		start := time.Now()
		if err := d.changeEndpoint(ctx, i); err != nil {
			return err
		}
		if err := copies.changed(ctx, i); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	after, err := d.measure(ctx)
	if err != nil {
		return err
	}
	slices.Sort(took)
	return d.add(benchmarkDiscovererChangeName,
		report.Figure{Name: "writes for a change", Value: (after.writes - before.writes) / float64(len(took)), Unit: "1", Goal: new(1.0)},
		report.Figure{Name: "time until a change is copied, median", Value: took[len(took)/2].Seconds() * 1000, Unit: "ms"},
		report.Figure{Name: "time until a change is copied, longest", Value: took[len(took)-1].Seconds() * 1000, Unit: "ms"},
	)
}

func (d *discovery) add(benchmark string, figures ...report.Figure) error {
	for _, f := range figures {
		f.Benchmark, f.Objects = benchmark, d.services
		if err := d.report.Add(f); err != nil {
			return err
		}
	}
	return nil
}
