// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

func (x *index) link(c *claim, r *reading) item {
	if r.trouble != nil {
		return item{trouble: r.trouble}
	}
	it := item{parent: r.Parent, want: r.digest, in: r.collection(), ordered: r.Ordered, doubles: r.Doubles}
	if r.Doubles {
		x.doubling[r.Kind] = struct{}{}
	}
	for _, key := range r.Needs {
		if key == r.Key || slices.Contains(r.Aliases, key) {
			continue
		}
		it.needs = append(it.needs, x.node(key))
	}
	it.needs = slices.Clip(it.needs)
	key := r.Key
	for _, m := range it.needs {
		it.parent, key.Scope, key.ID = m.shared(it.parent), m.shared(key.Scope), m.shared(key.ID)
	}
	n := x.node(key)
	it.node = n
	for _, m := range it.needs {
		m.needers.add(n)
	}
	if len(r.Aliases)+len(r.slots) > 0 {
		it.more = &extras{slots: r.slots}
		for _, key := range r.Aliases {
			a := x.node(key)
			a.ensureRare().providers.add(n)
			it.more.aliases = append(it.more.aliases, a)
		}
	}
	n.refs.add(c)
	return it
}

// shared returns text, backed by the memory of n's id if they are equal: the parent of a resource is usually one of its dependencies.
func (n *node) shared(text string) string {
	if text == n.key.ID {
		return n.key.ID
	}
	return text
}

// setParent records the parent of n in the backend. If it is the one in the item, as usual, the two share memory.
func (n *node) setParent(parent string) {
	n.parent = parent
	if n.winner == nil {
		return
	}
	if it := n.winner.listed(n); it != nil && it.parent == parent {
		n.parent = it.parent
	}
}

// unlink removes an item that c no longer has. References that other items of the same resource share remain.
func (x *index) unlink(c *claim, it *item) {
	n := it.node
	if n == nil {
		return
	}
	if c.item(n) == nil {
		n.refs.remove(c)
	}
	for _, m := range it.needs {
		if !n.referred(func(other *item) bool { return slices.Contains(other.needs, m) }) {
			m.needers.remove(n)
			x.drop(m)
		}
	}
	if it.more != nil {
		for _, a := range it.more.aliases {
			if !n.referred(func(other *item) bool { return other.more != nil && slices.Contains(other.more.aliases, a) }) {
				a.rare.providers.remove(n)
				a.unlisted = momentOf(x.now)
				x.wakeWaitersAt(a)
				x.drop(a)
			}
		}
	}
	x.elect(n)
	x.drop(n)
}

// referred reports whether fn is true for an item of n.
func (n *node) referred(fn func(*item) bool) bool {
	for c := range n.refs.all() {
		if it := c.item(n); it != nil && fn(it) {
			return true
		}
	}
	return false
}

// removeClaim removes c and everything that only c referred to.
func (x *index) removeClaim(c *claim) {
	items := slices.Concat(c.items, c.tail)
	c.items, c.tail = nil, nil
	c.gen++
	x.stopWaiting(c)
	for i := range items {
		x.unlink(c, &items[i])
	}
	x.count(c, tally{})
	delete(x.claims, c.name)
}

// node returns the node of a key, and creates it if there is none.
func (x *index) node(key backend.Key) *node {
	n := x.nodes[key]
	if n == nil {
		n = &node{key: key, unlisted: momentOf(x.now)}
		x.nodes[n.key] = n
	}
	return n
}

// drop resets a node that no Claim lists or has to delete any more, and removes it if no other node needs it.
func (x *index) drop(n *node) {
	if n.refs.size() > 0 || n.busy || x.nodes[n.key] != n {
		return
	}
	// No Claim reports the resource any more.
	x.release(n)
	n.know, n.hash, n.parent = absent, digest{}, ""
	n.copied, n.misplaced, n.proven = false, false, false
	n.seq++
	n.setDrift("")
	if n.needers.size() > 0 {
		return
	}
	if r := n.rare; r != nil && (r.providers.size() > 0 || r.waiters.size() > 0) {
		return
	}
	delete(x.nodes, n.key)
	if x.buried != nil {
		x.buried[n.key] = struct{}{}
	}
}

// slot is something that only one resource can have at a time.
type slot = id

// slotsOf returns the slots with the names that a backend uses.
func slotsOf(names []string) []slot {
	if len(names) == 0 {
		return nil
	}
	slots := make([]slot, len(names))
	for i, name := range names {
		slots[i] = idOf(name)
	}
	return slots
}

// occupants are the nodes that occupy slots in the backend or are about to: usually one per slot, more while a slot changes hands.
type occupants map[slot]set[node]

func (o occupants) add(s slot, n *node) {
	holders := o[s]
	holders.add(n)
	o[s] = holders
}

func (o occupants) remove(s slot, n *node) {
	holders := o[s]
	if holders.remove(n); holders.size() == 0 {
		delete(o, s)
		return
	}
	o[s] = holders
}

// hold makes slots the only slots of n.
func (x *index) hold(n *node, slots []slot) {
	if n.rare == nil && len(slots) == 0 || n.rare != nil && slices.Equal(n.rare.held, slots) {
		return
	}
	x.release(n)
	n.ensureRare().held = slots
	for _, s := range slots {
		x.slots.add(s, n)
	}
}

// reserve adds slots to those of n. It keeps the previous ones, because they are not free in the backend yet.
func (x *index) reserve(n *node, slots []slot) {
	if n.rare == nil || len(n.rare.held) == 0 {
		x.hold(n, slots)
		return
	}
	all := slices.Clone(n.rare.held)
	for _, s := range slots {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	x.hold(n, all)
}

// vacate reduces the slots of n, which has landed, to those that it should have, and wakes the Claims that wait for the others.
func (x *index) vacate(n *node, slots []slot) {
	if n.rare == nil || len(n.rare.held) == len(slots) {
		return
	}
	x.hold(n, slots)
	x.wakeWaiters(n)
}

// slots returns the slots that the item needs.
func (it *item) slots() []slot {
	if it.more == nil {
		return nil
	}
	return it.more.slots
}

// release removes all slots of n.
func (x *index) release(n *node) {
	if n.rare == nil {
		return
	}
	for _, s := range n.rare.held {
		x.slots.remove(s, n)
	}
	n.rare.held = nil
}

// holder returns another node that occupies a slot of the item, and the slot; nil if all are free.
func (x *index) holder(it *item) (*node, slot) {
	for _, s := range it.slots() {
		holders := x.slots[s]
		for n := range holders.all() {
			if n != it.node {
				return n, s
			}
		}
	}
	return nil, slot{}
}

// displaced reports whether another resource occupies a slot of the item, so that the item's own resource does not exist even if
// its state is unknown. Deleting it could clear the slot of the other resource.
func (x *index) displaced(it *item) bool {
	if it.node.know == landed || it.node.busy {
		return false
	}
	holder, _ := x.holder(it)
	return holder != nil && (holder.know == landed || holder.busy)
}

func (it *item) wants(s slot) bool {
	return it != nil && slices.Contains(it.slots(), s)
}
