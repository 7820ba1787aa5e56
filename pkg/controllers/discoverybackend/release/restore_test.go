// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

func routesWith(results []Restoration, has func(Restoration) bool) string {
	var names []string
	for _, r := range results {
		if has(r) {
			names = append(names, r.Route)
		}
	}
	return strings.Join(names, ", ")
}

func restored(r Restoration) bool { return len(r.Elements) > 0 && r.Err == nil }

// TestRestore checks that the references of a removed backend are restored for a backend of the same name whose Services exist
// again, and that a preview writes nothing.
func TestRestore(t *testing.T) {
	w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), service("shop", "us-old", "us"), service("shop", "eu-web", "eu"))
	w.proxy("shop", "a", "us-web", "eu-web")
	w.proxy("shop", "b", "us-old", "eu-web")
	w.proxy("shop", "c", "us-web")
	w.proxy("shop", "d", "eu-web")
	removed, err := w.references.Remove(t.Context(), us(adminNamespace))
	want := []string{"HTTPProxy shop/a", "HTTPProxy shop/b", "HTTPProxy shop/c"}
	if err != nil || !slices.Equal(removed.Removed, want) || !slices.Equal(removed.Recorded, want) {
		t.Fatalf("removed %+v, %v", removed, err)
	}
	// A later pass knows what an earlier one removed.
	if again, err := w.references.Remove(t.Context(), us(adminNamespace)); err != nil || len(again.Removed) > 0 || !slices.Equal(again.Recorded, want) {
		t.Fatalf("removed again %+v, %v", again, err)
	}
	w.updates()
	w.store.Remove(service("shop", "us-old", "us"))
	for _, preview := range []bool{true, false} {
		got, err := w.references.Restore(t.Context(), us(adminNamespace), preview)
		if err != nil || routesWith(got, restored) != "HTTPProxy shop/a, HTTPProxy shop/c" ||
			routesWith(got, func(r Restoration) bool { return len(r.Skipped) > 0 }) != "HTTPProxy shop/b" {
			t.Fatalf("restored %+v, %v", got, err)
		}
		if updates := w.updates(); updates > 0 == preview {
			t.Errorf("preview = %t, %d updates", preview, updates)
		}
	}
	for name, want := range map[string]string{"a": "us-web eu-web", "b": "eu-web", "c": "us-web", "d": "eu-web"} {
		if got := w.services("shop", name); got != want {
			t.Errorf("%s refers to %q, want %q", name, got, want)
		}
	}
	if got := w.get(proxies, "shop", "a").GetAnnotations()[gimbalv1.AnnotationRemovedReferences]; got != "" {
		t.Errorf("record = %s, want none", got)
	}
}

// TestRestoreDuringMaintenance checks that the references to a backend in maintenance come back drained, so that they get no request until
// it is Enabled.
func TestRestoreDuringMaintenance(t *testing.T) {
	w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), service("shop", "eu-web", "eu"))
	w.proxy("shop", "a", "us-web", "eu-web")
	if _, err := w.references.Remove(t.Context(), us(adminNamespace)); err != nil {
		t.Fatal(err)
	}
	backend := us(adminNamespace)
	backend.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
	w.store.Remove(us(adminNamespace))
	w.store.Add(backend)
	got, err := w.references.Restore(t.Context(), backend, false)
	if err != nil || routesWith(got, restored) != "HTTPProxy shop/a" {
		t.Fatalf("restored %+v, %v", got, err)
	}
	route := w.get(proxies, "shop", "a")
	routes, _, _ := unstructured.NestedSlice(route.Object, "spec", "routes")
	services := routes[0].(map[string]any)["services"].([]any)
	if weight := services[0].(map[string]any)["weight"]; weight != int64(0) {
		t.Errorf("weight of us-web = %v, want 0: %v", weight, services)
	}
	if record := route.GetAnnotations()[gimbalv1.AnnotationSavedWeights]; !strings.Contains(record, `"backend":"us"`) {
		t.Errorf("record = %q, want one of backend us", record)
	}
}

// TestRemoveWithoutARecord checks that, without a record, only the references are removed, and nothing is restored.
func TestRemoveWithoutARecord(t *testing.T) {
	w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), service("shop", "own", ""))
	w.references.Record = false
	w.proxy("shop", "a", "us-web", "own")
	if got, err := w.references.Remove(t.Context(), us(adminNamespace)); err != nil || len(got.Removed) != 1 || len(got.Recorded)+len(got.Unrecorded) > 0 {
		t.Fatalf("removed %+v, %v", got, err)
	}
	if annotations := w.get(proxies, "shop", "a").GetAnnotations(); len(annotations) > 0 {
		t.Errorf("annotations = %v, want none", annotations)
	}
	if got, err := w.references.Restore(t.Context(), us(adminNamespace), false); err != nil || len(got) > 0 {
		t.Errorf("restored %+v, %v", got, err)
	}
}

// TestRestoreFaults checks that nothing is restored from incomplete data, and that a route that changed meanwhile is left alone.
func TestRestoreFaults(t *testing.T) {
	w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), service("shop", "own", ""))
	w.proxy("shop", "a", "us-web", "own")
	if _, err := w.references.Remove(t.Context(), us(adminNamespace)); err != nil {
		t.Fatal(err)
	}
	w.updates()
	for _, request := range []string{"list DiscoveryBackendList", "list ServiceList", "find httpproxies", "list httpproxies"} {
		w.fault = func(got string) error {
			if got == request {
				return errors.New("no response")
			}
			return nil
		}
		if got, err := w.references.Restore(t.Context(), us(adminNamespace), false); err == nil || w.updates() > 0 {
			t.Errorf("%s: restored %+v, %v", request, got, err)
		}
	}
	w.fault = func(got string) error {
		if got == "update httpproxies a" {
			return apierrors.NewConflict(proxies.GroupResource(), "a", errors.New("it changed"))
		}
		return nil
	}
	got, err := w.references.Restore(t.Context(), us(adminNamespace), false)
	if err != nil || len(got) != 1 || got[0].Err == nil || !strings.Contains(got[0].Err.Error(), "run the command again") || w.services("shop", "a") != "own" {
		t.Errorf("restored %+v, %v", got, err)
	}
}

// TestRestoreDuringMaintenanceOfAnotherBackend checks that a restoration succeeds even if maintenance hands back the fields of the
// restored route first.
func TestRestoreDuringMaintenanceOfAnotherBackend(t *testing.T) {
	w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), service("shop", "own", ""))
	w.proxy("shop", "a", "us-web", "own")
	if _, err := w.references.Remove(t.Context(), us(adminNamespace)); err != nil {
		t.Fatal(err)
	}
	route := w.get(proxies, "shop", "a")
	route.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: drain.Manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: route.GetAPIVersion(), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:routes":{}}}`),
	}})
	if _, err := w.references.Routes.Resource(proxies).Namespace("shop").Update(t.Context(), route, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	updates := 0
	w.fault = func(got string) error {
		if got == "update httpproxies a" {
			if updates++; updates == 2 {
				return apierrors.NewConflict(proxies.GroupResource(), "a", errors.New("it changed"))
			}
		}
		return nil
	}
	got, err := w.references.Restore(t.Context(), us(adminNamespace), false)
	if err != nil || len(got) != 1 || got[0].Err != nil || len(got[0].Elements) == 0 || updates != 2 {
		t.Errorf("restored %+v with %d updates, %v", got, updates, err)
	}
}
