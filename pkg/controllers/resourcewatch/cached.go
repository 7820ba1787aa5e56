// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// Cached is a resource that another cache of this process may contain completely. A Set then uses the informer of that cache instead of
// watching and storing the objects, of which there may be 100,000, a second time.
type Cached struct {
	example  reflect.Type
	metadata func(object any) metav1.Object
	requests requests

	mu       sync.Mutex
	informer cache.SharedIndexInformer
}

// NewCached returns a Cached resource. The example has the type with which the cache creates its informer. The metadata function returns
// the metadata of an object in the form in which the cache stores it, or nil for other objects. A Set uses the informer of the cache if
// that exists when the Set starts. Otherwise, and for kinds with Value, Typed or Indexes, the Set creates an informer.
func NewCached(resource schema.GroupResource, example runtime.Object, metadata func(object any) metav1.Object) *Cached {
	return &Cached{example: reflect.TypeOf(example), metadata: metadata, requests: requests{resource: resource}}
}

// NewInformer returns a replacement for cache.NewSharedIndexInformer that also registers the informers of the given resources, so that
// Sets can use them. The cache must contain all objects of these resources, in all namespaces.
func NewInformer(all ...*Cached) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	return func(from cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		for _, c := range all {
			if reflect.TypeOf(example) == c.example {
				noted := cache.ToListWatcherWithWatchListSemantics(c.requests.noted(cache.ToListerWatcherWithContext(from)), from)
				return c.set(cache.NewSharedIndexInformer(noted, example, resync, indexers))
			}
		}
		return cache.NewSharedIndexInformer(from, example, resync, indexers)
	}
}

func (c *Cached) set(informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.informer = informer
	return informer
}

func (c *Cached) get() cache.SharedIndexInformer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.informer
}

// cached returns the Cached resource of a kind and its informer, or nil.
func (s Source) cached(kind *Kind) (*Cached, cache.SharedIndexInformer) {
	if kind.isWhole() || len(kind.Indexes) > 0 {
		return nil, nil
	}
	for _, c := range s.Cached {
		if c.requests.resource == kind.GroupResource {
			return c, c.get()
		}
	}
	return nil, nil
}
