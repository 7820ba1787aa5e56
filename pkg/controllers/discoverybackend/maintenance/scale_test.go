// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// countingReader counts reads of the caches.
type countingReader struct {
	resourcewatch.Reader
	finds atomic.Int64
}

func (r *countingReader) Find(ctx context.Context, resource schema.GroupResource, query resourcewatch.Query) ([]*resourcewatch.Object, error) {
	r.finds.Add(1)
	return r.Reader.Find(ctx, resource, query)
}

// largeProxy returns an HTTPProxy of which each route has one Service of backend us: us-0, us-1 and so on.
func largeProxy(name string, first, services int) *unstructured.Unstructured {
	var routes []any
	for i := range services {
		routes = append(routes, map[string]any{
			"conditions": []any{map[string]any{"prefix": fmt.Sprintf("/%d", i)}},
			"services":   []any{map[string]any{"name": fmt.Sprintf("us-%d", first+i), "port": int64(80)}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": map[string]any{"namespace": "shop", "name": name},
		"spec": map[string]any{"routes": routes},
	}}
}

func smallIngress(i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"namespace": "shop", "name": fmt.Sprintf("ingress-%d", i)},
		"spec": map[string]any{"defaultBackend": map[string]any{"service": map[string]any{"name": fmt.Sprintf("us-%d", i), "port": map[string]any{"number": int64(80)}}}},
	}}
}

var ingresses = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}

// TestEventsOfLargeRoutes checks that a route with many Services, which gets an event for each of them in maintenance, is checked
// once for concurrent events, and that the cost of an event does not depend on the size of the route.
func TestEventsOfLargeRoutes(t *testing.T) {
	finds := map[int]int64{}
	for _, services := range []int{1, 40} {
		inWorld(t, func(w *world) {
			for i := range services {
				w.service("shop", fmt.Sprintf("us-%d", i), "us")
			}
			w.add(proxies, largeProxy("web", 0, services))
			synctest.Wait()
			reader := &countingReader{Reader: w.watches.cluster.reader}
			w.watches.cluster.reader = reader
			routes := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[routeKey]())
			backends := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer routes.ShutDown()
			defer backends.ShutDown()
			if err := w.watches.followRoutes(w.Context(), routes); err != nil {
				w.Fatal(err)
			}
			if err := w.watches.followBackends(w.Context(), backends); err != nil {
				w.Fatal(err)
			}
			time.Sleep(2 * gatherPeriod)
			synctest.Wait()
			drainQueue(routes, routeKey.String)
			reader.finds.Store(0)
			w.setReady("us-0", false)
			finds[services] = reader.finds.Load()
			if n := routes.Len(); n > 0 {
				w.Errorf("with %d Services: %d routes are checked immediately", services, n)
			}
			for i := range services {
				w.setReady(fmt.Sprintf("us-%d", i), i%2 == 0)
			}
			time.Sleep(2 * gatherPeriod)
			synctest.Wait()
			if got := drainQueue(routes, routeKey.String); got != webKey().String() {
				w.Errorf("with %d Services: %q are checked", services, got)
			}
		})
	}
	if finds[1] != finds[40] {
		t.Errorf("an event of a slice takes %d reads of the caches for a route with one Service, and %d for one with 40", finds[1], finds[40])
	}
}

// A route with many Services, whose endpoints change one after the other for seconds, is not checked five times per second: a check
// costs as much as the route has Services.
func TestChecksOfLargeRoutesArePaced(t *testing.T) {
	const services, period = 200, 5 * time.Second
	inWorld(t, func(w *world) {
		for i := range services {
			w.service("shop", fmt.Sprintf("us-%d", i), "us")
			if i%50 == 0 {
				synctest.Wait() // a watch of the fake has a buffer of 100 events
			}
		}
		w.add(proxies, largeProxy("web", 0, services))
		synctest.Wait()
		routes := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[routeKey]())
		defer routes.ShutDown()
		if err := w.watches.followRoutes(w.Context(), routes); err != nil {
			w.Fatal(err)
		}
		time.Sleep(maxGatherPeriod)
		synctest.Wait()
		drainQueue(routes, routeKey.String)
		checks := 0
		check := func() {
			if synctest.Wait(); drainQueue(routes, routeKey.String) != "" {
				checks++
			}
		}
		for i := range services {
			w.setReady(fmt.Sprintf("us-%d", i), false)
			time.Sleep(period / services)
			check()
		}
		if limit := 2 * int(period/time.Second); checks == 0 || checks > limit {
			w.Errorf("%d checks in %s, want 1 to %d", checks, period, limit)
		}
		before := checks
		time.Sleep(maxGatherPeriod)
		if check(); checks != before+1 {
			w.Errorf("%d checks after the last event, want 1", checks-before)
		}
	})
}

// TestCheckedRouteNotifiesBackends checks that a check of a route triggers a check of its backends, even without a write, because
// receivers may have changed.
func TestCheckedRouteNotifiesBackends(t *testing.T) {
	inWorld(t, func(w *world) {
		var notified []string
		w.routes.notify = func(_ context.Context, names ...string) { notified = append(notified, names...) }
		w.mustCorrect(0)
		if got := fmt.Sprint(len(notified)); got != "2" {
			t.Errorf("%q were notified", notified)
		}
	}, shared)
}

// BenchmarkObserve counts the routes of a backend with 10,000 Services that have no alternative.
func BenchmarkObserve(b *testing.B) {
	const services = 10000
	for _, perRoute := range []int{1, 1000} {
		b.Run(fmt.Sprintf("services per route=%d", perRoute), func(b *testing.B) {
			w := newWorld(b)
			w.backend(adminNamespace, "us")
			for i := range services {
				w.service("shop", fmt.Sprintf("us-%d", i), "us")
				switch {
				case perRoute == 1:
					w.add(ingresses, smallIngress(i))
				case i%perRoute == 0:
					w.add(proxies, largeProxy(fmt.Sprintf("proxy-%d", i), i, perRoute))
				}
			}
			go func() { _ = w.set.Start(b.Context()) }()
			if err := w.set.Settled(b.Context(), backendsResource, servicesResource, slicesResource, proxies.GroupResource(), ingresses.GroupResource()); err != nil {
				b.Fatal(err)
			}
			backend := w.stored("us")
			backend.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
			b.ReportAllocs()
			for b.Loop() {
				found, err := w.backends.cluster.observe(b.Context(), backend)
				if err != nil || found.matching != services/perRoute {
					b.Fatal(found.matching, err)
				}
			}
		})
	}
}
