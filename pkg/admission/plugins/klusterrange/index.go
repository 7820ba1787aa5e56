// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package klusterrange

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// name is the name of a Kluster.
type name struct{ namespace, name string }

// place is a range of pods on a router. Without a router it is of no cluster: none is known, or nothing is looked for in
// OpenStack. A Kluster that is being deleted keeps its place until its routes are gone.
type place struct {
	router string
	pods   netip.Prefix
}

func placeOf(k *kubernikusv1.Kluster) place {
	pods := k.ClusterPrefix()
	if k.Spec.NoCloud || k.RouterID() == "" || !pods.IsValid() {
		return place{}
	}
	return place{k.RouterID(), pods}
}

func (p place) overlaps(other place) bool {
	return p.router != "" && p.router == other.router && p.pods.Overlaps(other.pods)
}

// entry is a Kluster as the index keeps it.
type entry struct {
	name
	place
}

// index knows the places of Klusters. A reflector fills it, and it is all that is kept of them.
type index struct {
	mu     sync.RWMutex
	places map[name]place
	// routers has the Klusters on each router.
	routers map[string]map[name]bool
	// synced is closed when the index has been filled for the first time.
	synced chan struct{}
	once   sync.Once
}

var (
	_ cache.ReflectorStore    = &index{}
	_ cache.TransformingStore = &index{}
)

func newIndex() *index {
	return &index{places: map[name]place{}, routers: map[string]map[name]bool{}, synced: make(chan struct{})}
}

// overlapping returns the Klusters that have addresses of a place, in the order of their names.
func (x *index) overlapping(wanted place) []name {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found []name
	for other := range x.routers[wanted.router] {
		if x.places[other].overlaps(wanted) {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, func(a, b name) int { return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name)) })
	return found
}

// Transformer makes a reflector keep no more of a Kluster than this index does.
func (*index) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return asEntry(obj) }
}

// asEntry takes a Kluster, or what Transformer made of one.
func asEntry(obj any) (entry, error) {
	switch o := obj.(type) {
	case entry:
		return o, nil
	case *kubernikusv1.Kluster:
		return entry{name{o.Namespace, o.Name}, placeOf(o)}, nil
	default:
		return entry{}, fmt.Errorf("a %T is not a Kluster", obj)
	}
}

// Add implements cache.ReflectorStore.
func (x *index) Add(obj any) error { return x.Update(obj) }

// Update implements cache.ReflectorStore.
func (x *index) Update(obj any) error {
	e, err := asEntry(obj)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(e)
	return nil
}

// Delete implements cache.ReflectorStore.
func (x *index) Delete(obj any) error {
	e, err := asEntry(obj)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(e.name)
	return nil
}

// Replace implements cache.ReflectorStore.
func (x *index) Replace(objects []any, _ string) error {
	entries := make([]entry, 0, len(objects))
	for _, obj := range objects {
		e, err := asEntry(obj)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	x.mu.Lock()
	clear(x.places)
	clear(x.routers)
	for _, e := range entries {
		x.put(e)
	}
	x.mu.Unlock()
	x.once.Do(func() { close(x.synced) })
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (*index) Resync() error { return nil }

// put makes this the place of a Kluster. One without a place is not kept.
func (x *index) put(e entry) {
	x.remove(e.name)
	if e.router == "" {
		return
	}
	x.places[e.name] = e.place
	if x.routers[e.router] == nil {
		x.routers[e.router] = map[name]bool{}
	}
	x.routers[e.router][e.name] = true
}

// remove forgets a Kluster, if it is known.
func (x *index) remove(n name) {
	router := x.places[n].router
	delete(x.places, n)
	delete(x.routers[router], n)
	if len(x.routers[router]) == 0 {
		delete(x.routers, router)
	}
}
