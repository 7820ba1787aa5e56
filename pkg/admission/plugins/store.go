// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Client is what a generated client has for each kind.
type Client[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// ListWatch lists and watches what a client does.
func ListWatch[L runtime.Object](client Client[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
}

// store is an index as a reflector fills it.
type store[O, E any, X Index[E]] struct {
	Followed[O, E, X]

	mu    sync.RWMutex
	index X
	// synced is closed when the index has been filled for the first time.
	synced chan struct{}
	once   sync.Once
}

var (
	_ cache.ReflectorStore    = &store[any, any, Index[any]]{}
	_ cache.TransformingStore = &store[any, any, Index[any]]{}
)

func newStore[O, E any, X Index[E]](followed Followed[O, E, X]) *store[O, E, X] {
	return &store[O, E, X]{Followed: followed, index: followed.NewIndex(0), synced: make(chan struct{})}
}

// Transformer makes a reflector keep no more of an object than the index does.
func (s *store[O, E, X]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.entry(obj) }
}

// entry takes an object, or what Transformer made of one.
func (s *store[O, E, X]) entry(obj any) (entry E, err error) {
	if kept, ok := obj.(E); ok {
		return kept, nil
	}
	if o, ok := obj.(*O); ok {
		return s.EntryOf(o), nil
	}
	return entry, fmt.Errorf("a %T is not a %s", obj, reflect.TypeFor[O]().Name())
}

// Add implements cache.ReflectorStore.
func (s *store[O, E, X]) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *store[O, E, X]) Update(obj any) error { return s.write(obj, X.Put) }

// Delete implements cache.ReflectorStore.
func (s *store[O, E, X]) Delete(obj any) error { return s.write(obj, X.Remove) }

func (s *store[O, E, X]) write(obj any, how func(X, E)) error {
	e, err := s.entry(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	how(s.index, e)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *store[O, E, X]) Replace(objects []any, _ string) error {
	next := s.NewIndex(len(objects))
	for _, obj := range objects {
		e, err := s.entry(obj)
		if err != nil {
			return err
		}
		next.Put(e)
	}
	s.mu.Lock()
	s.index = next
	s.mu.Unlock()
	s.once.Do(func() { close(s.synced) })
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (*store[O, E, X]) Resync() error { return nil }
