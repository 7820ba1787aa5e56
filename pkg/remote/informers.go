// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Object is a kind of API object, as a pointer, that has a form in protobuf.
type Object interface {
	runtime.Object
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal(text []byte) error
}

// Informers are caches of one kind of objects, of all namespaces or of some. They live as long as the context of Run. Objects are
// kept as bytes: a struct of the API has room for every field of an object, and the cached part has few.
type Informers[T Object] struct {
	kind        Kind[T]
	source      Source
	byNamespace map[string]*store[T]
}

// Source lists and watches the objects of one kind in a namespace, or in all when it is "".
type Source func(namespace string) cache.ListerWatcher

// Kind specifies how the objects of a kind are cached, and who is notified of them. The functions that notify may be nil. They are
// called, one after the other for each namespace, when something changed that the cache has already.
type Kind[T Object] struct {
	// Example is an empty object.
	Example T
	// Trim returns what is kept of an object, and must not change the object.
	Trim func(T) T
	// Shorten gives an object that Trim has returned a form that takes less room in the cache, and Expand reverses that. Both may be
	// nil.
	Shorten, Expand func(T)
	// Index returns the value under which Indexed finds an object, "" for none. It may be nil.
	Index func(T) string
	// Set is called for an object that is new or has changed.
	Set func(T)
	// Changed is called before Set for an object that was there before.
	Changed func(before, now T)
	// Deleted is called for an object that is there no more. watched reports that the server reported its deletion; otherwise it is
	// missing in a listing.
	Deleted func(object T, watched bool)
}

// NewInformers returns caches of the objects of some namespaces, of all when there are none given.
func NewInformers[T Object](namespaces []string, source Source, kind Kind[T]) *Informers[T] {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	informers := &Informers[T]{kind: kind, source: source, byNamespace: map[string]*store[T]{}}
	for _, namespace := range namespaces {
		informers.byNamespace[namespace] = newStore(kind)
	}
	return informers
}

// Run fills the caches and keeps them up to date until ctx is done.
func (i *Informers[T]) Run(ctx context.Context) {
	var group sync.WaitGroup
	for namespace, store := range i.byNamespace {
		options := cache.ReflectorOptions{Name: fmt.Sprintf("%T", i.kind.Example)}
		reflector := cache.NewReflectorWithOptions(i.source(namespace), i.kind.Example, store, options)
		group.Go(func() { reflector.RunWithContext(ctx) })
	}
	group.Wait()
}

// Synced reports whether all that is there was listed once and notified of.
func (i *Informers[T]) Synced() bool {
	for _, store := range i.byNamespace {
		if !store.Synced() {
			return false
		}
	}
	return true
}

// Get returns an object and whether it is there.
func (i *Informers[T]) Get(namespace, name string) (T, bool) {
	if store := i.of(namespace); store != nil {
		return store.get(types.NamespacedName{Namespace: namespace, Name: name})
	}
	var none T
	return none, false
}

// Indexed returns the objects of a namespace that the index has under a value.
func (i *Informers[T]) Indexed(namespace, value string) []T {
	if store := i.of(namespace); store != nil {
		return store.indexed(value)
	}
	return nil
}

// Keys returns the namespaces and names of all objects.
func (i *Informers[T]) Keys() []types.NamespacedName {
	var keys []types.NamespacedName
	for _, store := range i.byNamespace {
		keys = append(keys, store.keys()...)
	}
	return keys
}

// Each calls a function for every object.
func (i *Informers[T]) Each(do func(T)) {
	for _, store := range i.byNamespace {
		for _, key := range store.keys() {
			if object, ok := store.get(key); ok {
				do(object)
			}
		}
	}
}

func (i *Informers[T]) of(namespace string) *store[T] {
	if store := i.byNamespace[metav1.NamespaceAll]; store != nil {
		return store
	}
	return i.byNamespace[namespace]
}

// Lister is a typed client of one kind in one namespace.
type Lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// pageSize is how many objects one request of EachPage returns.
const pageSize = 500

// EachPage lists in pages, and calls a function for each.
func EachPage[L interface {
	runtime.Object
	metav1.ListInterface
}](ctx context.Context, lister Lister[L], options metav1.ListOptions, do func(L)) error {
	for options.Limit = pageSize; ; {
		list, err := lister.List(ctx, options)
		if err != nil {
			return err
		}
		do(list)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// From returns where the objects come from that selectors select: those of a typed client for each namespace. client is what it
// belongs to; one that is made for tests reports about itself that its watches do not begin with what is there.
func From[C Lister[L], L runtime.Object](client any, selected metav1.ListOptions, typed func(namespace string) C) Source {
	return func(namespace string) cache.ListerWatcher {
		typed := typed(namespace)
		return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.LabelSelector, options.FieldSelector = selected.LabelSelector, selected.FieldSelector
				return typed.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.LabelSelector, options.FieldSelector = selected.LabelSelector, selected.FieldSelector
				return typed.Watch(ctx, options)
			},
		}, client)
	}
}

// EndpointSlices returns where the EndpointSlices come from that a label selector selects, by a clientset of Kubernetes.
// It does not name the type of the clientset, which would bring all kinds into programs that need few.
func EndpointSlices[G interface{ EndpointSlices(namespace string) C }, C Lister[*discoveryv1.EndpointSliceList]](
	clientset interface{ DiscoveryV1() G }, selector string,
) Source {
	return From(clientset, metav1.ListOptions{LabelSelector: selector}, clientset.DiscoveryV1().EndpointSlices)
}
