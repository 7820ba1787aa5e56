// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"syscall"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	"groundskeeper.io/groundskeeper/test/bench/report"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

const (
	benchmarkEngineName = "translations-engine"
	// goalGrowth is how much more a resource of the largest network may cost than one of the smallest, which is a tenth
	// of it: a square would be 10. A larger heap, the fake's above all, costs more cache misses of the CPU and
	// more help for the garbage collector.
	goalGrowth = 2.0
)

// engineCost is what the engine needed for a network, per resource of it.
type engineCost struct {
	resources int
	// wall is the time, and cpu that of all cores, in microseconds; both are the fake's and the client's, too.
	wall, cpu float64
	// compare is the CPU of a reconciliation that compares all of the backend, in microseconds.
	compare float64
	// memory is that of the engine without the Claims, in bytes.
	memory float64
	// requests are those of the pushes, rejected the ones that were rejected.
	requests, rejected float64
}

// benchmarkEngine measures how the push engine grows with the network: up to ten times as many services, with the
// driver of MidoNet and the fake in this process, without an API server.
func benchmarkEngine(ctx context.Context, reporter *report.Reporter, services int) error {
	var smallest engineCost
	sizes := []int{services, services * 5 / 2, services * 5, services * 10}
	for i, size := range sizes {
		cost, err := pushNetwork(ctx, size)
		if err != nil {
			return fmt.Errorf("%s: %d services: %w", benchmarkEngineName, size, err)
		}
		if i == 0 {
			smallest = cost
		}
		figures := []report.Figure{
			{Name: "backend resources", Value: float64(cost.resources), Unit: "1"},
			{Name: "requests per resource", Value: cost.requests, Unit: "1", Goal: new(1.0)},
			{Name: "requests rejected", Value: cost.rejected, Unit: "1", Goal: new(0.0)},
			{Name: "time per resource, including the fake's", Value: cost.wall, Unit: "µs"},
			{Name: "CPU per resource, including the fake's", Value: cost.cpu, Unit: "µs"},
			{Name: "CPU of a comparison per resource, including the fake's", Value: cost.compare, Unit: "µs"},
			{Name: "memory per resource, without the Claims", Value: cost.memory, Unit: "B"},
		}
		if i == len(sizes)-1 {
			of := fmt.Sprintf(" as a multiple of that with %d services", sizes[0])
			figures = append(figures,
				report.Figure{Name: "CPU per resource" + of, Value: cost.cpu / smallest.cpu, Unit: "1", Goal: new(goalGrowth)},
				report.Figure{Name: "memory per resource" + of, Value: cost.memory / smallest.memory, Unit: "1", Goal: new(goalGrowth)},
				report.Figure{Name: "CPU of a comparison per resource" + of, Value: cost.compare / smallest.compare, Unit: "1", Goal: new(goalGrowth)})
		}
		for _, figure := range figures {
			figure.Benchmark, figure.Objects = benchmarkEngineName, size
			if err := reporter.Add(figure); err != nil {
				return err
			}
		}
	}
	return nil
}

// pushNetwork pushes a network of that many services to an empty backend.
func pushNetwork(ctx context.Context, services int) (engineCost, error) {
	config := defaultConversion()
	claims := claimsOfServices(services, config)
	var cost engineCost
	for i := range claims {
		cost.resources += len(claims[i].Items.List())
	}
	fmt.Fprintf(os.Stderr, "%d claims of %d resources\n", len(claims), cost.resources)
	fake := fakemidonet.New(fakemidonet.Options{})
	client, err := midonet.New(midonet.Options{URL: "http://midonet" + fakemidonet.Root, Transport: inProcess{fake}})
	if err != nil {
		return cost, err
	}
	memory := heapInUse()
	pushes := newPushes(midonetbackend.New(client, config.Tenant))
	start, cpu := time.Now(), ownCPU()
	if err := pushes.run(ctx, claims); err != nil {
		return cost, err
	}
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(cost.resources) }
	cost.wall, cost.cpu = per(time.Since(start)), per(ownCPU()-cpu)
	requests := backendRequests(fake.Requests())
	all := requests.of(func(fakemidonet.Count) bool { return true })
	cost.requests, cost.rejected = float64(all)/float64(cost.resources), float64(requests.of(isRejected))

	runtime.GC() // the garbage of the pushes is not part of the comparison
	cpu = ownCPU()
	drift, err := pushes.engine.Drift(ctx)
	if err != nil {
		return cost, err
	}
	if drift.Drifted+drift.Orphans > 0 {
		return cost, fmt.Errorf("the comparison found %+v", drift)
	}
	cost.compare = per(ownCPU() - cpu)

	fake.Reset()
	cost.memory = float64(int64(heapInUse()-memory)) / float64(cost.resources)
	runtime.KeepAlive(pushes)
	runtime.KeepAlive(claims)
	return cost, nil
}

// claimsOfServices returns the Claims of that many services with their endpoints, and those of the whole cluster.
func claimsOfServices(services int, config convert.Config) []engine.Claim {
	claims := claimsOf("global", convert.Globals(config))
	for i := range services {
		service, slice := benchService(i, services)
		service.UID, service.Spec.ClusterIP = types.UID(service.Name), clusterIP(i)
		claims = append(claims, claimsOf(string(service.UID), convert.Join(
			convert.Service(service, config), convert.Endpoints(service, []*discoveryv1.EndpointSlice{slice}, config)))...)
	}
	return claims
}

// clusterIP returns the address of the i-th service.
func clusterIP(i int) string { return fmt.Sprintf("10.%d.%d.%d", 96+i>>16, i>>8&0xff, i&0xff) }

// claimsOf returns the Claims of what an object becomes.
func claimsOf(owner string, result convert.Result) []engine.Claim {
	claims := make([]engine.Claim, 0, len(result.Translations))
	for i := range result.Translations {
		t := &result.Translations[i]
		items := make(engine.Listed, 0, len(t.Resources))
		for _, r := range t.Resources {
			items = append(items, backend.Item{Kind: r.Kind, Parent: r.Parent, Body: r.Body})
		}
		claims = append(claims, engine.Claim{
			Name: types.NamespacedName{Namespace: t.Namespace, Name: t.Name}, UID: types.UID(t.Name), Owner: owner, Current: true, Items: items,
		})
	}
	return claims
}

// inProcess sends requests to a handler without a network.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil {
		request = request.Clone(request.Context())
		request.Body = http.NoBody
	}
	response := httptest.NewRecorder()
	p.handler.ServeHTTP(response, request)
	return response.Result(), nil
}

// heapInUse returns what is reachable on the heap.
func heapInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// ownCPU returns what this process has used.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
