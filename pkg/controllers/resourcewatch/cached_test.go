// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	clientgotesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// leaf is a tree in the form in which the cache of these tests stores it.
type leaf struct{ metav1.ObjectMeta }

func leafMetadata(object any) metav1.Object {
	if leaf, ok := object.(*leaf); ok {
		return &leaf.ObjectMeta
	}
	return nil
}

// grove is a cache of all trees.
type grove struct {
	*Cached
	informer cache.SharedIndexInformer
	lists    atomic.Int32
	// fault, if not nil, is the error of lists.
	fault atomic.Pointer[error]
}

// newGrove creates a cache of a cluster and does not start it.
func newGrove(t *testing.T, c *cluster) *grove {
	t.Helper()
	g := &grove{Cached: NewCached(trees, &metav1.PartialObjectMetadata{}, leafMetadata)}
	objects := c.metadata.Resource(trees.WithVersion("v1"))
	from := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			g.lists.Add(1)
			if fault := g.fault.Load(); fault != nil {
				return nil, *fault
			}
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	}, c.metadata)
	g.informer = NewInformer(g.Cached)(from, &metav1.PartialObjectMetadata{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := g.informer.SetTransform(func(object any) (any, error) {
		if tree, ok := object.(*metav1.PartialObjectMetadata); ok {
			return &leaf{tree.ObjectMeta}, nil
		}
		return object, nil
	}); err != nil {
		t.Fatal(err)
	}
	c.source.Cached = []*Cached{g.Cached}
	return g
}

// run starts the cache and stops it when the test ends.
func (g *grove) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// A resource of a cache is read from that cache, with the same results as from a dedicated watch, and is not listed again.
func TestFindReadsCachedResources(t *testing.T) {
	c := newCluster(t, tree("a", "oak"), tree("a", "elm"), tree("b", "oak"))
	g := newGrove(t, c)
	g.run(t)
	c.run(t)
	c.settled(t)
	reader := c.Watched()
	for _, test := range []struct {
		query Query
		want  []string
	}{
		{Query{}, []string{"a/elm", "a/oak", "b/oak"}},
		{Query{Namespace: "a"}, []string{"a/elm", "a/oak"}},
		{Query{Namespace: "a", Name: "oak"}, []string{"a/oak"}},
		{Query{Namespace: "c"}, nil},
		{Query{Namespace: "a", Name: "ash"}, nil},
		{Query{Namespace: "b", Any: true}, []string{"b/oak"}},
	} {
		if diff := cmp.Diff(test.want, names(t, reader, trees, test.query)); diff != "" {
			t.Errorf("%+v:\n%s", test.query, diff)
		}
	}
	if got := names(t, reader, trees, Query{Any: true}); len(got) != 1 {
		t.Errorf("objects of a query with Any = %q, want one", got)
	}
	found, err := reader.Find(t.Context(), trees, Query{Namespace: "b"})
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	whole := named("b", "oak")
	want := Identity{
		Namespace: whole.Namespace, Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion,
		Generation: whole.Generation, CreationTimestamp: whole.CreationTimestamp,
	}
	if diff := cmp.Diff(want, found[0].Identity); diff != "" || found[0].Value != "b" {
		t.Errorf("it has %v and\n%s", found[0].Value, diff)
	}
	if lists := g.lists.Load(); lists != 1 {
		t.Errorf("the cache listed %d times", lists)
	}
	watches := slices.DeleteFunc(c.metadata.Actions(), func(action clientgotesting.Action) bool { return !action.Matches("watch", trees.Resource) })
	if len(watches) != 1 {
		t.Errorf("the Set watches %d resources", len(watches))
	}
}

// Subscribers get the same events for cached resources as for others.
func TestSubscribeToCachedResources(t *testing.T) {
	c := newCluster(t, tree("a", "oak"))
	g := newGrove(t, c)
	g.run(t)
	subscribers := make(chan string, 100)
	notify := func(e Event) {
		version := func(object *Object) string {
			if object == nil {
				return ""
			}
			return fmt.Sprintf("%s/%s@%s", object.Namespace, object.Name, object.ResourceVersion)
		}
		subscribers <- fmt.Sprintf("%s -> %s %t", version(e.Old), version(e.New), e.Initial)
	}
	next := func(want string) {
		t.Helper()
		select {
		case got := <-subscribers:
			if got != want {
				t.Errorf("notified %q, want %q", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%q was not notified", want)
		}
	}
	c.Subscribe(notify, trees)
	c.run(t)
	c.settled(t)
	next(" -> a/oak@7 true")
	tracker, resource := c.metadata.Tracker(), trees.WithVersion("v1")
	elm := tree("a", "elm")
	if err := tracker.Create(resource, elm, "a"); err != nil {
		t.Fatal(err)
	}
	next(" -> a/elm@7 false")
	same := elm.DeepCopy()
	if err := tracker.Update(resource, same, "a"); err != nil { // an unchanged object
		t.Fatal(err)
	}
	changed := elm.DeepCopy()
	changed.ResourceVersion = "8"
	if err := tracker.Update(resource, changed, "a"); err != nil {
		t.Fatal(err)
	}
	next("a/elm@7 -> a/elm@8 false")
	if err := tracker.Delete(resource, "a", "elm"); err != nil {
		t.Fatal(err)
	}
	next("a/elm@8 ->  false")

	// While the kind is not served, no events are reported, regardless of the cache.
	c.serve(trees, false)
	if got := names(t, c.Watched(), trees, Query{}); got != nil {
		t.Errorf("objects of a kind that is no longer served = %q, want none", got)
	}
	g.requests.mu.Lock()
	if g.requests.failed != nil {
		t.Error("a stopped Set is notified of failures")
	}
	g.requests.mu.Unlock()
	ash := tree("a", "ash")
	if err := tracker.Create(resource, ash, "a"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return len(g.informer.GetStore().ListKeys()) == 2 })
	c.serve(trees, true)
	c.settled(t)
	back := []string{<-subscribers, <-subscribers}
	slices.Sort(back)
	if diff := cmp.Diff([]string{" -> a/ash@7 true", " -> a/oak@7 true"}, back); diff != "" {
		t.Error(diff)
	}
}

// A reader returns an error before the cache has synced and after its list or watch failed.
func TestFindFailsWithTheCache(t *testing.T) {
	c := newCluster(t, tree("a", "oak"))
	g := newGrove(t, c)
	problem := func(want string) {
		t.Helper()
		eventually(t, func() bool {
			_, err := c.Watched().Find(t.Context(), trees, Query{})
			return err != nil && err.Error() == want
		})
	}
	c.run(t)
	problem("not all trees.example.com are known yet")
	rejected := errors.New("trees is forbidden")
	g.fault.Store(&rejected)
	g.run(t)
	problem("list trees.example.com: trees is forbidden")
	if pause := <-c.checks; pause != retryPeriod {
		t.Errorf("interval until the next check = %s, want %s", pause, retryPeriod)
	}
	g.fault.Store(nil)
	c.settled(t)
	if got := names(t, c.Watched(), trees, Query{}); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

// A failed request of a cache is reported, and triggers a check of discovery.
func TestFailedRequestOfACacheTriggersDiscovery(t *testing.T) {
	c := newCluster(t)
	g := newGrove(t, c)
	g.run(t)
	c.run(t)
	c.settled(t)
	eventually(t, func() bool { return <-c.checks == time.Minute })
	watching, cancel := context.WithCancel(t.Context())
	for _, test := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{watching, nil, ""},
		{watching, errors.New("deleted"), "watch trees.example.com: deleted"},
		{watching, nil, ""},
	} {
		from := g.requests.noted(&cache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
			return apiwatch.NewFake(), test.err
		}})
		if _, err := from.WatchWithContext(test.ctx, metav1.ListOptions{}); !errors.Is(err, test.err) {
			t.Errorf("error of the request = %v", err)
		}
		got := ""
		if err := g.requests.problem(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("problem after error %v = %q", test.err, got)
		}
	}
	eventually(t, func() bool { return <-c.checks == retryPeriod })
	// A canceled request is not a failure.
	cancel()
	if err := g.requests.note(watching, "list", errors.New("canceled")); err == nil || g.requests.problem() != nil {
		t.Errorf("problem after a canceled request: %v, want none", g.requests.problem())
	}
}

// A Set creates an informer if the cache has none for the resource.
func TestSetWatchesUncachedResources(t *testing.T) {
	c := newCluster(t, tree("a", "oak"))
	c.source.Cached = []*Cached{NewCached(trees, &metav1.PartialObjectMetadata{}, leafMetadata)}
	c.run(t)
	c.settled(t)
	if got := names(t, c.Watched(), trees, Query{}); !slices.Equal(got, []string{"a/oak"}) {
		t.Errorf("got %q", got)
	}
}

// Kinds with Value or Indexes are not read from a cache.
func TestSourceCached(t *testing.T) {
	inCache := func(resource schema.GroupResource) *Cached {
		c := NewCached(resource, &metav1.PartialObjectMetadata{}, leafMetadata)
		NewInformer(c)(&cache.ListWatch{}, &metav1.PartialObjectMetadata{}, 0, nil)
		return c
	}
	source := Source{Cached: []*Cached{inCache(gardens), inCache(trees)}}
	for name, test := range map[string]struct {
		kind Kind
		want bool
	}{
		"bare":        {Kind{GroupResource: trees}, true},
		"metadata":    {Kind{GroupResource: trees, Metadata: func(metav1.Object) any { return nil }}, true},
		"a value":     {Kind{GroupResource: trees, Value: func(map[string]any) any { return nil }}, false},
		"an index":    {Kind{GroupResource: trees, Indexes: map[string]func(*Object) []string{"tree": nil}}, false},
		"not cached":  {Kind{GroupResource: hedges}, false},
		"another one": {Kind{GroupResource: gardens}, true},
		"other group": {Kind{GroupResource: schema.GroupResource{Group: "example.org", Resource: trees.Resource}}, false},
	} {
		cached, informer := source.cached(&test.kind)
		if got := informer != nil; got != test.want || got && cached.requests.resource != test.kind.GroupResource {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// NewInformer registers only the informers of the given resources.
func TestNewInformer(t *testing.T) {
	c := NewCached(trees, &metav1.PartialObjectMetadata{}, leafMetadata)
	newInformer := NewInformer(c)
	newInformer(&cache.ListWatch{}, &metav1.PartialObjectMetadataList{}, 0, nil)
	if c.get() != nil {
		t.Error("an informer of another type is registered for trees")
	}
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	if informer := newInformer(&cache.ListWatch{}, &metav1.PartialObjectMetadata{}, 0, indexers); c.get() != informer || len(informer.GetIndexer().GetIndexers()) != 1 {
		t.Error("the informer of trees is not registered")
	}
}
