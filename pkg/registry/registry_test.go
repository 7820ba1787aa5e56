// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"groundskeeper.io/groundskeeper/pkg/registry"
	"groundskeeper.io/groundskeeper/pkg/registry/gardener/project"
)

func TestEndpoints(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		if got := slices.Sorted(maps.Keys(kind.endpoints)); !slices.Equal(got, []string{kind.resource, kind.resource + "/status"}) {
			t.Fatalf("endpoints %v", got)
		}
		objects, status := kind.endpoints[kind.resource].(rest.StandardStorage), kind.endpoints[kind.resource+"/status"]
		good := reflect.TypeOf(kind.good())
		if got := []reflect.Type{reflect.TypeOf(objects.New()), reflect.TypeOf(status.New())}; got[0] != good || got[1] != good {
			t.Errorf("new objects are %v", got)
		}
		if got, want := reflect.TypeOf(objects.NewList()), reflect.TypeOf(kind.list); got != want {
			t.Errorf("a new list is a %v, want %v", got, want)
		}
		singular := objects.(rest.SingularNameProvider).GetSingularName()
		if want := strings.ToLower(good.Elem().Name()); singular != want || kind.resource != want+"s" {
			t.Errorf("names %s and %s, want %s and %ss", singular, kind.resource, want, want)
		}
		if got := objects.(rest.Scoper).NamespaceScoped(); got != kind.namespaced {
			t.Errorf("namespaced = %v", got)
		}
		if want := (schema.GroupResource{Group: kind.version.Group, Resource: kind.resource}); kind.store.DefaultQualifiedResource != want {
			t.Errorf("stored as %v, want %v", kind.store.DefaultQualifiedResource, want)
		}
		status.Destroy() // must leave the store of the objects alone
		if _, ok := status.(rest.Creater); ok {
			t.Error("a status can be created")
		}
		if _, ok := status.(rest.GracefulDeleter); ok {
			t.Error("a status can be deleted")
		}
	})
}

func TestNamesOnTheCommandLine(t *testing.T) {
	type names struct{ Short, Categories []string }
	want := map[string]names{
		"projects":          {nil, []string{"groundskeeper"}},
		"klusters":          {[]string{"kl"}, []string{"all", "groundskeeper"}},
		"translations":      {[]string{"tr"}, []string{"groundskeeper"}},
		"discoverybackends": {[]string{"dbe"}, []string{"all", "groundskeeper"}},
	}
	got, taken := map[string]names{}, map[string]string{}
	forEach(t, func(t *testing.T, kind served) {
		short := kind.endpoints[kind.resource].(rest.ShortNamesProvider).ShortNames()
		got[kind.resource] = names{short, kind.endpoints[kind.resource].(rest.CategoriesProvider).Categories()}
		for _, name := range short {
			if other, twice := taken[name]; twice {
				t.Errorf("%s is short for %s and %s", name, other, kind.resource)
			}
			taken[name] = kind.resource
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// predicate returns what a list with a field selector queries the storage for.
func (s served) predicate(t *testing.T, selector string) storage.SelectionPredicate {
	t.Helper()
	field, err := fields.ParseSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.store.PredicateFunc(labels.Everything(), field)
}

func TestFieldSelectors(t *testing.T) {
	for resource, selectors := range map[string][]string{
		"projects":          {"metadata.name=dev", "spec.namespace=garden-dev-a3a8e"},
		"klusters":          {"metadata.name=demo", "metadata.namespace=garden-dev", "status.phase=Running", "status.identity.clusterID=uid-of-kube-system"},
		"translations":      {"metadata.name=pod.4.web-0", "metadata.namespace=default"},
		"discoverybackends": {"metadata.name=us-east", "metadata.namespace=gimbal-discovery", "cluster.type=kubernetes", "cluster.clusterStatus=Enabled", "status.identity.clusterID=uid-of-kube-system"},
	} {
		forEach(t, func(t *testing.T, kind served) {
			if kind.resource != resource {
				return
			}
			o := kind.stored(t)
			kind.observe(o)
			var served []string
			for _, selector := range selectors {
				predicate := kind.predicate(t, selector)
				if match, err := predicate.Matches(o); err != nil || !match {
					t.Errorf("%s does not find the object: %v", selector, err)
				}
				other := kind.predicate(t, selector+"x")
				if match, err := other.Matches(o); err != nil || match {
					t.Errorf("%sx finds the object: %v", selector, err)
				}
				field, _, _ := strings.Cut(selector, "=")
				served = append(served, field)
				kinds, _, err := newScheme(t).ObjectKinds(o)
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := newScheme(t).ConvertFieldLabel(kinds[0], field, "x"); err != nil {
					t.Errorf("the scheme does not let %s through: %v", field, err)
				}
			}
			_, set, err := kind.predicate(t, "").GetAttrs(o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(served)), slices.Sorted(maps.Keys(set))); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelSelectors(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		o := kind.stored(t)
		o.SetLabels(map[string]string{"a": "b"})
		for selector, want := range map[string]bool{"a=b": true, "a=c": false, "!a": false} {
			label, err := labels.Parse(selector)
			if err != nil {
				t.Fatal(err)
			}
			predicate := kind.store.PredicateFunc(label, fields.Everything())
			if match, err := predicate.Matches(o); err != nil || match != want {
				t.Errorf("%s finds the object: %v, %v; want %v", selector, match, err, want)
			}
		}
	})
}

// TestIndexes checks that the predicate uses each index, because every list would check every object otherwise.
func TestIndexes(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		switch kind.resource {
		case "projects":
		case "klusters", "discoverybackends":
			// An empty value is that of those whose cluster is unknown.
			for _, value := range []string{"uid", ""} {
				want := []storage.MatchValue{{IndexName: "f:status.identity.clusterID", Value: value}}
				predicate := kind.predicate(t, "status.identity.clusterID="+value)
				if diff := cmp.Diff(want, predicate.MatcherIndex(t.Context())); diff != "" {
					t.Errorf("indexes that a selector uses (-want +got):\n%s", diff)
				}
			}
			return
		default:
			if len(kind.indexers) != 0 {
				t.Errorf("indexes %v", kind.indexers)
			}
			return
		}
		predicate := kind.predicate(t, "spec.namespace=garden-dev")
		want := []storage.MatchValue{{IndexName: "f:spec.namespace", Value: "garden-dev"}}
		if diff := cmp.Diff(want, predicate.MatcherIndex(t.Context())); diff != "" {
			t.Errorf("indexes that a selector uses (-want +got):\n%s", diff)
		}
		index := kind.indexers["f:spec.namespace"]
		if index == nil || len(kind.indexers) != 1 {
			t.Fatalf("indexes %v, want f:spec.namespace alone", kind.indexers)
		}
		if values, err := index(kind.stored(t)); err != nil || !slices.Equal(values, []string{"garden-dev-a3a8e"}) {
			t.Errorf("indexed under %v, %v", values, err)
		}
		if _, err := index(&corev1.Pod{}); err == nil {
			t.Error("a Pod is indexed as a Project")
		}
	})
}

func TestOtherKindsAreRejected(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		if _, _, err := kind.predicate(t, "").GetAttrs(&corev1.Pod{}); err == nil || !strings.Contains(err.Error(), "*v1.Pod") || !strings.Contains(err.Error(), kind.resource) {
			t.Errorf("attributes: got %v, want an error that names both", err)
		}
		if _, err := kind.store.ConvertToTable(t.Context(), &corev1.Pod{}, nil); err == nil || !strings.Contains(err.Error(), "*v1.Pod") {
			t.Errorf("table: got %v, want an error that names it", err)
		}
	})
}

type noOptions struct{}

func (noOptions) GetRESTOptions(schema.GroupResource, runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{}, errors.New("etcd is unavailable")
}

func TestStorageFails(t *testing.T) {
	_, err := registry.NewStorage(project.Kind(), newScheme(t), noOptions{})
	if want := "create the store of projects.core.gardener.cloud: etcd is unavailable"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
