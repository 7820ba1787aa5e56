// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// Cached is a resource all of whose objects a cache of this process may have even so. Where there are 100,000, a Set need not watch
// and keep them a second time: it follows them in the informer of that cache.
type Cached struct {
	example  reflect.Type
	metadata func(object any) metav1.Object
	requests requests

	mu       sync.Mutex
	informer cache.SharedIndexInformer
}

// NewCached returns a resource whose objects are read from the cache as the example is. The function returns the metadata of an
// object as the cache keeps it, nil when it is no such object. A Set follows the resource in the cache when that has its informer
// before the Set starts; otherwise, and when a kind requests a Value or has Indexes, automatically.
func NewCached(resource schema.GroupResource, example runtime.Object, metadata func(object any) metav1.Object) *Cached {
	return &Cached{example: reflect.TypeOf(example), metadata: metadata, requests: requests{resource: resource}}
}

// NewInformer returns a function that makes the informers of a cache as cache.NewSharedIndexInformer does, and those of
// the resources so that Sets can follow them. That cache must have all objects of those, in all namespaces.
func NewInformer(all ...*Cached) func(from cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
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

// cached returns where a kind is in a cache, and the informer; nil when it is in none.
func (s Source) cached(kind *Kind) (*Cached, cache.SharedIndexInformer) {
	if kind.Value != nil || len(kind.Indexes) > 0 {
		return nil, nil
	}
	for _, c := range s.Cached {
		if c.requests.resource == kind.GroupResource {
			return c, c.get()
		}
	}
	return nil, nil
}
