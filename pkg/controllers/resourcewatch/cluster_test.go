// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The kinds of these tests: a label of trees is cached, the tree of gardens, and hedges are watched while gardens are.
var (
	trees   = schema.GroupResource{Group: "example.com", Resource: "trees"}
	gardens = schema.GroupResource{Group: "example.com", Resource: "gardens"}
	hedges  = schema.GroupResource{Group: "example.com", Resource: "hedges"}
)

func testKinds() []Kind {
	return []Kind{
		{GroupResource: trees, Metadata: func(tree metav1.Object) any { return tree.GetLabels()["a"] }},
		{
			GroupResource: gardens, Versions: []string{"v1"},
			Value: func(content map[string]any) any {
				tree, _, _ := unstructured.NestedString(content, "spec", "tree")
				return tree
			},
			Indexes: map[string]func(*Object) []string{"tree": func(o *Object) []string { return []string{o.Value.(string)} }},
		},
		{GroupResource: hedges, While: []schema.GroupResource{gardens}},
	}
}

// cluster is a Set with a fake API server that serves the configured resources.
type cluster struct {
	*Set
	metadata *metadatafake.FakeMetadataClient
	dynamic  *fake.FakeDynamicClient
	time     *testclock.FakePassiveClock
	// checks receives the interval after each check of discovery; receiving it starts the next check.
	checks chan time.Duration

	mu          sync.Mutex
	served      map[schema.GroupResource]any // true, false or an error
	subscribers []string
	logged      []string
}

func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var whole, bare []runtime.Object
	for _, object := range objects {
		if u, ok := object.(*unstructured.Unstructured); ok {
			whole = append(whole, u)
		} else {
			bare = append(bare, object)
		}
	}
	c := &cluster{
		metadata: metadatafake.NewSimpleMetadataClient(scheme, bare...),
		dynamic:  fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{gardens.WithVersion("v1"): "GardenList"}, whole...),
		time:     testclock.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)),
		checks:   make(chan time.Duration),
		served:   map[schema.GroupResource]any{trees: true, gardens: true, hedges: true},
	}
	c.Set = NewSet(c.find, Source{Metadata: c.metadata, Dynamic: c.dynamic}, c.time, time.Minute, testKinds()...)
	c.after = func(pause time.Duration) <-chan time.Time {
		over := make(chan time.Time, 1)
		go func() {
			select {
			case c.checks <- pause:
				over <- time.Time{}
			case <-t.Context().Done():
			}
		}()
		return over
	}
	return c
}

func (c *cluster) find(_ context.Context, kind *Kind) (*schema.GroupVersionResource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch response := c.served[kind.GroupResource].(type) {
	case error:
		return nil, response
	case bool:
		if response {
			return new(kind.WithVersion("v1")), nil
		}
	}
	return nil, nil
}

// serve configures whether a kind is served, or the error of its discovery, and waits for a check.
func (c *cluster) serve(resource schema.GroupResource, response any) {
	c.mu.Lock()
	c.served[resource] = response
	c.mu.Unlock()
	// The second of two checks started after the change.
	<-c.checks
	<-c.checks
}

// run starts the Set and stops it when the test ends.
func (c *cluster) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(log.IntoContext(context.Background(), funcr.New(func(_, args string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.logged = append(c.logged, args)
	}, funcr.Options{})))
	var group sync.WaitGroup
	group.Go(func() {
		if err := c.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); group.Wait() })
}

// settled waits until the state of all kinds is known.
func (c *cluster) settled(t *testing.T) {
	t.Helper()
	if err := c.Settled(t.Context(), trees, gardens, hedges); err != nil {
		t.Fatal(err)
	}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1", ResourceVersion: "7", Generation: 3, Labels: map[string]string{"a": "b"}}
}

func tree(namespace, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Tree"}, ObjectMeta: named(namespace, name)}
}

func garden(namespace, name, tree string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"tree": tree, "more": "that is not kept"}}}
	object.SetAPIVersion("example.com/v1")
	object.SetKind("Garden")
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// names returns the names of the objects that a reader finds.
func names(t *testing.T, reader Reader, resource schema.GroupResource, query Query) []string {
	t.Helper()
	found, err := reader.Find(t.Context(), resource, query)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, object := range found {
		all = append(all, object.Namespace+"/"+object.Name)
	}
	slices.Sort(all)
	return all
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("timed out")
		}
	}
}
