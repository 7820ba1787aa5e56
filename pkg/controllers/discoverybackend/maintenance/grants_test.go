// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/yaml"
)

// TestGrants checks what ReferenceGrants permit: routes of the named kind and namespace, and objects of the named kind, all of them or
// a single one.
func TestGrants(t *testing.T) {
	const from = "from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}]"
	for name, tc := range map[string]struct {
		spec string
		want bool
	}{
		"all Services":                {"{" + from + ", to: [{group: '', kind: Service}]}", true},
		"the Service":                 {"{" + from + ", to: [{group: '', kind: Service, name: web}]}", true},
		"another Service":             {"{" + from + ", to: [{group: '', kind: Service, name: api}]}", false},
		"one of two":                  {"{" + from + ", to: [{group: '', kind: Secret}, {group: '', kind: Service}]}", true},
		"another kind":                {"{" + from + ", to: [{group: multicluster.x-k8s.io, kind: ServiceImport}]}", false},
		"another kind of route":       {"{from: [{group: gateway.networking.k8s.io, kind: GRPCRoute, namespace: shop}], to: [{group: '', kind: Service}]}", false},
		"routes in another namespace": {"{from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: bank}], to: [{group: '', kind: Service}]}", false},
		"nothing":                     {"{}", false},
		"another structure":           {"{from: web, to: [web]}", false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			kept, _ := grantOf(map[string]any{"spec": spec}).(*grant)
			m := &membership{grants: map[string][]*grant{"bank": {kept}}}
			route, service := schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"}, schema.GroupKind{Kind: "Service"}
			if got := m.Permits(route, "shop", service, types.NamespacedName{Namespace: "bank", Name: "web"}); got != tc.want {
				t.Errorf("permitted = %t, want %t", got, tc.want)
			}
			if m.Permits(route, "shop", service, types.NamespacedName{Namespace: "store", Name: "web"}) {
				t.Error("a grant permits a reference to another namespace")
			}
		})
	}
}

// TestAlternativeNeedsAGrant checks that a Service in another namespace is an alternative only while a ReferenceGrant permits the
// reference, that the route is named otherwise, and that it is checked again when a grant is created or deleted.
func TestAlternativeNeedsAGrant(t *testing.T) {
	inWorld(t, func(w *world) {
		w.service("bank", "eu-web", "eu")
		routes := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[routeKey]())
		defer routes.ShutDown()
		if err := w.watches.followRoutes(w.Context(), routes); err != nil {
			w.Fatal(err)
		}
		expect := func(what, weights string, without bool) {
			w.Helper()
			time.Sleep(2 * gatherPeriod)
			synctest.Wait()
			if got := drainQueue(routes, routeKey.String); got != importRoute.String() {
				w.Errorf("%s: %q are checked", what, got)
			}
			if got := w.correctImport(); got != weights {
				w.Errorf("%s: weights = %q, want %q", what, got, weights)
			}
			synctest.Wait()
			drainQueue(routes, routeKey.String)
			w.mustCheck("us")
			status := w.stored("us").Status
			if got := status.Routes.WithoutAlternative != nil; got != without {
				w.Errorf("%s: without an alternative = %t, want %t", what, got, without)
			}
			named := len(status.Errors) > 0 && strings.Contains(status.Errors[0].Message, "Service bank/eu-web: no ReferenceGrant in its namespace permits the reference")
			if named != without {
				w.Errorf("%s: errors = %+v", what, status.Errors)
			}
		}
		w.cluster("us", "drainPolicy", "KeepSole")
		w.cluster("us", "clusterStatus", "Maintenance")
		expect("no grant", "<nil> <nil> ", true)
		grants := grantsResource.WithVersion("v1")
		w.add(grants, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "gateway.networking.k8s.io/v1", "kind": "ReferenceGrant", "metadata": map[string]any{"namespace": "bank", "name": "shop"},
			"spec": map[string]any{
				"from": []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "shop"}},
				"to":   []any{map[string]any{"group": "", "kind": "Service"}},
			},
		}})
		synctest.Wait()
		expect("a grant", "0 <nil> ", false)
		if err := w.dynamic.Tracker().Delete(grants, "bank", "shop"); err != nil {
			w.Fatal(err)
		}
		synctest.Wait()
		expect("the grant is deleted", "<nil> <nil> ", true)
	}, imports("{name: us-web, port: 80}, {name: eu-web, namespace: bank, port: 80}"))
}
