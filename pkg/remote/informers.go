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

// Object is a kind of API object, as a pointer.
type Object interface {
	runtime.Object
	metav1.Object
}

// Informers are caches of one kind of objects, of all namespaces or of some. They live as long as the context of Run. Objects are
// kept as bytes: a struct of the API has room for every field of an object, and the cached part has few.
type Informers[T Object] struct {
	example     T
	source      Source
	byNamespace map[string]*store[T]
}

// Source lists and watches the objects of one kind in a namespace, or in all when it is "".
type Source func(namespace string) cache.ListerWatcher

// NewInformers returns caches of the objects of some namespaces, of all when there are none given. The example is an
// empty object. trim returns what is kept of an object; it must not change the object. index returns the value under
// which Indexed finds an object, "" for none; it may be nil. An error is a programming error.
func NewInformers[T Object](namespaces []string, source Source, example T, trim func(T) T, index func(T) string) (*Informers[T], error) {
	coder, err := newCoder(example, trim, index)
	if err != nil {
		return nil, err
	}
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	informers := &Informers[T]{example: example, source: source, byNamespace: map[string]*store[T]{}}
	for _, namespace := range namespaces {
		informers.byNamespace[namespace] = newStore(coder)
	}
	return informers, nil
}

// Handlers are called, one after the other for each namespace, when something changed. The cache has it already.
type Handlers[T Object] struct {
	// Set is called for an object that is new or has changed.
	Set func(T)
	// Changed is called before Set for an object that was there before. It may be nil.
	Changed func(before, now T)
	// Deleted is called for an object that is there no more. watched reports that the server reported its deletion; otherwise it is
	// missing in a listing.
	Deleted func(object T, watched bool)
}

// Handle registers handlers, before Run. The returned function reports whether they were called for all objects that existed
// initially. An error is a programming error.
func (i *Informers[T]) Handle(handlers Handlers[T]) (synced func() bool, err error) {
	for _, store := range i.byNamespace {
		if store.Synced() {
			return nil, fmt.Errorf("handlers of %T: they would not be called for what is there already", i.example)
		}
		store.handlers = append(store.handlers, handlers)
	}
	return i.Synced, nil
}

// Run fills the caches and keeps them up to date until ctx is done.
func (i *Informers[T]) Run(ctx context.Context) {
	var group sync.WaitGroup
	for namespace, store := range i.byNamespace {
		reflector := cache.NewReflectorWithOptions(i.source(namespace), i.example, store, cache.ReflectorOptions{Name: fmt.Sprintf("%T", i.example)})
		group.Go(func() { reflector.RunWithContext(ctx) })
	}
	group.Wait()
}

// Synced reports whether all that is there was listed once, and the handlers were called for it.
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
