// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	benchmarkTranslationsName        = "translations"
	benchmarkTranslationsRestartName = "translations-restart"
	servicesOfTheGoals               = 2000
	// backendLatency is the fault that makes the fake as slow as a backend over a network.
	backendLatency = `{"latency":"5ms"}`
)

// translatedNetwork is a plane whose objects are translated to a fake of MidoNet.
type translatedNetwork struct {
	*plane.Plane
	fake    *fakePages
	tracker *tracker
	report  *report.Reporter
	// services is how many services, and pods, the load has.
	services int
}

// benchmarkTranslations measures how long it takes until a network is in the backend, with all its objects there before
// the manager starts, and then what a restart of the manager costs.
func benchmarkTranslations(ctx context.Context, reporter *report.Reporter, services int) (err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := plane.Start(ctx, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, PlainEtcd: true, MidoNet: true,
		KubeAPIServerFlags: []string{"--service-cluster-ip-range=10.96.0.0/12"}, // room for more than 254 services
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop(context.WithoutCancel(ctx))) }()
	n := &translatedNetwork{Plane: p, fake: &fakePages{root: p.MidoNetPages()}, report: reporter, services: services}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	trackers, err := trackTranslations(watching, p.DirectConfig(0), midonetv1.ConditionSynced)
	if err != nil {
		return err
	}
	n.tracker = trackers[0]
	there, wanted, err := n.prepare(ctx)
	if err != nil {
		return err
	}
	if err := n.converge(ctx, there, wanted); err != nil {
		return fmt.Errorf("%s: %w", benchmarkTranslationsName, err)
	}
	if err := n.restart(ctx, there.translations+wanted.translations); err != nil {
		return fmt.Errorf("%s: %w", benchmarkTranslationsRestartName, err)
	}
	return nil
}

// prepare makes the objects while no manager runs. What every cluster has is in the backend before, and is counted in
// there. It returns that and what the objects are to become.
func (n *translatedNetwork) prepare(ctx context.Context) (there, wanted tally, err error) {
	client := rest.CopyConfig(n.Config())
	client.QPS = -1
	client.ContentType, client.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	kube, err := kubernetes.NewForConfig(client)
	if err != nil {
		return there, wanted, err
	}
	objects := &translatedObjects{kube: kube, fake: n.fake, services: n.services, config: defaultConversion()}
	if there, err = objects.present(ctx); err != nil {
		return there, wanted, err
	}
	if _, _, err := n.tracker.until(ctx, there.translations); err != nil {
		return there, wanted, err
	}
	if err := n.Managers[0].Stop(ctx); err != nil {
		return there, wanted, err
	}
	if wanted, err = objects.create(ctx); err != nil {
		return there, wanted, err
	}
	fmt.Fprintf(os.Stderr, "%d services and pods are to become %d translations of %d resources\n", n.services, wanted.translations, wanted.resources)
	return there, wanted, n.fake.request(ctx, http.MethodPost, "faults", []byte(backendLatency), nil)
}

// converge starts the manager and waits until all is in the backend.
func (n *translatedNetwork) converge(ctx context.Context, there, wanted tally) error {
	if err := n.fake.clear(ctx); err != nil {
		return err
	}
	before, err := networkUsage(n.Plane)
	if err != nil {
		return err
	}
	writesBefore, err := writesOfTranslations(ctx, n.Plane)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := n.Managers[0].Start(ctx); err != nil {
		return err
	}
	exist, synced, err := n.tracker.until(ctx, there.translations+wanted.translations)
	if err != nil {
		return err
	}
	after, err := networkUsage(n.Plane)
	if err != nil {
		return err
	}
	writes, err := writesOfTranslations(ctx, n.Plane)
	if err != nil {
		return err
	}
	requests, err := n.fake.requests(ctx)
	if err != nil {
		return err
	}
	writes = writes.minus(writesBefore)
	per := func(all float64, of int) float64 { return all / float64(of) }
	figures := []report.Figure{
		{Name: "translations", Value: float64(wanted.translations), Unit: "1"},
		{Name: "backend resources", Value: float64(wanted.resources), Unit: "1"},
		{Name: "time until all translations exist", Value: exist.Sub(start).Seconds(), Unit: "s"},
		{Name: "time until all translations are in sync", Value: synced.Sub(start).Seconds(), Unit: "s"},
		{Name: "writes to the backend per resource", Value: per(float64(requests.of(isWrite)), wanted.resources), Unit: "1", Goal: new(1.0)},
		{Name: "requests rejected by the backend", Value: float64(requests.of(isRejected)), Unit: "1", Goal: new(0.0)},
		{Name: "writes to the API server per translation", Value: per(writes.all(), wanted.translations), Unit: "1"},
		{Name: "creates per translation", Value: per(writes.creates, wanted.translations), Unit: "1"},
		{Name: "statuses per translation", Value: per(writes.statuses, wanted.translations), Unit: "1"},
		{Name: "writes rejected by the API server", Value: writes.rejected, Unit: "1"},
	}
	figures = append(figures, requestFigures(requests)...)
	figures = append(figures, usageFigures(before, after)...)
	return n.add(benchmarkTranslationsName, figures)
}

// add reports figures.
func (n *translatedNetwork) add(benchmark string, figures []report.Figure) error {
	for _, figure := range figures {
		figure.Benchmark, figure.Objects = benchmark, n.services
		if err := n.report.Add(figure); err != nil {
			return err
		}
	}
	return nil
}

// requestFigures returns the requests to the backend by method and code.
func requestFigures(requests backendRequests) []report.Figure {
	sums := map[fakemidonet.Count]int{}
	for c, count := range requests {
		sums[fakemidonet.Count{Method: c.Method, Code: c.Code}] += count
	}
	byMethod := func(a, b fakemidonet.Count) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Code, b.Code))
	}
	var figures []report.Figure
	for _, c := range slices.SortedFunc(maps.Keys(sums), byMethod) {
		figures = append(figures, report.Figure{Name: fmt.Sprintf("requests to the backend: %s with status %d", c.Method, c.Code), Value: float64(sums[c]), Unit: "1"})
	}
	return figures
}

// usageFigures returns what each process has used since an earlier reading.
func usageFigures(before, after map[string]probe.Usage) []report.Figure {
	var figures []report.Figure
	for _, name := range slices.Sorted(maps.Keys(after)) {
		figures = append(figures, report.Figure{Process: name, Name: "CPU", Value: (after[name].CPU - before[name].CPU).Seconds(), Unit: "CPU-s"})
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		figures = append(figures, report.Figure{Process: name, Name: "most resident memory", Value: after[name].Peak, Unit: "MiB"})
	}
	return figures
}
