// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backendresources

import "slices"

// index knows which Translations hold a backend resource. A plugins.Follower fills it, and it is all that is kept of them:
// about 80 bytes a resource, its share of the Translation included (BenchmarkIndex), in maps without pointers, which the
// garbage collector need not look through. Translations are known by their place in one slice.
type index struct {
	holders []holder
	free    []uint32 // places without a holder
	byName  map[digest]uint32
	// first is one holder of each resource, more are the others, of which there are hardly any.
	first map[digest]uint32
	more  map[digest][]uint32
}

func newIndex(size int) *index {
	return &index{
		holders: make([]holder, 0, size),
		byName:  make(map[digest]uint32, size),
		first:   map[digest]uint32{},
		more:    map[digest][]uint32{},
	}
}

func (x *index) holdersOf(resource digest) []holder {
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

// Put makes this the content of a Translation. One that holds nothing is not kept.
func (x *index) Put(h holder) {
	name := digestOf(h.namespace, h.name)
	x.remove(name)
	if len(h.resources) == 0 {
		return
	}
	place := uint32(len(x.holders))
	if last := len(x.free) - 1; last >= 0 {
		place, x.free = x.free[last], x.free[:last]
		x.holders[place] = h
	} else {
		x.holders = append(x.holders, h)
	}
	x.byName[name] = place
	for _, resource := range h.resources {
		switch first, held := x.first[resource]; {
		case !held:
			x.first[resource] = place
		case first != place && !slices.Contains(x.more[resource], place): // it may list one twice
			x.more[resource] = append(x.more[resource], place)
		}
	}
}

// Remove removes a Translation from the index, if it is known.
func (x *index) Remove(h holder) { x.remove(digestOf(h.namespace, h.name)) }

func (x *index) remove(name digest) {
	place, found := x.byName[name]
	if !found {
		return
	}
	for _, resource := range x.holders[place].resources {
		x.release(resource, place)
	}
	delete(x.byName, name)
	x.holders[place] = holder{}
	x.free = append(x.free, place)
}

// release takes a resource from the Translation at a place, if it has it.
func (x *index) release(resource digest, place uint32) {
	others := x.more[resource]
	switch first, held := x.first[resource]; {
	case !held || first != place:
		others = slices.DeleteFunc(others, func(other uint32) bool { return other == place })
	case len(others) > 0:
		x.first[resource], others = others[0], others[1:]
	default:
		delete(x.first, resource)
	}
	if len(others) > 0 {
		x.more[resource] = others
	} else {
		delete(x.more, resource)
	}
}
