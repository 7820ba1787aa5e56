// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

func TestTargets(t *testing.T) {
	ports := func(all ...servicePort) *service { return &service{ports: all} }
	web := &service{ports: []servicePort{{number: "80", name: "http"}, {number: "81"}}}
	slices := func(ready bool, ports ...string) []*slice { return []*slice{{ready: ready, ports: ports}} }
	for name, tc := range map[string]struct {
		target *target
		port   string
		want   drain.Target
	}{
		"none":                    {nil, "80", drain.Target{Missing: true}},
		"ready":                   {&target{web, slices(true, "http")}, "80", drain.Target{}},
		"by the name of the port": {&target{web, slices(true, "http")}, "http", drain.Target{}},
		"a port without a name":   {&target{web, slices(true, "")}, "81", drain.Target{}},
		"another port":            {&target{web, slices(true, "http")}, "82", drain.Target{Missing: true}},
		"no port":                 {&target{web, slices(true, "http")}, "", drain.Target{Missing: true}},
		"without slices":          {&target{web, nil}, "80", drain.Target{Empty: true}},
		"not ready":               {&target{web, slices(false, "http")}, "80", drain.Target{Empty: true}},
		"ready on another port":   {&target{web, slices(true, "http")}, "81", drain.Target{Empty: true}},
		"ExternalName":            {&target{&service{externalName: true, ports: web.ports}, nil}, "80", drain.Target{ExternalName: true}},
		"UDP":                     {&target{ports(servicePort{"80", "http", "UDP", ""}), slices(true, "http")}, "80", drain.Target{Protocol: "UDP"}},
		"UDP, then TCP":           {&target{ports(servicePort{"80", "u", "UDP", ""}, servicePort{"80", "t", "TCP", ""}), slices(true, "u")}, "80", drain.Target{Protocol: "UDP", OtherProtocol: "TCP"}},
		"UDP, by its name":        {&target{ports(servicePort{"80", "u", "UDP", ""}, servicePort{"80", "t", "TCP", ""}), slices(true, "t")}, "t", drain.Target{Protocol: "TCP"}},
		"appProtocol":             {&target{ports(servicePort{"80", "http", "TCP", "http"}), slices(true, "http")}, "80", drain.Target{Protocol: "TCP", AppProtocol: "http"}},
		"ExternalName, no port":   {&target{&service{externalName: true}, nil}, "80", drain.Target{Missing: true}},
	} {
		if got := tc.target.of(tc.port); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// removeAlternative deletes the Service eu-web, the alternative of the HTTPProxy web.
func (w *world) removeAlternative() {
	w.Helper()
	if err := w.dynamic.Tracker().Delete(servicesV1, "shop", "eu-web"); err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
}

// TestAlternativeIsMissing checks that a reference that does not exist is not an alternative: the status warns before maintenance,
// and the backend is not drained if all requests are sent to it. The check is repeated when the reference appears and disappears.
func TestAlternativeIsMissing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.removeAlternative()
		if got := w.mustCheck("us"); got != "False/Enabled" {
			w.Error(got)
		}
		if got := w.stored("us").Status.Routes.WithoutAlternative; got == nil || got.Count != 1 {
			w.Errorf("without an alternative: %+v", got)
		}
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(0)
		if got := w.weights(); got != "70 30" {
			w.Errorf("the weights are %q", got)
		}
		if got := w.mustCheck("us"); got != "False/Draining" || !w.stored("us").Status.EndpointsDrained {
			w.Error(got)
		}
		w.mustCheck("us")
		if got := w.mustCheck("us"); got != "True/Drained" || len(w.stored("us").Status.Errors) != 1 {
			w.Error(got)
		}
		w.add(servicesV1, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"namespace": "shop", "name": "eu-web", "labels": map[string]any{gimbalv1.LabelBackend: "eu"}},
			"spec":     map[string]any{"ports": []any{map[string]any{"name": "http", "port": int64(80)}}},
		}})
		synctest.Wait()
		w.mustCorrect(1)
		if got := w.weights(); got != "0 30" {
			w.Errorf("with the alternative the weights are %q", got)
		}
		if got := w.mustCheck("us"); got != "True/Drained" || w.stored("us").Status.EndpointsDrained || len(w.stored("us").Status.Errors) > 0 {
			w.Errorf("with the alternative: %s, %+v", got, w.stored("us").Status.Errors)
		}
		w.removeAlternative()
		w.mustCorrect(1)
		if got := w.mustCheck("us"); got != "False/Draining" || !w.stored("us").Status.EndpointsDrained {
			w.Errorf("without it again: %s", got)
		}
	}, shared)
}

// TestWithoutEndpoints checks that routes which send requests to a Service without a ready endpoint are reported, by the status, the metric and
// one event, unless maintenance withholds the endpoints.
func TestWithoutEndpoints(t *testing.T) {
	inWorld(t, func(w *world) {
		recorder := events.NewFakeRecorder(10)
		w.backends.recorder = recorder
		reported := func(want int32) {
			w.Helper()
			for range 2 { // the second check writes nothing
				w.mustCheck("us")
			}
			got := ptr.Deref(w.stored("us").Status.Routes.WithoutEndpoints, gimbalv1.RouteNames{})
			if got.Count != want || int(want) != len(got.Names) || want > 0 && got.Names[0] != "HTTPProxy shop/web" {
				w.Errorf("without endpoints: %+v, want %d routes", got, want)
			}
			if got := testutil.ToFloat64(w.backends.meters.failing.WithLabelValues("us")); got != float64(want) {
				w.Errorf("the metric = %v, want %d", got, want)
			}
		}
		var all []string
		announced := func(want int) {
			w.Helper()
			for len(recorder.Events) > 0 {
				if event := <-recorder.Events; strings.Contains(event, eventWithoutEndpoints) {
					all = append(all, event)
				}
			}
			if len(all) != want {
				w.Errorf("%d events, want %d: %v", len(all), want, all)
			}
		}
		reported(0)
		announced(0)
		w.setReady("us-web", false)
		reported(1)
		announced(1)
		if want := "HTTPProxy shop/web sends requests to Service shop/us-web"; !strings.Contains(all[0], want) {
			w.Errorf("event = %q, want %q in it", all[0], want)
		}
		w.setReady("us-web", true)
		reported(0)
		announced(1)
		w.setReady("us-web", false)
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		reported(0)
		announced(1)
	}, shared)
}

// TestWithheldEndpointsAreNotMissing checks that endpoints which maintenance withholds are not reported as missing.
func TestWithheldEndpointsAreNotMissing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.removeAlternative()
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(0)
		for range 3 {
			w.mustCheck("us")
			if got := w.stored("us").Status.Routes.WithoutEndpoints; got != nil {
				w.Errorf("without endpoints: %+v", got)
			}
		}
	}, shared)
}

// TestAlternativeIsNotReady checks that an alternative without a ready endpoint is named, before and during maintenance, and that
// with KeepSole the backend keeps its traffic.
func TestAlternativeIsNotReady(t *testing.T) {
	inWorld(t, func(w *world) {
		w.setReady("eu-web", false)
		w.mustCheck("us")
		if got := w.stored("us").Status.Routes.WithoutAlternative; got == nil || got.Count != 1 {
			w.Errorf("without an alternative: %+v", got)
		}
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		if got := w.mustCheck("us"); got != "True/Drained" || w.stored("us").Status.EndpointsDrained {
			w.Error(got)
		}
		if got := w.stored("us").Status.Errors; len(got) != 1 || got[0].Type != gimbalv1.ErrorNoAlternative {
			w.Errorf("errors: %+v", got)
		}
		w.cluster("us", "drainPolicy", "KeepSole")
		w.mustCorrect(1)
		if got := w.weights(); got != "70 30" {
			w.Errorf("with KeepSole the weights are %q", got)
		}
		w.setReady("eu-web", true)
		w.mustCorrect(1)
		if got := w.weights(); got != "0 30" {
			w.Errorf("with a ready endpoint the weights are %q", got)
		}
	}, shared)
}

// TestStillReceiving checks that what neither weights nor endpoints stop is not reported as drained.
func TestStillReceiving(t *testing.T) {
	for name, change := range map[string]func(*world){
		"ExternalName": func(w *world) {
			w.edit(servicesV1, "shop", "us-web", func(service *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(service.Object, "ExternalName", "spec", "type")
			})
		},
		"endpoints of another writer": func(w *world) {
			w.edit(slicesV1, "shop", "us-web", func(slice *unstructured.Unstructured) {
				labels := slice.GetLabels()
				labels["endpointslice.kubernetes.io/managed-by"] = "endpointslicemirroring-controller.k8s.io"
				slice.SetLabels(labels)
			})
			w.ready.withheld = func(string, bool) {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				change(w)
				w.cluster("us", "clusterStatus", "Maintenance")
				w.mustCheck("us")
				if got := w.mustCheck("us"); got != "False/StillReceiving" {
					w.Error(got)
				}
				got := w.stored("us").Status
				if len(got.Errors) != 2 || got.Errors[0].Type != gimbalv1.ErrorStillReceiving || !strings.Contains(got.Errors[0].Message, "HTTPProxy shop/web") || got.Routes.Drained != 0 {
					w.Errorf("status: %+v", got)
				}
			}, sole)
		})
	}
}

// TestWithheldServices checks that only the endpoints of Services in routes without an alternative are withheld. If a route gets
// one, they remain withheld until its weights are written.
func TestWithheldServices(t *testing.T) {
	const other = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: other}
spec: {routes: [{services: [{name: us-other, port: 80, weight: 1}, {name: eu-web, port: 80, weight: 1}]}]}
`
	inWorld(t, func(w *world) {
		w.service("shop", "us-other", "us")
		synctest.Wait()
		correctOther := func() {
			key := webKey()
			key.name.Name = "other"
			if _, err := w.routes.Reconcile(w.Context(), key); err != nil {
				w.Fatal(err)
			}
			synctest.Wait()
		}
		w.cluster("us", "clusterStatus", "Maintenance")
		correctOther()
		expect := func(what, condition, withhold, leave string) {
			w.Helper()
			if got := w.mustCheck("us"); got != condition {
				w.Errorf("%s: %s", what, got)
			}
			if got := fmt.Sprint(sets.List(serviceNames(w.ready.services.Withhold)), sets.List(serviceNames(w.ready.services.Leave))); got != "["+withhold+"] ["+leave+"]" {
				w.Errorf("%s: withheld and left %s", what, got)
			}
		}
		w.mustCheck("us")
		w.mustCheck("us")
		expect("a route without an alternative", "True/Drained", "us-web", "")
		w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(web.Object, []any{map[string]any{"services": []any{
				map[string]any{"name": "us-web", "port": int64(80)}, map[string]any{"name": "eu-web", "port": int64(80)},
			}}}, "spec", "routes")
		})
		expect("it gets one", "False/Draining", "", "us-web")
		w.mustCorrect(1)
		expect("and its weights", "True/Drained", "", "")
	}, sole, other)
}

// serviceNames returns those of Services in one namespace.
func serviceNames(services sets.Set[types.NamespacedName]) sets.Set[string] {
	found := sets.Set[string]{}
	for service := range services {
		found.Insert(service.Name)
	}
	return found
}
