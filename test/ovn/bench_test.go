// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/test/ovnserver"
	"groundskeeper.io/groundskeeper/test/ovnserver/simulated"
)

// BenchmarkOVN pushes 2,000 Services with ten endpoints each, and 2,000 Pods on 20 Nodes, to a real OVN with ovn-northd: until all is
// in the database, and until ovn-northd has made flows of it; then what a pusher without
// memory compares, which must write nothing; then changes of endpoints.
func BenchmarkOVN(b *testing.B) {
	const nodes, number, changes = 20, 2000, 500
	w := newWorldWith(b, ovnserver.Options{Northd: true})
	objects := cluster{services: map[*corev1.Service][]*discoveryv1.EndpointSlice{}}
	for i := range nodes {
		objects.nodes = append(objects.nodes, node(fmt.Sprintf("node-%d", i), fmt.Sprint(i)))
	}
	for i := range number {
		on := i % nodes
		objects.pods = append(objects.pods, pod(fmt.Sprintf("pod-%d", i), fmt.Sprintf("node-%d", on), fmt.Sprint(on), fmt.Sprint(10+i/nodes)))
	}
	var services []*corev1.Service
	endpoints := func(i, from int) []*discoveryv1.EndpointSlice {
		var addresses []string
		for k := range 10 {
			addresses = append(addresses, objects.pods[(i+from+k)%number].Status.PodIP)
		}
		return []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, addresses...)}
	}
	for i := range number {
		s := service(fmt.Sprintf("service-%d", i), fmt.Sprintf("10.96.%d.%d", i/250, 1+i%250))
		services, objects.services[s] = append(services, s), endpoints(i, 0)
	}
	w.convert(objects)
	for b.Loop() {
		began := time.Now()
		w.pushAll(b)
		b.ReportMetric(time.Since(began).Seconds(), "s-to-synced")
		w.server.Nbctl(b, "--wait=sb", "sync")
		b.ReportMetric(time.Since(began).Seconds(), "s-to-flows")
		b.ReportMetric(float64(w.driver.count.Load()), "writes")
		runtime.GC()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "MiB-heap")

		w.restart()
		began = time.Now()
		w.pushAll(b)
		b.ReportMetric(time.Since(began).Seconds(), "s-to-compared")
		if got := w.driver.count.Load(); got != 0 {
			b.Errorf("%d writes by a pusher without memory, want none", got)
		}

		began = time.Now()
		for i := range changes {
			s := services[i%number]
			objects.services[s] = endpoints(i, 1)
			w.put("Service "+s.Name, w.emitter().Service(s, objects.services[s], nil))
		}
		w.pushAll(b)
		b.ReportMetric(changes/time.Since(began).Seconds(), "changes/s")
	}
}

// BenchmarkScale pushes 5,000 Services, and 10,000 Pods on 250 Nodes with 200 policies, with ovn-northd and a simulated chassis for each Node:
// until all chassis have confirmed it; then what a pusher without memory writes, which must be nothing; then how long a change of
// endpoints takes until the database has it, with 20 of them a second.
func BenchmarkScale(b *testing.B) {
	const nodes, pods, number, policies, rate, changes = 250, 10000, 5000, 200, 20, 600
	w := newWorldWith(b, ovnserver.Options{Northd: true})
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i)
	}
	chassis, err := simulated.Register(b.Context(), w.server.SouthboundEndpoints()[0], names)
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = chassis.Run(ctx) // until the benchmark ends
	}()
	defer func() {
		stop()
		<-ended
	}()
	objects := manyObjects(nodes, pods, number, policies)
	w.convert(objects)
	for b.Loop() {
		began := time.Now()
		w.pushAll(b)
		b.ReportMetric(time.Since(began).Seconds(), "s-to-synced")
		w.server.Nbctl(b, "--wait=hv", "sync")
		b.ReportMetric(time.Since(began).Seconds(), "s-to-realized")
		w.restart()
		w.pushAll(b)
		b.ReportMetric(float64(w.driver.count.Load()), "writes-after-restart")
		runtime.GC()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "MiB-heap")
		var lags []time.Duration
		services := slices.Collect(maps.Keys(objects.services))
		ticks := time.NewTicker(time.Second / rate)
		defer ticks.Stop()
		for i := range changes {
			<-ticks.C
			s, since := services[i], time.Now()
			endpoints := []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, objects.pods[i].Status.PodIP)}
			w.put("Service "+s.Name, w.emitter().Service(s, endpoints, nil))
			w.pushOne(b, types.NamespacedName{Namespace: s.Namespace, Name: convert.TranslationName(convert.KindService, s.Name)})
			lags = append(lags, time.Since(since))
		}
		slices.Sort(lags)
		b.ReportMetric(lags[len(lags)*99/100].Seconds(), "s-to-change-p99")
	}
}

// pushOne pushes a Translation until it is in sync.
func (w *world) pushOne(b *testing.B, name types.NamespacedName) {
	b.Helper()
	for {
		outcome, err := w.engine.Push(b.Context(), name)
		if err != nil {
			b.Fatal(err)
		}
		if outcome.Reason == engine.ReasonSynced {
			return
		}
	}
}

// pushAll pushes all Translations until they are in sync, several at a time.
func (w *world) pushAll(b *testing.B) {
	b.Helper()
	const workers = 16
	open := slices.Collect(maps.Keys(w.claims))
	for len(open) > 0 {
		var mu sync.Mutex
		var left []types.NamespacedName
		var next atomic.Int64
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(open)); i = next.Add(1) - 1 {
					outcome, err := w.engine.Push(b.Context(), open[i])
					if err != nil && !errors.Is(err, engine.ErrUnknownClaim) {
						b.Error(err)
						return
					}
					if err == nil && outcome.Reason != engine.ReasonSynced {
						mu.Lock()
						left = append(left, open[i])
						mu.Unlock()
					}
				}
			})
		}
		group.Wait()
		open = left
	}
}
