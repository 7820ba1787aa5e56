// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/binary"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// Most Claims are at rest most of the time: there is nothing to do for them, and no other Claim has to do with what they list but
// by dedicated needs. Of those only the Claim is kept, and the traces by which it is found again. Its items and nodes, most of what
// the index takes, are recreated from its content when something touches them.
//
// A trace is the hash of something by which one Claim can meet another: a key, an alias or a slot. That two have the same trace by
// chance does no harm: the Claim is loaded for nothing, or does not rest.

// trace is where a Claim at rest is found that has the slot.
func (s slot) trace() uint64 { return binary.LittleEndian.Uint64(s[:]) }

// traces are those of all items of c, which is not at rest.
func (x *index) traces(c *claim) []uint64 {
	var traces []uint64
	for i := range c.items {
		it := &c.items[i]
		if it.node == nil {
			continue
		}
		traces = append(traces, x.nodes.hash(it.node.key))
		for _, a := range it.aliases() {
			traces = append(traces, x.nodes.hash(a.key))
		}
		for _, s := range it.slots() {
			traces = append(traces, s.trace())
		}
	}
	return traces
}

// nodeOf is the node of a key, nil when there is none. The Claim at rest that may have it is loaded.
func (x *index) nodeOf(key backend.Key) *node {
	x.loadAt(x.nodes.hash(key))
	return x.nodes.get(key)
}

// loadAt loads the Claim that has a trace.
func (x *index) loadAt(trace uint64) {
	if c := x.resting[trace]; c != nil {
		x.load(c)
	}
}

// loadEvicted loads the Claims that list something that needs n.
func (x *index) loadEvicted(n *node) {
	if n.rare == nil {
		return
	}
	for _, c := range slices.Collect(n.rare.resters.all()) {
		x.load(c)
	}
}

// load makes the items and nodes of c unchanged when it went to rest.
func (x *index) load(c *claim) {
	if c.work != nil {
		return
	}
	readings := x.read(c.wanted.List())
	c.work = &work{items: make([]item, len(readings))}
	for i := range readings {
		c.items[i] = x.link(c, &readings[i])
	}
	for _, trace := range x.traces(c) {
		delete(x.resting, trace)
	}
	for i := range c.items {
		it := &c.items[i]
		n := it.node
		if n == nil {
			continue // not so when it went to rest
		}
		n.own, n.proven, n.seq = c, c.proven, c.seq
		if c.landed {
			n.know, n.hash, n.parent = landed, it.want, it.parent
			x.hold(n, it.slots())
		}
		for _, m := range it.needs {
			if m.rare != nil {
				m.rare.resters.remove(c)
			}
		}
	}
	c.counted = restingTally(c.landed, len(c.items))
}

// rest lets go of the items and nodes of c, if they can be had again and no other client has to do with them.
func (x *index) rest(c *claim) {
	if c.work == nil || x.claims[c.name] != c || !x.canRest(c) {
		return
	}
	traces := x.traces(c)
	for _, trace := range traces {
		if x.resting[trace] != nil {
			return
		}
	}
	for _, trace := range traces {
		x.resting[trace] = c
	}
	c.landed, c.proven, c.seq = c.items[0].node.know == landed, c.items[0].node.proven, 0
	c.unseen = placesOf(len(c.items))
	for i := range c.items {
		it := &c.items[i]
		// What was seen of a node before must not pass for news of it later.
		c.seq = max(c.seq, it.node.seq)
		x.release(it.node)
		for _, m := range it.needs {
			if !c.provides(m) {
				m.needers.remove(it.node)
				m.rarely().resters.add(c)
			}
		}
	}
	for i := range c.items {
		x.nodes.remove(c.items[i].node)
		for _, a := range c.items[i].aliases() {
			x.nodes.remove(a)
		}
	}
	c.work = nil
}

// canRest reports whether nothing is known of c except its content, and whether all of it is in the backend as wanted, or nothing
// is.
func (x *index) canRest(c *claim) bool {
	if c.deleting || c.pushing || len(c.items) == 0 || len(c.tail) > 0 || c.waits.size() > 0 || c.retry != nil || c.blocked != 0 {
		return false
	}
	first := c.items[0].node
	if first == nil || c.counted != restingTally(first.know == landed, len(c.items)) {
		return false
	}
	for i := range c.items {
		it := &c.items[i]
		if it.node == nil || it.trouble != nil || it.node.know != first.know || it.node.proven != first.proven || !x.isQuiet(c, it) {
			return false
		}
	}
	return true
}

// places is a set of places in a list. Those from manyPlaces on are in it together, and stay.
type places uint32

const manyPlaces = 31

func placesOf(n int) places {
	if n > manyPlaces {
		return ^places(0)
	}
	return 1<<n - 1
}

func (p places) without(place int) places {
	if place >= manyPlaces {
		return p
	}
	return p &^ (1 << place)
}

// see notes that a drift pass saw an item of c, which is at rest, to be as wanted.
func (c *claim) see(place int) {
	c.unseen = c.unseen.without(place)
	c.proven = c.proven || c.unseen == 0
}

// restingTally is what the counts have of a Claim at rest with n resources.
func restingTally(landed bool, n int) tally {
	var t tally
	if landed {
		t[stateNumber(Synced)] = int32(n)
	} else {
		t[stateNumber(Pending)] = int32(n)
	}
	return t
}

// isQuiet reports whether an item of c is as if it had just been linked, and at most has landed since.
func (x *index) isQuiet(c *claim, it *item) bool {
	n := it.node
	if n.own != c || n.refs.size() != 1 || n.busy || n.copied || n.misplaced || !c.hasAlone(n) || n.rare != nil && n.rare.providers.size() > 0 {
		return false
	}
	var held []slot
	if n.rare != nil {
		held = n.rare.held
	}
	holders := 0
	switch n.know {
	case landed:
		if n.hash != it.want || n.parent != it.parent || !slices.Equal(held, it.slots()) {
			return false
		}
		holders = 1
	case absent:
		if n.hash != (digest{}) || n.parent != "" || len(held) > 0 {
			return false
		}
	default:
		return false
	}
	for _, s := range it.slots() {
		if at := x.slots[s]; at.size() != holders {
			return false
		}
	}
	for _, a := range it.aliases() {
		if a.refs.size() > 0 || a.busy || a.know != absent || a.copied || a.proven || !c.hasAlone(a) || len(a.rare.held) > 0 {
			return false
		}
		for m := range a.rare.providers.all() {
			if m.own != c {
				return false
			}
		}
	}
	return true
}

// hasAlone reports whether n means nothing to anybody but c: no Claim waits for it, needs it or reports a drift of it.
func (c *claim) hasAlone(n *node) bool {
	if r := n.rare; r != nil && (r.drift != "" || r.waiters.size() > 0 || r.resters.size() > 0) {
		return false
	}
	for m := range n.needers.all() {
		if m.own != c {
			return false
		}
	}
	return true
}

// provides reports whether n is a key or an alias of something that c, which can rest, lists.
func (c *claim) provides(n *node) bool {
	return n.own == c || n.rare != nil && n.rare.providers.one != nil && n.rare.providers.one.own == c
}

// aliases are the nodes of the aliases.
func (it *item) aliases() []*node {
	if it.more == nil {
		return nil
	}
	return it.more.aliases
}
