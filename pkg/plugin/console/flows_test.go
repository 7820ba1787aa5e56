// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/maintenance"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

func part(backend, name string, now, wanted, next float64) drain.Part {
	return drain.Part{Service: types.NamespacedName{Namespace: "shop", Name: name}, Backend: backend, Now: now, Wanted: wanted, Next: next}
}

func routeTraffic(name string, rules ...drain.Flow) maintenance.RouteTraffic {
	return maintenance.RouteTraffic{Kind: "HTTPProxy", NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, Rules: rules}
}

func discoveryBackend(name string, status gimbalv1.ClusterStatus) *gimbalv1.DiscoveryBackend {
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: name}}
	b.Cluster.ClusterStatus = status
	return b
}

// Rules of a route count the same, its links are one per Service, and the first routes are those that need attention.
func TestFlowsOf(t *testing.T) {
	alone := part("west", "us-web", 1, 1, 1)
	alone.NoAlternative, alone.Withheld = true, true
	empty := part("east", "eu-web", .5, .5, .5)
	empty.Target.Empty = true
	traffic := &maintenance.Traffic{
		Backends: map[string]*gimbalv1.DiscoveryBackend{"west": discoveryBackend("west", gimbalv1.ClusterEnabled), "east": discoveryBackend("east", gimbalv1.ClusterEnabled)},
		Routes: []maintenance.RouteTraffic{
			routeTraffic("both", drain.Flow{Parts: []drain.Part{part("west", "us-web", .7, .7, .7), part("east", "eu-web", .3, .3, .3)}}),
			routeTraffic("saved", drain.Flow{Parts: []drain.Part{part("west", "us-web", 0, .5, 0), empty}}, drain.Flow{Parts: []drain.Part{part("west", "us-web", 1, 1, 1)}, Lost: true}),
			routeTraffic("sole", drain.Flow{Parts: []drain.Part{alone}}),
			routeTraffic("deleted", drain.Flow{Parts: []drain.Part{part("deleted", "gone-web", 1, 1, 1)}}),
		},
	}
	view := flowsOf(traffic, nil, filter{})
	names := []string{}
	for _, r := range view.Routes {
		names = append(names, r.Name)
	}
	if want := []string{"sole", "saved", "both", "deleted"}; !slices.Equal(names, want) || view.Total != 4 {
		t.Errorf("routes = %q of %d, want %q", names, view.Total, want)
	}
	saved := view.Routes[1]
	if got, want := fmt.Sprint(saved.Links), "[{shop/us-web west 0.5 0.75 0.5 } {shop/eu-web east 0.25 0.25 0.25 empty}]"; got != want || !saved.Lost {
		t.Errorf("links = %s, lost %t, want %s", got, saved.Lost, want)
	}
	backends := []string{}
	for _, b := range view.Backends {
		backends = append(backends, fmt.Sprintf("%s %d %d %t", b.Name, b.Routes, b.Alone, b.Key != ""))
	}
	if want := []string{"deleted 1 0 false", "east 2 0 true", "west 3 1 true"}; !slices.Equal(backends, want) {
		t.Errorf("backends = %q, want %q", backends, want)
	}
	if got := flowsOf(traffic, nil, filter{backend: "east", words: []string{"both"}}); len(got.Routes) != 1 || got.Routes[0].Name != "both" {
		t.Errorf("filtered routes = %+v, want both", got.Routes)
	}
}

// What an assumption makes of routes: those that fail, those that the backend keeps, those that move.
func TestWhatIf(t *testing.T) {
	fails := part("west", "us-web", 1, 1, 0)
	fails.NoAlternative, fails.Withheld, fails.Drained = true, true, true
	kept := part("west", "us-web", 1, 1, 1)
	kept.NoAlternative, kept.Withheld = true, true
	traffic := &maintenance.Traffic{
		Backends: map[string]*gimbalv1.DiscoveryBackend{"west": discoveryBackend("west", gimbalv1.ClusterEnabled)},
		Routes: []maintenance.RouteTraffic{
			routeTraffic("fails", drain.Flow{Parts: []drain.Part{fails}}),
			routeTraffic("kept", drain.Flow{Parts: []drain.Part{kept}}),
			routeTraffic("moves", drain.Flow{Parts: []drain.Part{part("west", "us-web", .7, .7, 0), part("east", "eu-web", .3, .3, 1)}}),
			routeTraffic("same", drain.Flow{Parts: []drain.Part{part("west", "us-web", 0, 0, 0), part("east", "eu-web", 1, 1, 1)}}),
			routeTraffic("other", drain.Flow{Parts: []drain.Part{part("east", "eu-web", 1, 1, 1)}}),
		},
	}
	w := flowsOf(traffic, &maintenance.Assumption{Backend: "west", Status: gimbalv1.ClusterMaintenance}, filter{}).WhatIf
	if got, want := fmt.Sprint(w.Routes, w.Fails, w.Keeps, w.Moves), "4 {1 [HTTPProxy shop/fails]} {1 [HTTPProxy shop/kept]} {1 [HTTPProxy shop/moves]}"; got != want {
		t.Errorf("what if = %s, want %s", got, want)
	}
}

// Routes beyond those that are drawn are one sum.
func TestFlowsOfManyRoutes(t *testing.T) {
	traffic := &maintenance.Traffic{}
	for i := range maxRoutes + 5 {
		traffic.Routes = append(traffic.Routes, routeTraffic(fmt.Sprint("r", i), drain.Flow{Parts: []drain.Part{part("west", "us-web", .75, .75, .75), part("", "web", .25, .25, .25)}}))
	}
	view := flowsOf(traffic, nil, filter{})
	if got, want := fmt.Sprint(view.Rest), "[{  1.25 1.25 1.25 } { west 3.75 3.75 3.75 }]"; len(view.Routes) != maxRoutes || view.Total != maxRoutes+5 || got != want {
		t.Errorf("%d of %d routes, rest %s, want %d and %s", len(view.Routes), view.Total, got, maxRoutes, want)
	}
}

// servedRoutes is a cluster that serves HTTPProxies, with a backend, a Service of it and a route; lists of one resource may fail.
func servedRoutes(t *testing.T, fails string) (resourcewatch.Finder, resourcewatch.Source) {
	t.Helper()
	lists, objects := map[schema.GroupVersionResource]string{}, []runtime.Object{}
	for _, one := range []struct{ group, version, resource, kind, manifest string }{
		{"gimbal.heptio.com", "v1", "discoverybackends", "DiscoveryBackend", "{metadata: {namespace: gimbal-discovery, name: west, uid: u}, cluster: {type: kubernetes, clusterStatus: Enabled}}"},
		{"", "v1", "services", "Service", "{metadata: {namespace: shop, name: us-web, labels: {gimbal.projectcontour.io/backend: west}}, spec: {ports: [{port: 80}]}}"},
		{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "{metadata: {namespace: shop, name: us-web, labels: {kubernetes.io/service-name: us-web}}, ports: [{port: 80}], endpoints: [{addresses: [10.0.0.1]}]}"},
		{"projectcontour.io", "v1", "httpproxies", "HTTPProxy", "{metadata: {namespace: shop, name: web}, spec: {routes: [{services: [{name: us-web, port: 80}]}]}}"},
	} {
		resource := schema.GroupVersionResource{Group: one.group, Version: one.version, Resource: one.resource}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(one.manifest), &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetGroupVersionKind(resource.GroupVersion().WithKind(one.kind))
		lists[resource], objects = one.kind+"List", append(objects, object)
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
	if fails != "" {
		client.PrependReactor("list", fails, func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: fails}, "", nil)
		})
	}
	find := func(_ context.Context, kind *resourcewatch.Kind) (*schema.GroupVersionResource, error) {
		for resource := range lists {
			if resource.GroupResource() == kind.GroupResource {
				return &resource, nil
			}
		}
		return nil, nil
	}
	return find, resourcewatch.Source{Dynamic: client}
}

// The page gets the flows of the cluster, and an assumption about a backend.
func TestFlows(t *testing.T) {
	_, reading := newWorld(t)
	o := optionsOf(reading)
	find, source := servedRoutes(t, "")
	o.Clock = clock.RealClock{}
	o.Source = func() (resourcewatch.Finder, resourcewatch.Source, error) { return find, source, nil }
	b := open(t, o)
	var now, then Flows
	b.read("/api/flows", &now)
	if len(now.Routes) != 1 || now.WhatIf != nil || !now.Routes[0].Alone || now.Routes[0].Links[0].State != linkAlone || len(now.Problems) > 0 {
		t.Errorf("flows = %+v, want the route without another backend", now)
	}
	b.read("/api/flows?backend=west&if=Maintenance", &then)
	if then.WhatIf == nil || then.WhatIf.Fails.Count != 1 || then.Routes[0].Links[0].State != linkFails {
		t.Errorf("flows without the backend = %+v, want a route that fails", then)
	}
	if code, body := b.get("/api/flows?backend=west&if=Off"); code != http.StatusBadRequest || !strings.Contains(body, "not Maintenance or Enabled") {
		t.Errorf("an unknown state = %d %s, want 400", code, body)
	}
	if code, _ := b.get("/api/flows?backend=xx&if=Enabled"); code != http.StatusNotFound {
		t.Errorf("an unknown backend = %d, want 404", code)
	}
}

// A user who is not allowed to list Services gets the reason.
func TestFlowsOfOneWithFewPermissions(t *testing.T) {
	_, reading := newWorld(t)
	o := optionsOf(reading)
	find, source := servedRoutes(t, "services")
	o.Clock, o.Namespace = clock.RealClock{}, "shop"
	o.Source = func() (resourcewatch.Finder, resourcewatch.Source, error) { return find, source, nil }
	var view Flows
	open(t, o).read("/api/flows", &view)
	if want := []string{"you are not allowed to list services in namespace shop"}; !slices.Equal(view.Problems, want) || len(view.Routes) != 0 {
		t.Errorf("problems = %q, want %q", view.Problems, want)
	}
}

// Grouped by namespace, the routes of each are added up by backend and state, so that thousands of routes are one picture.
func TestFlowsGroupedByNamespace(t *testing.T) {
	route := func(namespace, state string, now float64) FlowRoute {
		return FlowRoute{Kind: "HTTPProxy", Namespace: namespace, Name: "web", Alone: state == linkAlone, Links: []FlowLink{
			{Service: namespace + "/us-web", Backend: "us", Now: now, Wanted: 1, Next: now, State: state},
		}}
	}
	got := byNamespace([]FlowRoute{route("b", "", 1), route("a", "", 0.5), route("a", "", 0.25), route("a", linkAlone, 1)})
	want := []FlowRoute{
		{Namespace: "a", Name: "3 routes", Alone: true, Links: []FlowLink{
			{Service: "Services of us in a", Backend: "us", Now: 0.75, Wanted: 2, Next: 0.75},
			{Service: "Services of us in a", Backend: "us", Now: 1, Wanted: 1, Next: 1, State: linkAlone},
		}},
		{Namespace: "b", Name: "1 routes", Links: []FlowLink{{Service: "Services of us in b", Backend: "us", Now: 1, Wanted: 1, Next: 1}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes by namespace (-want +got):\n%s", diff)
	}
}
