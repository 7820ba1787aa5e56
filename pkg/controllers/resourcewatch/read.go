// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// pageSize is the limit of a page of a live list.
const pageSize = 500

// Reader finds objects. A kind that is not served has none. An error means that the existing objects are unknown, so callers must not
// treat a missing object as deleted.
type Reader interface {
	Find(ctx context.Context, resource schema.GroupResource, query Query) ([]*Object, error)
	// Serves reports whether a resource is served. The target of a reference to a resource that is not served is unknown.
	Serves(ctx context.Context, resource schema.GroupResource) (bool, error)
}

// Watched returns a Reader of the watches. It sends no requests, and returns an error until discovery and the watch have succeeded.
func (s *Set) Watched() Reader { return watched{set: s} }

// Known lists the cached objects of a namespace, which may be outdated or incomplete: it is for messages to users, not for decisions.
func (s *Set) Known(resource schema.GroupResource, namespace string) ([]*Object, error) {
	return watched{set: s, lenient: true}.Find(context.Background(), resource, Query{Namespace: namespace})
}

// Cached returns a Reader of the watches that finds what they have, which may be incomplete, without an error. It is for callers that
// are notified of the rest: when an event is handled, its object is found.
func (s *Set) Cached() Reader { return watched{set: s, lenient: true} }

// Served returns the version in which a resource is watched, or nil if it is not served. An error means that this is unknown, or that
// the watch has not synced.
func (s *Set) Served(resource schema.GroupResource) (*schema.GroupVersionResource, error) {
	if err := s.problem(resource); err != nil {
		return nil, err
	}
	if _, watch := s.watchOf(resource); watch != nil {
		return new(watch.resource), nil
	}
	return nil, nil
}

type watched struct {
	set     *Set
	lenient bool
}

// Find implements Reader.
func (w watched) Find(_ context.Context, resource schema.GroupResource, query Query) ([]*Object, error) {
	if err := w.set.problem(resource); err != nil && !w.lenient {
		return nil, err
	}
	kind, watch := w.set.watchOf(resource)
	if watch == nil {
		return nil, nil
	}
	store := watch.informer.GetIndexer()
	var found []any
	var err error
	switch {
	case query.Index != "":
		found, err = store.ByIndex(query.Index, query.Value)
	case query.Namespace != "" && query.Name != "":
		object, exists, getErr := store.GetByKey(query.Namespace + "/" + query.Name)
		if err = getErr; exists {
			found = []any{object}
		}
	case query.Namespace != "":
		found, err = store.ByIndex(cache.NamespaceIndex, query.Namespace)
	default:
		found = store.List()
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", resource, err)
	}
	query.Index = "" // the store has selected by it, and an index may be expensive to compute
	var objects []*Object
	for _, each := range found {
		if object := watch.object(each); object != nil && kind.selects(query, object) {
			if objects = append(objects, object); query.Any {
				break
			}
		}
	}
	return objects, nil
}

// Serves implements Reader.
func (w watched) Serves(_ context.Context, resource schema.GroupResource) (bool, error) {
	served, err := w.set.Served(resource)
	return served != nil, err
}

// watchOf returns a kind and its watch, which may be nil.
func (s *Set) watchOf(resource schema.GroupResource) (*Kind, *watch) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, kind := range s.kinds {
		if kind.GroupResource == resource {
			return kind, s.states[resource].watch
		}
	}
	return nil, nil
}

// Live returns a Reader that queries the API server, including discovery. Use it before a deletion. A kind that is no longer served is an
// error for the duration of patience, or indefinitely if that is 0, because its API server may only be unavailable.
func (s *Set) Live(patience time.Duration) Reader {
	return &live{set: s, patience: patience, served: map[schema.GroupResource]*schema.GroupVersionResource{}}
}

// live caches the discovery of each kind: it is for a single decision.
type live struct {
	set      *Set
	patience time.Duration
	served   map[schema.GroupResource]*schema.GroupVersionResource
}

// Find implements Reader.
func (l *live) Find(ctx context.Context, resource schema.GroupResource, query Query) ([]*Object, error) {
	kind, served, err := l.find(ctx, resource)
	if err != nil || served == nil {
		return nil, err
	}
	objects, _, _ := l.set.source.lister(kind, *served)
	options := metav1.ListOptions{Limit: pageSize}
	if query.Name != "" {
		options.FieldSelector = metav1.ObjectNameField + "=" + query.Name
	}
	var found []*Object
	for {
		page, err := objects.list(ctx, query.Namespace, options)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource, err)
		}
		err = meta.EachListItem(page, func(item runtime.Object) error {
			from, ok := item.(metav1.Object)
			if !ok {
				return fmt.Errorf("%T is not an object", item)
			}
			if object := kind.object(from); kind.selects(query, object) {
				found = append(found, object)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource, err)
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource, err)
		}
		if options.Continue = list.GetContinue(); options.Continue == "" || query.Any && len(found) > 0 {
			return found, nil
		}
	}
}

// Serves implements Reader.
func (l *live) Serves(ctx context.Context, resource schema.GroupResource) (bool, error) {
	_, served, err := l.find(ctx, resource)
	return served != nil, err
}

// find returns the version in which a resource is served, or nil if it is not served and was not lost within patience.
func (l *live) find(ctx context.Context, resource schema.GroupResource) (*Kind, *schema.GroupVersionResource, error) {
	kind, _ := l.set.watchOf(resource)
	if kind == nil {
		return nil, nil, fmt.Errorf("%s is not watched", resource)
	}
	served, known := l.served[resource]
	if !known {
		var err error
		if served, err = l.set.find(ctx, kind); err != nil {
			return nil, nil, err
		}
		l.served[resource] = served
	}
	if served == nil {
		return kind, nil, l.set.missing(kind, l.patience)
	}
	return kind, served, nil
}

// missing returns an error if a kind that is not served was lost within patience.
func (s *Set) missing(kind *Kind, patience time.Duration) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := s.states[kind.GroupResource]
	switch {
	case state.watch == nil && state.lost.IsZero():
		return nil // not served since this process started
	case state.watch == nil && patience > 0 && s.clock.Since(state.lost) >= patience:
		return nil
	case patience > 0:
		return fmt.Errorf("%s is no longer served: restore it, or wait %s if it was removed permanently", kind.GroupResource, patience)
	}
	return fmt.Errorf("%s is no longer served: restore it, or restart the controller manager if it was removed permanently",
		kind.GroupResource)
}
