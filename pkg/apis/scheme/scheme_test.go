// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// kinds returns the four kinds, sorted by group.
func kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		gardenerv1beta1.SchemeGroupVersion.WithKind("Project"),
		gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackend"),
		kubernikusv1.SchemeGroupVersion.WithKind("Kluster"),
		midonetv1.SchemeGroupVersion.WithKind("Translation"),
	}
}

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}

// newServerScheme returns the scheme of the API server, in which each type is also its internal version.
func newServerScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := newScheme(t)
	AddHubToScheme(scheme)
	return scheme
}

// Groups, versions and kinds are part of the API and equal to those of the upstream systems.
func TestNames(t *testing.T) {
	want := []string{
		"core.gardener.cloud/v1beta1, Kind=Project", "gimbal.heptio.com/v1, Kind=DiscoveryBackend",
		"kubernikus.sap.cc/v1, Kind=Kluster", "midonet.org/v1, Kind=Translation",
	}
	for i, kind := range kinds() {
		if kind.String() != want[i] {
			t.Errorf("kind = %s, want %s", kind, want[i])
		}
	}
}

func TestHub(t *testing.T) {
	versions, server := newScheme(t), newServerScheme(t)
	for _, kind := range kinds() {
		for _, name := range []string{kind.Kind, kind.Kind + "List"} {
			version, hub := kind.GroupVersion().WithKind(name), schema.GroupVersionKind{Group: kind.Group, Version: runtime.APIVersionInternal, Kind: name}
			if !versions.Recognizes(version) || versions.Recognizes(hub) {
				t.Errorf("scheme of clients: recognizes %s = %v, its internal version = %v, want true, false", version, versions.Recognizes(version), versions.Recognizes(hub))
			}
			if !server.Recognizes(version) || !server.Recognizes(hub) {
				t.Errorf("scheme of the server: recognizes %s = %v, its internal version = %v, want true, true", version, server.Recognizes(version), server.Recognizes(hub))
				continue
			}
			if got, want := server.AllKnownTypes()[hub], server.AllKnownTypes()[version]; got != want {
				t.Errorf("internal version of %s = %v, want %v", version, got, want)
			}
		}
	}
}

// All registered kinds are covered by the tests of this file.
func TestAllKindsAreTested(t *testing.T) {
	known := map[schema.GroupVersionKind]bool{}
	for _, kind := range kinds() {
		known[kind] = true
	}
	for kind, goType := range newScheme(t).AllKnownTypes() {
		object, ok := reflect.New(goType).Interface().(runtime.Object)
		if !ok || kind.Group == "" {
			continue
		}
		if _, isObject := object.(metav1.Object); isObject && !known[kind] {
			t.Errorf("%s is registered, but is not in kinds()", kind)
		}
	}
}
