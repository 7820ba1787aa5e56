// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Object is a kind of API object, as a pointer.
type Object interface {
	runtime.Object
	metav1.Object
}

// Informers are caches of one kind of objects, of all namespaces or of some. They live as long as the context of Run.
type Informers[T Object] struct {
	byNamespace map[string]cache.SharedIndexInformer
}

// Source lists and watches the objects of one kind in a namespace, or in all when it is "".
type Source func(namespace string) cache.ListerWatcher

// NewInformers returns caches of the objects of some namespaces, of all when there are none given. trim returns what is
// kept of an object; it must not change the object.
func NewInformers[T Object](namespaces []string, source Source, example T, trim func(T) T, indexers cache.Indexers) (*Informers[T], error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	informers := &Informers[T]{byNamespace: map[string]cache.SharedIndexInformer{}}
	for _, namespace := range namespaces {
		informer := cache.NewSharedIndexInformer(source(namespace), example, 0, indexers)
		err := informer.SetTransform(func(object any) (any, error) {
			if typed, ok := object.(T); ok {
				return trim(typed), nil
			}
			return object, nil
		})
		if err != nil {
			return nil, fmt.Errorf("transform %T: %w", example, err)
		}
		informers.byNamespace[namespace] = informer
	}
	return informers, nil
}

// Handlers are called, one after the other for each namespace, when something changed.
type Handlers[T Object] struct {
	// Set is called for an object that is new or has changed.
	Set func(T)
	// Gone is called for an object that is there no more. watched says that the server told of its deletion; otherwise
	// it is missing in a listing.
	Gone func(object T, watched bool)
}

// Handle makes the handlers be called. The returned function says whether they were called for all that was there in
// the beginning.
func (i *Informers[T]) Handle(handlers Handlers[T]) (synced func() bool, err error) {
	var registrations []cache.ResourceEventHandlerRegistration
	for _, informer := range i.byNamespace {
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { handlers.Set(object.(T)) },
			UpdateFunc: func(before, now any) {
				if version := now.(T).GetResourceVersion(); version == "" || version != before.(T).GetResourceVersion() {
					handlers.Set(now.(T))
				}
			},
			DeleteFunc: func(object any) {
				if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
					if last, ok := unknown.Obj.(T); ok {
						handlers.Gone(last, false)
					}
					return
				}
				handlers.Gone(object.(T), true)
			},
		})
		if err != nil {
			return nil, fmt.Errorf("add an event handler: %w", err)
		}
		registrations = append(registrations, registration)
	}
	return func() bool {
		return !slices.ContainsFunc(registrations, func(r cache.ResourceEventHandlerRegistration) bool { return !r.HasSynced() })
	}, nil
}

// Run fills the caches and keeps them up to date until ctx is done.
func (i *Informers[T]) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, informer := range i.byNamespace {
		group.Go(func() { informer.RunWithContext(ctx) })
	}
	group.Wait()
}

// Synced says whether all that is there was listed once.
func (i *Informers[T]) Synced() bool {
	for _, informer := range i.byNamespace {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// Get returns an object, which must not be changed, and whether it is there.
func (i *Informers[T]) Get(namespace, name string) (T, bool) {
	var none T
	informer := i.of(namespace)
	if informer == nil {
		return none, false
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	object, exists, err := informer.GetIndexer().GetByKey(key)
	if err != nil || !exists {
		return none, false
	}
	return object.(T), true
}

// Indexed returns the objects of a namespace that an index has under a value.
func (i *Informers[T]) Indexed(namespace, index, value string) ([]T, error) {
	informer := i.of(namespace)
	if informer == nil {
		return nil, nil
	}
	objects, err := informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", index, err)
	}
	typed := make([]T, 0, len(objects))
	for _, object := range objects {
		typed = append(typed, object.(T))
	}
	return typed, nil
}

// Each calls a function for every object.
func (i *Informers[T]) Each(do func(T)) {
	for _, informer := range i.byNamespace {
		for _, object := range informer.GetStore().List() {
			do(object.(T))
		}
	}
}

func (i *Informers[T]) of(namespace string) cache.SharedIndexInformer {
	if informer := i.byNamespace[metav1.NamespaceAll]; informer != nil {
		return informer
	}
	return i.byNamespace[namespace]
}
