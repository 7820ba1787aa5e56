// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/ovnserver"
	"groundskeeper.io/groundskeeper/test/ovnserver/simulated"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	benchmarkOVNName        = "ovn"
	benchmarkOVNRestartName = "ovn-restart"
	benchmarkOVNChangesName = "ovn-changes"
)

// ovnNetwork is a plane whose objects are translated to a real OVN, with simulated chassis.
type ovnNetwork struct {
	*translatedNetwork
	server *ovnserver.Server
	rows   *rowWatch
	// realized tracks what all chassis have applied.
	realized *tracker
}

// benchmarkOVN measures how long it takes until a network is in the Northbound database and applied, with all its objects there before
// the manager starts, then what a restart of the manager costs, and how far the database is behind while endpoints change.
// Unless it is required, it is omitted without an OVN.
func benchmarkOVN(ctx context.Context, reporter *report.Reporter, services int, required bool) error {
	err := ovnserver.Outside(ctx, func(t testing.TB) error {
		return measureOVN(ctx, reporter, services, ovnserver.Start(t, ovnserver.Options{Northd: true}))
	})
	if errors.Is(err, ovnserver.ErrNotInstalled) && !required {
		fmt.Fprintf(os.Stderr, "%s is omitted: %v\n", benchmarkOVNName, err)
		return nil
	}
	return err
}

func measureOVN(ctx context.Context, reporter *report.Reporter, services int, server *ovnserver.Server) (err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := filepath.Join(dir, "manager.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
controllers:
  translation:
    backend: ovn
    ovn: {endpoints: ['%s']}
`, server.Endpoint()), 0o600); err != nil {
		return err
	}
	p, err := plane.Start(ctx, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, PlainEtcd: true, ManagerConfig: config,
		KubeAPIServerFlags: []string{"--service-cluster-ip-range=10.96.0.0/12"}, // room for more than 254 services
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop(context.WithoutCancel(ctx))) }()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	trackers, err := trackTranslations(watching, p.DirectConfig(0), midonetv1.ConditionSynced, midonetv1.ConditionRealized)
	if err != nil {
		return err
	}
	n := &ovnNetwork{translatedNetwork: &translatedNetwork{Plane: p, report: reporter, services: services, tracker: trackers[0]}, server: server, realized: trackers[1]}
	if n.rows, err = watchRows(watching, server.Endpoint()); err != nil {
		return err
	}
	ended := make(chan error, 1)
	chassis, err := simulated.Register(ctx, server.SouthboundEndpoints()[0], nodeNames())
	if err != nil {
		return err
	}
	go func() { ended <- chassis.Run(watching) }()
	defer func() {
		stop()
		if failed := <-ended; !errors.Is(failed, context.Canceled) {
			err = errors.Join(err, failed)
		}
	}()
	return n.measure(ctx)
}

// nodeNames are the names of the nodes, and of their chassis.
func nodeNames() []string {
	names := make([]string, translatedNodes)
	for i := range names {
		names[i] = nodeName(i)
	}
	return names
}

func (n *ovnNetwork) measure(ctx context.Context) error {
	if err := n.Managers[0].Stop(ctx); err != nil {
		return err
	}
	objects, err := createOVNObjects(ctx, rest.CopyConfig(n.Config()), n.services)
	if err != nil {
		return err
	}
	wanted, err := objects.wanted(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d services and pods are to become %d translations of %d rows\n", n.services, wanted.translations, wanted.resources)
	if err := n.converge(ctx, wanted); err != nil {
		return fmt.Errorf("%s: %w", benchmarkOVNName, err)
	}
	if err := n.restart(ctx, wanted.translations); err != nil {
		return fmt.Errorf("%s: %w", benchmarkOVNRestartName, err)
	}
	if err := n.changes(ctx, objects, wanted.translations); err != nil {
		return fmt.Errorf("%s: %w", benchmarkOVNChangesName, err)
	}
	return nil
}

// ovnReading is what was used and written until a moment.
type ovnReading struct {
	usage    map[string]probe.Usage
	writes   translationWrites
	rows     int64
	requests float64
}

// read reads the metrics of the processes. The manager need not run: its requests are those of its present process.
func (n *ovnNetwork) read(ctx context.Context) (r ovnReading, err error) {
	if r.usage, err = networkUsage(n.Plane); err != nil {
		return r, err
	}
	for name, pid := range n.server.PIDs() {
		if r.usage[name], err = probe.UsageOf(pid); err != nil {
			return r, err
		}
	}
	if r.writes, err = writesOfTranslations(ctx, n.Plane); err != nil {
		return r, err
	}
	r.rows = n.rows.changed.Load()
	if n.Managers[0].PID() != 0 {
		r.requests, err = n.managerMetric(ctx, requestsMetric)
	}
	return r, err
}

// requestsMetric counts the transactions of the manager, and other requests to the database.
const requestsMetric = "groundskeeper_translation_backend_requests_total"

// converge starts the manager and waits until all is in the database and applied.
func (n *ovnNetwork) converge(ctx context.Context, wanted tally) error {
	before, err := n.read(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := n.Managers[0].Start(ctx); err != nil {
		return err
	}
	exist, synced, err := n.tracker.until(ctx, wanted.translations)
	if err != nil {
		return err
	}
	atSync, err := n.read(ctx)
	if err != nil {
		return err
	}
	_, realized, err := n.realized.until(ctx, wanted.translations)
	if err != nil {
		return err
	}
	after, err := n.read(ctx)
	if err != nil {
		return err
	}
	writes := after.writes.minus(before.writes)
	per := func(all float64, of int) float64 { return all / float64(of) }
	figures := []report.Figure{
		{Name: "translations", Value: float64(wanted.translations), Unit: "1"},
		{Name: "rows of the database", Value: float64(wanted.resources), Unit: "1"},
		{Name: "time until all translations exist", Value: exist.Sub(start).Seconds(), Unit: "s"},
		{Name: "time until all translations are in sync", Value: synced.Sub(start).Seconds(), Unit: "s"},
		{Name: "time until all translations are realized", Value: realized.Sub(start).Seconds(), Unit: "s"},
		{Name: "transactions until all translations are in sync", Value: atSync.requests, Unit: "1"},
		{Name: "transactions per row until all translations are in sync", Value: per(atSync.requests, wanted.resources), Unit: "1"},
		{Name: "transactions until all translations are realized", Value: after.requests, Unit: "1"},
		{Name: "writes to the API server per translation", Value: per(writes.all(), wanted.translations), Unit: "1"},
		{Name: "statuses per translation", Value: per(writes.statuses, wanted.translations), Unit: "1"},
		{Name: "writes rejected by the API server", Value: writes.rejected, Unit: "1"},
	}
	return n.add(benchmarkOVNName, append(figures, usageFigures(before.usage, after.usage)...))
}
