// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"maps"
	"slices"
)

// key names a resource. id is unique within the kind.
type key struct{ kind, id string }

// object is a resource that the fake holds.
type object struct {
	key
	// parent is the id of the resource that this one lies under; empty for a kind that stands alone.
	parent string
	fields fields
	// number counts resources in the order of their creation.
	number uint64
}

// store holds all resources and finds those that belong together. Server.mu guards it.
type store struct {
	objects map[key]*object
	// children are the resources of a kind under a parent: rules in the order of their chain, others by age.
	children map[key][]*object
	// referrers are the resources that have an id in one of their fields.
	referrers map[string]map[*object]bool
	created   uint64
}

func newStore() *store {
	return &store{objects: map[key]*object{}, children: map[key][]*object{}, referrers: map[string]map[*object]bool{}}
}

// references returns the fields that name another resource.
func references(f fields) []string {
	var ids []string
	for _, name := range []string{"inboundFilterId", "outboundFilterId", "jumpChainId", "nextHopPort", "peerId", "portId", "hostId"} {
		if id := f.text(name); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *store) has(kind, id string) bool { return s.objects[key{kind, id}] != nil }

// add puts a resource in, at the given place among its parent's children, or last when the place is negative.
func (s *store) add(kind, id, parent string, place int, f fields) {
	s.created++
	o := &object{key: key{kind, id}, parent: parent, fields: f, number: s.created}
	s.objects[o.key] = o
	if parent != "" {
		siblings := s.children[key{kind, parent}]
		if place < 0 {
			place = len(siblings)
		}
		s.children[key{kind, parent}] = slices.Insert(siblings, place, o)
	}
	s.refer(o)
}

// set replaces the fields of a resource.
func (s *store) set(o *object, f fields) {
	s.unrefer(o)
	o.fields = f
	s.refer(o)
}

// remove removes one resource, and nothing with it.
func (s *store) remove(o *object) {
	s.unrefer(o)
	delete(s.objects, o.key)
	if o.parent == "" {
		return
	}
	place := key{o.kind, o.parent}
	s.children[place] = slices.DeleteFunc(s.children[place], func(c *object) bool { return c == o })
	if len(s.children[place]) == 0 {
		delete(s.children, place)
	}
}

func (s *store) refer(o *object) {
	for _, id := range references(o.fields) {
		if s.referrers[id] == nil {
			s.referrers[id] = map[*object]bool{}
		}
		s.referrers[id][o] = true
	}
}

func (s *store) unrefer(o *object) {
	for _, id := range references(o.fields) {
		delete(s.referrers[id], o)
		if len(s.referrers[id]) == 0 {
			delete(s.referrers, id)
		}
	}
}

// all returns the resources of a kind, the oldest first.
func (s *store) all(kind string) []*object {
	var found []*object
	for k, o := range s.objects {
		if k.kind == kind {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *object) int { return int(int64(a.number) - int64(b.number)) })
	return found
}

// under returns a parent's children of a kind. The slice is the caller's.
func (s *store) under(kind, parent string) []*object {
	return slices.Clone(s.children[key{kind, parent}])
}

// delete removes a resource and what the server removes with it.
func (s *store) delete(o *object) {
	if s.objects[o.key] != o {
		return // went with another
	}
	s.remove(o)
	for _, kind := range map[string][]string{
		"TunnelZone": {"TunnelZoneHost"},
		"Bridge":     {"Port", "MACPort", "IPv4MACPair"},
		"Router":     {"Port", "Route"},
		"Chain":      {"Rule"},
	}[o.kind] {
		for _, child := range s.under(kind, o.id) {
			s.delete(child)
		}
	}
	for _, r := range slices.Collect(maps.Keys(s.referrers[o.id])) {
		s.release(r, o)
	}
}

// release is what the loss of a resource does to one that refers to it.
func (s *store) release(r, deleted *object) {
	switch {
	case deleted.kind == "Chain" && r.kind == "Rule", deleted.kind == "Port" && r.kind == "Route":
		s.delete(r)
	case deleted.kind == "Chain", deleted.kind == "Port" && r.kind == "Port":
		left := maps.Clone(r.fields)
		for _, name := range []string{"inboundFilterId", "outboundFilterId", "peerId"} {
			if left.text(name) == deleted.id {
				delete(left, name)
			}
		}
		s.set(r, left)
	}
}
