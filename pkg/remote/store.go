// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// store has the objects of one watch. It is a cache.TransformingStore: what a listing brings is packed one by one as it
// comes, not when all of it is there. Only one reflector writes to it.
type store[T Object] struct {
	Kind[T]

	mu      sync.RWMutex
	objects map[types.NamespacedName]*entry
	byIndex map[string][]*entry
	synced  bool
}

func newStore[T Object](kind Kind[T]) *store[T] {
	return &store[T]{Kind: kind, objects: map[types.NamespacedName]*entry{}, byIndex: map[string][]*entry{}}
}

// Transformer implements cache.TransformingStore.
func (s *store[T]) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return s.pack(object) }
}

// Add implements cache.ReflectorStore.
func (s *store[T]) Add(object any) error { return s.set(object) }

// Update implements cache.ReflectorStore.
func (s *store[T]) Update(object any) error { return s.set(object) }

// Delete implements cache.ReflectorStore. The handlers get the last state, which the server sends with the deletion.
func (s *store[T]) Delete(object any) error {
	last, err := s.pack(object)
	if err != nil {
		return err
	}
	if s.swap(last.key, nil) == nil {
		return nil
	}
	s.deleted(last, true)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *store[T]) Replace(objects []any, resourceVersion string) error {
	listed := make(map[types.NamespacedName]bool, len(objects))
	for _, object := range objects {
		packed, err := s.pack(object)
		if err != nil {
			return err
		}
		listed[packed.key] = true
		if err := s.set(packed); err != nil {
			return err
		}
	}
	for _, key := range s.keys() {
		if !listed[key] {
			s.deleted(s.swap(key, nil), false)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced = true
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *store[T]) Resync() error { return nil }

// Synced reports whether a first listing is here and was notified of.
func (s *store[T]) Synced() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.synced
}

// set keeps an object and reports it, unless this version is here.
func (s *store[T]) set(object any) error {
	now, err := s.pack(object)
	if err != nil {
		return err
	}
	before := s.swap(now.key, now)
	if before != nil && now.version != "" && before.version == now.version {
		return nil
	}
	if before != nil && s.Changed != nil {
		s.Changed(s.unpack(before), s.unpack(now))
	}
	if s.Set != nil {
		s.Set(s.unpack(now))
	}
	return nil
}

func (s *store[T]) deleted(last *entry, watched bool) {
	if s.Deleted != nil {
		s.Deleted(s.unpack(last), watched)
	}
}

// swap puts an entry, or none, in the place of the one of a key, which it returns.
func (s *store[T]) swap(key types.NamespacedName, now *entry) (before *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.objects[key]
	if before != nil && before.index != "" {
		left := slices.DeleteFunc(s.byIndex[before.index], func(e *entry) bool { return e == before })
		if s.byIndex[before.index] = left; len(left) == 0 {
			delete(s.byIndex, before.index)
		}
	}
	if now == nil {
		delete(s.objects, key)
		return before
	}
	s.objects[key] = now
	if now.index != "" {
		s.byIndex[now.index] = append(s.byIndex[now.index], now)
	}
	return before
}

func (s *store[T]) get(key types.NamespacedName) (T, bool) {
	s.mu.RLock()
	packed := s.objects[key]
	s.mu.RUnlock()
	if packed == nil {
		var none T
		return none, false
	}
	return s.unpack(packed), true
}

func (s *store[T]) indexed(value string) []T {
	s.mu.RLock()
	found := slices.Clone(s.byIndex[value])
	s.mu.RUnlock()
	objects := make([]T, 0, len(found))
	for _, packed := range found {
		objects = append(objects, s.unpack(packed))
	}
	return objects
}

func (s *store[T]) keys() []types.NamespacedName {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Keys(s.objects))
}
