// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

var (
	importsV1   = importsResource.WithVersion("v1beta1")
	httpRoutes  = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
	importRoute = routeKey{httpRoutes.GroupResource(), types.NamespacedName{Namespace: "shop", Name: "import"}}
)

// serviceImport adds a ServiceImport with port 80. Its labels may name a backend.
func (w *world) serviceImport(name string, labels map[string]any) {
	w.Helper()
	w.add(importsV1, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceImport",
		"metadata": map[string]any{"namespace": "shop", "name": name, "labels": labels},
		"spec":     map[string]any{"type": "ClusterSetIP", "ports": []any{map[string]any{"name": "http", "port": int64(80)}}},
	}})
}

// importedSlice adds a slice of another controller behind a ServiceImport.
func (w *world) importedSlice(name string) {
	w.Helper()
	w.add(slicesV1, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
		"metadata": map[string]any{"namespace": "shop", "name": "imported-" + name, "labels": map[string]any{
			desired.LabelImport: name, discoveryv1.LabelManagedBy: "mcs.example.com",
		}},
		"ports":     []any{map[string]any{"name": "http", "port": int64(8080)}},
		"endpoints": []any{map[string]any{"addresses": []any{"10.0.0.9"}, "conditions": map[string]any{"ready": true}}},
	}})
}

// behindImport puts the copied slice of a Service behind the ServiceImport of the same name.
func (w *world) behindImport(name string) {
	w.Helper()
	w.edit(slicesV1, "shop", name, func(slice *unstructured.Unstructured) {
		labels := slice.GetLabels()
		labels[desired.LabelImport] = name
		slice.SetLabels(labels)
	})
}

// imports returns the HTTPRoute import, with these references.
func imports(references string) string {
	return "\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: import}\nspec: {rules: [{backendRefs: [" + references + "]}]}\n"
}

const (
	firstImport  = "{group: multicluster.x-k8s.io, kind: ServiceImport, name: us-web, port: 80}"
	secondImport = "{group: multicluster.x-k8s.io, kind: ServiceImport, name: eu-web, port: 80}"
)

// correctImport returns a reconciliation over the HTTPRoute import, and returns its weights.
func (w *world) correctImport() string {
	w.Helper()
	if _, err := w.routes.Reconcile(w.Context(), importRoute); err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
	found, err := w.dynamic.Tracker().Get(httpRoutes, "shop", "import")
	if err != nil {
		w.Fatal(err)
	}
	rules, _, _ := unstructured.NestedSlice(found.(*unstructured.Unstructured).Object, "spec", "rules")
	text := ""
	for _, ref := range rules[0].(map[string]any)["backendRefs"].([]any) {
		text += fmt.Sprintf("%v ", ref.(map[string]any)["weight"])
	}
	return text
}

// TestDrainServiceImport checks that a ServiceImport belongs to the backend in its label, or otherwise to the one whose copied
// endpoints it has, and that its weight is drained and restored.
func TestDrainServiceImport(t *testing.T) {
	for name, prepare := range map[string]func(*world){
		"by its label":     func(w *world) { w.serviceImport("us-web", map[string]any{gimbalv1.LabelBackend: "us"}) },
		"by its endpoints": func(w *world) { w.serviceImport("us-web", nil); w.behindImport("us-web") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				prepare(w)
				synctest.Wait()
				w.mustCheck("us")
				if got := w.stored("us").Status.Routes.Matching; got != 1 {
					w.Errorf("%d routes match", got)
				}
				w.cluster("us", "clusterStatus", "Maintenance")
				if got := w.correctImport(); got != "0 <nil> " {
					w.Errorf("drained: %s", got)
				}
				if got := w.mustCheck("us"); got != "True/Drained" {
					w.Error(got)
				}
				w.cluster("us", "clusterStatus", "Enabled")
				if got := w.correctImport(); got != "<nil> <nil> " {
					w.Errorf("restored: %s", got)
				}
				if got := w.mustCheck("us"); got != "False/Enabled" {
					w.Error(got)
				}
			}, imports(firstImport+", {name: eu-web, port: 80}"))
		})
	}
}

// TestServiceImportAsAlternative checks that a ServiceImport is an alternative only if it exists and has a ready endpoint, and that
// the route is checked again when that changes.
func TestServiceImportAsAlternative(t *testing.T) {
	inWorld(t, func(w *world) {
		routes := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[routeKey]())
		defer routes.ShutDown()
		if err := w.watches.followRoutes(w.Context(), routes); err != nil {
			w.Fatal(err)
		}
		expect := func(what string, without int32) {
			w.Helper()
			time.Sleep(2 * gatherPeriod)
			synctest.Wait()
			if got := drainQueue(routes, routeKey.String); got != importRoute.String() {
				w.Errorf("%s: %q are checked", what, got)
			}
			w.mustCheck("us")
			got := int32(0)
			if names := w.stored("us").Status.Routes.WithoutAlternative; names != nil {
				got = names.Count
			}
			if got != without {
				w.Errorf("%s: %d routes have no alternative, want %d", what, got, without)
			}
		}
		expect("it does not exist", 1)
		w.serviceImport("eu-web", nil)
		synctest.Wait()
		expect("it has no endpoint", 1)
		w.importedSlice("eu-web")
		synctest.Wait()
		expect("it has one", 0)
		w.edit(slicesV1, "shop", "imported-eu-web", func(slice *unstructured.Unstructured) {
			slice.Object["endpoints"].([]any)[0].(map[string]any)["conditions"] = map[string]any{"ready": false}
		})
		expect("it is not ready", 1)
		w.edit(importsV1, "shop", "eu-web", func(imported *unstructured.Unstructured) {
			imported.Object["status"] = map[string]any{"endpointSliceObjects": "Absent"}
		})
		expect("its controller writes no slices", 0)
	}, imports("{name: us-web, port: 80}, "+secondImport))
}

// TestSoleServiceImport checks that the copied endpoints of a ServiceImport without an alternative are withheld, but not those of
// other controllers: then the status reports that it still receives requests.
func TestSoleServiceImport(t *testing.T) {
	for name, test := range map[string]struct {
		route string
		other bool
		want  string
	}{
		"copied endpoints":              {imports(firstImport), false, "True/Drained"},
		"endpoints of others, weight 0": {imports(firstImport), true, "True/Drained"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.serviceImport("us-web", map[string]any{gimbalv1.LabelBackend: "us"})
				w.behindImport("us-web")
				if test.other {
					w.importedSlice("us-web")
				}
				synctest.Wait()
				w.mustCheck("us")
				w.cluster("us", "clusterStatus", "Maintenance")
				w.correctImport()
				got := ""
				for range 4 {
					got = w.mustCheck("us")
				}
				if got != test.want {
					w.Errorf("%s: %+v", got, w.stored("us").Status)
				}
				if withheld := sets.List(serviceNames(w.ready.services.Withhold)); len(withheld) != 1 || withheld[0] != "us-web" {
					w.Errorf("withheld: %q", withheld)
				}
			}, test.route)
		})
	}
}
