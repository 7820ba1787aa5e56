// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backendresources

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// index knows which Translations hold a backend resource. A reflector fills it, and it is all that is kept of them: about
// 80 bytes a resource, its share of the Translation included (BenchmarkIndex), in maps without pointers, which the
// garbage collector need not look through.
type index struct {
	mu sync.RWMutex
	content
	// synced is closed when the index has been filled for the first time.
	synced chan struct{}
	once   sync.Once
}

// content is what is in an index. Translations are known by their place in one slice.
type content struct {
	holders []holder
	free    []uint32 // places without a holder
	byName  map[digest]uint32
	// first is one holder of each resource, more are the others, of which there are hardly any.
	first map[digest]uint32
	more  map[digest][]uint32
}

var (
	_ cache.ReflectorStore    = &index{}
	_ cache.TransformingStore = &index{}
)

func newIndex() *index {
	return &index{content: newContent(0), synced: make(chan struct{})}
}

func newContent(size int) content {
	return content{
		holders: make([]holder, 0, size),
		byName:  make(map[digest]uint32, size),
		first:   map[digest]uint32{},
		more:    map[digest][]uint32{},
	}
}

// holdersOf returns the Translations that hold a resource.
func (x *index) holdersOf(resource digest) []holder {
	x.mu.RLock()
	defer x.mu.RUnlock()
	place, found := x.first[resource]
	if !found {
		return nil
	}
	all := []holder{x.holders[place]}
	for _, place := range x.more[resource] {
		all = append(all, x.holders[place])
	}
	return all
}

// Transformer makes a reflector keep no more of a Translation than this index does.
func (*index) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return asHolder(obj) }
}

// asHolder takes a Translation, or what Transformer made of one.
func asHolder(obj any) (holder, error) {
	switch o := obj.(type) {
	case holder:
		return o, nil
	case *midonetv1.Translation:
		return holderOf(o), nil
	default:
		return holder{}, fmt.Errorf("a %T is not a Translation", obj)
	}
}

// Add implements cache.ReflectorStore.
func (x *index) Add(obj any) error { return x.Update(obj) }

// Update implements cache.ReflectorStore.
func (x *index) Update(obj any) error {
	h, err := asHolder(obj)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(h)
	return nil
}

// Delete implements cache.ReflectorStore.
func (x *index) Delete(obj any) error {
	h, err := asHolder(obj)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(digestOf(h.namespace, h.name))
	return nil
}

// Replace implements cache.ReflectorStore.
func (x *index) Replace(objects []any, _ string) error {
	next := newContent(len(objects))
	for _, obj := range objects {
		h, err := asHolder(obj)
		if err != nil {
			return err
		}
		next.put(h)
	}
	x.mu.Lock()
	x.content = next
	x.mu.Unlock()
	x.once.Do(func() { close(x.synced) })
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (*index) Resync() error { return nil }

// put makes this the content of a Translation. One that holds nothing is not kept.
func (c *content) put(h holder) {
	name := digestOf(h.namespace, h.name)
	c.remove(name)
	if len(h.resources) == 0 {
		return
	}
	place := uint32(len(c.holders))
	if last := len(c.free) - 1; last >= 0 {
		place, c.free = c.free[last], c.free[:last]
		c.holders[place] = h
	} else {
		c.holders = append(c.holders, h)
	}
	c.byName[name] = place
	for _, resource := range h.resources {
		switch first, held := c.first[resource]; {
		case !held:
			c.first[resource] = place
		case first != place && !slices.Contains(c.more[resource], place): // it may list one twice
			c.more[resource] = append(c.more[resource], place)
		}
	}
}

// remove forgets a Translation, if it is known.
func (c *content) remove(name digest) {
	place, found := c.byName[name]
	if !found {
		return
	}
	for _, resource := range c.holders[place].resources {
		c.release(resource, place)
	}
	delete(c.byName, name)
	c.holders[place] = holder{}
	c.free = append(c.free, place)
}

// release takes a resource from the Translation at a place, if it has it.
func (c *content) release(resource digest, place uint32) {
	others := c.more[resource]
	switch first, held := c.first[resource]; {
	case !held || first != place:
		others = slices.DeleteFunc(others, func(other uint32) bool { return other == place })
	case len(others) > 0:
		c.first[resource], others = others[0], others[1:]
	default:
		delete(c.first, resource)
	}
	if len(others) > 0 {
		c.more[resource] = others
	} else {
		delete(c.more, resource)
	}
}
