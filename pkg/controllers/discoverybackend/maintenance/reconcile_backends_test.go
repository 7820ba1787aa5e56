// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

// TestStatus checks that a backend enters and leaves maintenance, and that each step is reported once.
func TestStatus(t *testing.T) {
	inWorld(t, func(w *world) {
		if got := w.mustCheck("us"); got != "False/Enabled" || len(w.take()) != 1 {
			w.Error(got)
		}
		if w.mustCheck("us"); len(w.take()) > 0 {
			w.Error("the same status was written again")
		}
		w.cluster("us", "clusterStatus", "Maintenance")
		if got := w.mustCheck("us"); got != "False/Draining" {
			w.Error(got)
		}
		pending := func(want float64) {
			w.Helper()
			if got := testutil.ToFloat64(w.backends.meters.pending); got != want {
				w.Errorf("metrics: %v pending, want %v", got, want)
			}
		}
		pending(1)
		w.mustCorrect(1)
		if got := w.mustCheck("us"); got != "True/Drained" {
			w.Error(got)
		}
		pending(0)
		if got := w.stored("us").Status.Routes; got.Matching != 1 || got.Drained != 1 || got.DrainedTime == nil {
			w.Errorf("routes: %+v", got)
		}
		if matching, drained := testutil.ToFloat64(w.backends.meters.matching), testutil.ToFloat64(w.backends.meters.drained); matching != 1 || drained != 1 {
			w.Errorf("metrics: %v matching, %v drained", matching, drained)
		}
		w.cluster("us", "clusterStatus", "Enabled")
		if got := w.mustCheck("us"); got != "False/Restoring" {
			w.Error(got)
		}
		w.mustCorrect(1)
		if got := w.mustCheck("us"); got != "False/Enabled" {
			w.Error(got)
		}
	}, shared)
}

// TestStatusIsWrittenOnceASecond checks that a status is written at most once per second, and that the last state is written.
func TestStatusIsWrittenOnceASecond(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.take()
		w.cluster("us", "clusterStatus", "Maintenance")
		result, err := w.check("us")
		if err != nil || len(w.take()) > 0 || result.RequeueAfter <= 0 || result.RequeueAfter > statusPeriod {
			w.Errorf("too soon: %+v, %v", result, err)
		}
		time.Sleep(result.RequeueAfter)
		if _, err := w.check("us"); err != nil || len(w.take()) != 1 {
			w.Errorf("a second later: %v", err)
		}
		// Nor is a backend checked more often, unless it changed itself.
		if result, err := w.check("us"); err != nil || result.RequeueAfter != checkPeriod {
			w.Errorf("after a change: %+v, %v", result, err)
		}
		if result, err := w.check("us"); err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > statusPeriod {
			w.Errorf("without a change: %+v, %v", result, err)
		}
	}, shared)
}

// TestLongChecksAreRepeatedWithoutPause checks that after a check that wrote slices for longer than the period of checks the next one,
// which writes the others, does not wait for another period.
func TestLongChecksAreRepeatedWithoutPause(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCheck("us")
		for lasts, want := range map[time.Duration]time.Duration{statusPeriod / 4: 3 * statusPeriod / 4, 5 * statusPeriod: minPeriod} {
			time.Sleep(statusPeriod)
			w.ready.pending, w.ready.lasts = 2, lasts
			if result, err := w.check("us"); err != nil || result.RequeueAfter != want {
				w.Errorf("a check of %s: the next one is after %s, %v, want %s", lasts, result.RequeueAfter, err, want)
			}
		}
	}, sole)
}

// TestOrder checks that endpoints are withheld after the weights and after the status reports it, and restored first.
func TestOrder(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		if got := w.stored("us").Status.Routes.WithoutAlternative; got == nil || got.Count != 1 || got.Names[0] != "HTTPProxy shop/web" {
			w.Errorf("without an alternative: %+v", got)
		}
		w.ready.calls = nil
		w.cluster("us", "clusterStatus", "Maintenance")
		if got := w.mustCheck("us"); got != "False/Draining" || !w.stored("us").Status.EndpointsDrained || slices.Contains(w.ready.calls, "withhold us") {
			w.Errorf("%s, %q", got, w.ready.calls)
		}
		w.ready.pending = 2
		if got := w.mustCheck("us"); got != "False/Draining" {
			w.Errorf("with slices to be written: %s", got)
		}
		if got := w.mustCheck("us"); got != "False/Draining" {
			w.Errorf("with slices whose change is not known yet: %s", got)
		}
		if got := w.mustCheck("us"); got != "True/Drained" || len(w.stored("us").Status.Errors) != 1 {
			w.Errorf("with none: %s", got)
		}

		w.ready.calls = nil
		w.cluster("us", "clusterStatus", "Enabled")
		if got := w.mustCheck("us"); got != "False/Restoring" || w.stored("us").Status.EndpointsDrained || len(w.ready.calls) > 0 {
			w.Errorf("%s, %q", got, w.ready.calls)
		}
		restored := 0
		w.backends.restored = func(context.Context, string) { restored++ }
		w.ready.pending = 2
		if got := w.mustCheck("us"); got != "False/Restoring" || restored > 0 {
			w.Errorf("%s with slices left, routes requested %d times", got, restored)
		}
		if got := w.mustCheck("us"); got != "False/Enabled" || restored != 1 {
			w.Errorf("%s, routes requested %d times", got, restored)
		}
		if diff := slices.Compact(w.ready.calls); !slices.Equal(diff, []string{"restore us"}) {
			w.Errorf("%q", w.ready.calls)
		}
	}, sole)
}

// TestEnabledBetweenStatusAndEndpoints checks that endpoints that were withheld by a status that was not read yet are restored
// before any weight.
func TestEnabledBetweenStatusAndEndpoints(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Enabled")
		if w.backends.cluster.memory.of(w.stored("us").UID).restored {
			w.Error("the weights do not wait for the endpoints")
		}
		w.mustCheck("us")
		if got := w.mustCheck("us"); got != "False/Enabled" || slices.Contains(w.ready.calls, "withhold us") {
			w.Errorf("%s, %q", got, w.ready.calls)
		}
	}, sole)
}

// TestEndpointsFail checks that failed changes of endpoints are retried, and that nothing is reported as done before.
func TestEndpointsFail(t *testing.T) {
	inWorld(t, func(w *world) {
		w.ready.err = errors.New("no")
		if _, err := w.check("us"); err == nil {
			w.Error("no error")
		}
		if w.backends.cluster.memory.of(w.stored("us").UID).restored {
			w.Error("the endpoints count as restored")
		}
	}, shared)
}

// TestUnknownRoutes checks that the status reports if routes are unknown, and that drained routes remain drained.
func TestUnknownRoutes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		fail := func(err error) {
			w.mu.Lock()
			if err == nil {
				delete(w.unserved, proxies.GroupResource())
			} else {
				w.unserved[proxies.GroupResource()] = err
			}
			w.mu.Unlock()
			w.set.Recheck()
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		fail(apierrors.NewServiceUnavailable("down"))
		if got := w.mustCheck("us"); got != "False/Enabled" {
			w.Errorf("as before: %s", got)
		}
		w.cluster("us", "clusterStatus", "Maintenance")
		if got := w.mustCheck("us"); got != "Unknown/"+reasonUnknown {
			w.Error(got)
		}
		fail(nil)
		if got := w.mustCheck("us"); got != "False/Draining" {
			w.Error(got)
		}
		w.mustCorrect(1)
		if got := w.mustCheck("us"); got != "True/Drained" {
			w.Error(got)
		}
		fail(apierrors.NewServiceUnavailable("down"))
		if got := w.mustCheck("us"); got != "True/Drained" {
			w.Errorf("what was drained is %s", got)
		}
	}, shared)
}

// TestBackendsThatAreNotServed checks that backends that cannot be read are not considered deleted.
func TestBackendsThatAreNotServed(t *testing.T) {
	inWorld(t, func(w *world) {
		if all, err := w.backends.cluster.backends(w.Context()); err != nil || len(all) != 2 {
			w.Errorf("%d backends, %v", len(all), err)
		}
		w.mu.Lock()
		w.unserved[backendsResource] = nil
		w.mu.Unlock()
		w.set.Recheck()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if all, err := w.backends.cluster.backends(w.Context()); err == nil {
			w.Errorf("%d backends", len(all))
		}
	}, shared)
}

// TestCount checks that a write that hands fields back is attributed to the backends whose weights are restored, and to no others.
func TestCount(t *testing.T) {
	handBack := drain.Decision{HandBack: true, Backends: map[string]drain.Outcome{"us": {}, "eu": {}}}
	for name, tc := range map[string]struct {
		reason   string
		other    gimbalv1.ClusterStatus
		recorded []string
		decision drain.Decision
		want     int
	}{
		"restoring":                   {reasonRestoring, gimbalv1.ClusterEnabled, nil, handBack, 1},
		"restored before":             {reasonEnabled, gimbalv1.ClusterEnabled, nil, handBack, 0},
		"the other one is drained":    {reasonRestoring, gimbalv1.ClusterMaintenance, nil, handBack, 0},
		"weights are saved":           {reasonEnabled, gimbalv1.ClusterMaintenance, []string{"us"}, handBack, 1},
		"written for the other one":   {reasonEnabled, gimbalv1.ClusterMaintenance, []string{"eu"}, drain.Decision{Write: true, Backends: handBack.Backends}, 0},
		"does not refer to it at all": {reasonRestoring, gimbalv1.ClusterEnabled, nil, drain.Decision{HandBack: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			us, eu := &gimbalv1.DiscoveryBackend{}, &gimbalv1.DiscoveryBackend{}
			us.Name, us.UID, us.Cluster.ClusterStatus = "us", "us", gimbalv1.ClusterEnabled
			us.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionDrained, Reason: tc.reason}}
			eu.Name, eu.UID, eu.Cluster.ClusterStatus = "eu", "eu", tc.other
			m := &membership{
				fleet: fleet{all: map[string]*gimbalv1.DiscoveryBackend{"us": us, "eu": eu}}, memory: newMemory(), recorded: tc.recorded,
			}
			m.memory.setRestored("us", true)
			f := newFacts()
			if f.count(us, m, tc.decision, "a route", "", ""); f.left != tc.want {
				t.Errorf("left = %d, want %d", f.left, tc.want)
			}
		})
	}
}

// TestLostWeights checks that lost weights are reported until a user changes the route.
func TestLostWeights(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		w.routes.cluster.memory.discardRoute(webKey()) // as in a new process, which cannot heal the record
		w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) {
			web.SetAnnotations(map[string]string{gimbalv1.AnnotationSavedWeights: "{"})
		})
		w.mustCorrect(1)
		w.mustCorrect(0)
		w.mustCheck("us")
		if errs := w.stored("us").Status.Errors; len(errs) != 1 || errs[0].Type != gimbalv1.ErrorWeightsLost {
			w.Errorf("errors: %+v", errs)
		}
		w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) { web.SetLabels(map[string]string{"a": "b"}) })
		w.mustCorrect(0)
		w.mustCheck("us")
		if errs := w.stored("us").Status.Errors; len(errs) > 0 {
			w.Errorf("errors: %+v", errs)
		}
	}, shared)
}

// TestWatches checks that events trigger checks of exactly the affected routes and backends.
func TestWatches(t *testing.T) {
	inWorld(t, func(w *world) {
		ctx := w.Context()
		routes := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[routeKey]())
		backends := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer routes.ShutDown()
		defer backends.ShutDown()
		if err := errors.Join(w.watches.followRoutes(ctx, routes), w.watches.followBackends(ctx, backends)); err != nil {
			w.Fatal(err)
		}
		expect := func(what, wantRoutes, wantBackends string) {
			w.Helper()
			time.Sleep(2 * gatherPeriod)
			synctest.Wait()
			if got := drainQueue(routes, routeKey.String); got != wantRoutes {
				w.Errorf("%s: routes %q, want %q", what, got, wantRoutes)
			}
			if got := drainQueue(backends, func(r reconcile.Request) string { return r.Name }); got != wantBackends {
				w.Errorf("%s: backends %q, want %q", what, got, wantBackends)
			}
		}
		const web = "httpproxies.projectcontour.io shop/web"
		expect("at first", web, "eu us")
		w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) { web.SetLabels(map[string]string{"a": "b"}) })
		expect("a route", web, "eu us")
		w.cluster("us", "clusterStatus", "Maintenance")
		expect("a backend enters maintenance", web, "us")
		w.cluster("us", "secret", "other")
		expect("a backend gets another Secret", "", "us")
		w.service("shop", "another", "us")
		synctest.Wait()
		expect("a Service that no route names", "", "us")
		relabel := func(name, backend string) {
			w.edit(servicesV1, "shop", name, func(service *unstructured.Unstructured) {
				service.SetLabels(map[string]string{gimbalv1.LegacyLabelBackend: backend})
			})
		}
		noted := func(change func(*unstructured.Unstructured)) { w.edit(servicesV1, "shop", "eu-web", change) }
		noted(func(service *unstructured.Unstructured) { service.SetAnnotations(map[string]string{"a": "b"}) })
		expect("a Service gets an annotation", "", "eu")
		noted(func(service *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(service.Object, "ExternalName", "spec", "type")
		})
		expect("a Service gets another type", web, "eu")
		w.setReady("eu-web", true)
		expect("a slice that is as ready as before", "", "")
		w.setReady("eu-web", false)
		expect("an alternative has no ready endpoint any more", web, "")
		relabel("us-web", "eu")
		expect("a Service changes sides", web, "eu us")
		w.cluster("eu", "clusterStatus", "Maintenance")
		expect("the other backend", web, "eu")
		w.watches.endpointsChanged("eu")
		expect("endpoints that are not withheld", "", "")
	}, shared)
}

// drainQueue takes everything out of a queue.
func drainQueue[T comparable](queue workqueue.TypedRateLimitingInterface[T], name func(T) string) string {
	var all []string
	for queue.Len() > 0 {
		item, _ := queue.Get()
		queue.Done(item)
		all = append(all, name(item))
	}
	slices.Sort(all)
	text := ""
	for i, one := range all {
		if i > 0 {
			text += " "
		}
		text += one
	}
	return text
}
