// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgotesting "k8s.io/client-go/testing"
)

// The readers of the watches and of the API server return the same objects.
func TestFind(t *testing.T) {
	c := newCluster(t, tree("a", "oak"), tree("a", "elm"), tree("b", "oak"), garden("a", "g", "oak"), garden("b", "h", "oak"), garden("b", "i", "elm"))
	c.run(t)
	c.settled(t)
	for name, reader := range map[string]Reader{"watched": c.Watched(), "live": c.Live(0)} {
		for _, test := range []struct {
			resource schema.GroupResource
			query    Query
			want     []string
		}{
			{trees, Query{}, []string{"a/elm", "a/oak", "b/oak"}},
			{trees, Query{Namespace: "a"}, []string{"a/elm", "a/oak"}},
			{trees, Query{Namespace: "a", Name: "oak"}, []string{"a/oak"}},
			{trees, Query{Namespace: "c"}, nil},
			{trees, Query{Namespace: "a", Name: "ash"}, nil},
			{gardens, Query{Index: "tree", Value: "oak"}, []string{"a/g", "b/h"}},
			{gardens, Query{Index: "tree", Value: "oak", Namespace: "b"}, []string{"b/h"}},
			{gardens, Query{Index: "tree", Value: "ash"}, nil},
			{hedges, Query{}, nil},
		} {
			if diff := cmp.Diff(test.want, names(t, reader, test.resource, test.query)); diff != "" {
				t.Errorf("%s, %s %+v:\n%s", name, test.resource, test.query, diff)
			}
		}
		if _, err := reader.Find(t.Context(), schema.GroupResource{Resource: "weeds"}, Query{}); err == nil {
			t.Errorf("%s: no error for a kind that is not in the Set", name)
		}
		found, err := reader.Find(t.Context(), gardens, Query{Namespace: "a"})
		if err != nil || len(found) != 1 || found[0].Value != "oak" {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		found, err = reader.Find(t.Context(), trees, Query{Namespace: "b"})
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		whole := named("b", "oak")
		want := Identity{
			Namespace: whole.Namespace, Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion,
			Generation: whole.Generation, CreationTimestamp: whole.CreationTimestamp,
		}
		if diff := cmp.Diff(want, found[0].Identity); diff != "" {
			t.Errorf("%s keeps:\n%s", name, diff)
		}
		subscribers, err := meta.Accessor(found[0])
		if err != nil || subscribers.GetNamespace() != "b" || subscribers.GetName() != "oak" || subscribers.GetUID() != whole.UID ||
			subscribers.GetResourceVersion() != whole.ResourceVersion || subscribers.GetGeneration() != whole.Generation || subscribers.GetCreationTimestamp() != whole.CreationTimestamp {
			t.Errorf("%s reports of %+v, error %v", name, subscribers, err)
		}
	}
}

// The results of an index are not compared with the index again, because computing it for a large object may be expensive.
func TestFindUsesIndex(t *testing.T) {
	c := newCluster(t, garden("a", "g", "oak"))
	var calls atomic.Int64
	tree := c.kinds[1].Indexes["tree"]
	c.kinds[1].Indexes["tree"] = func(object *Object) []string {
		calls.Add(1)
		return tree(object)
	}
	c.run(t)
	c.settled(t)
	before := calls.Load()
	if got := names(t, c.Watched(), gardens, Query{Index: "tree", Value: "oak"}); len(got) != 1 || calls.Load() != before {
		t.Errorf("found %q, and computed the index %d times", got, calls.Load()-before)
	}
}

// No part of a list is returned when one of its pages fails.
func TestFindFails(t *testing.T) {
	c := newCluster(t, tree("a", "oak"))
	c.run(t)
	c.settled(t)
	rejected := errors.New("refused")
	c.metadata.PrependReactor("list", "trees", func(clientgotesting.Action) (bool, runtime.Object, error) { return true, nil, rejected })
	if _, err := c.Live(0).Find(t.Context(), trees, Query{}); !errors.Is(err, rejected) || !strings.HasPrefix(err.Error(), "list trees.example.com: ") {
		t.Errorf("got %v", err)
	}
	c.serve(gardens, errors.New("discover example.com: 503"))
	for name, reader := range map[string]Reader{"watched": c.Watched(), "live": c.Live(0)} {
		if _, err := reader.Find(t.Context(), gardens, Query{}); err == nil || err.Error() != "discover example.com: 503" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if known, err := c.Known(trees, "a"); err != nil || len(known) != 1 {
		t.Errorf("Known = %v, %v, want the cached objects", known, err)
	}
	c.serve(gardens, true)
	c.settled(t)
}

// All pages are read, unless the query has Any.
func TestFindReadsAllPages(t *testing.T) {
	c := newCluster(t)
	count := 0
	c.dynamic.PrependReactor("list", "gardens", func(clientgotesting.Action) (bool, runtime.Object, error) {
		count++
		page := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*garden("a", fmt.Sprintf("g%d", count), "oak")}}
		page.SetAPIVersion("example.com/v1")
		page.SetKind("GardenList")
		if count < 3 {
			page.SetContinue(fmt.Sprint(count + 1))
		}
		return true, page, nil
	})
	if got := names(t, c.Live(0), gardens, Query{}); len(got) != 3 || count != 3 {
		t.Errorf("%d pages: %q", count, got)
	}
	count = 0
	if got := names(t, c.Live(0), gardens, Query{Any: true}); len(got) != 1 || count != 1 {
		t.Errorf("%d pages: %q", count, got)
	}
}

// The Metadata function of a kind is applied by the watch and by a live list.
func TestMetadataValue(t *testing.T) {
	c := newCluster(t, tree("a", "oak"))
	c.run(t)
	c.settled(t)
	for name, reader := range map[string]Reader{"watched": c.Watched(), "live": c.Live(0)} {
		found, err := reader.Find(t.Context(), trees, Query{})
		if err != nil || len(found) != 1 || found[0].Value != "b" || found[0].GetLabels() != nil {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}
