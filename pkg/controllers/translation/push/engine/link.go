// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// link enters an item of c.
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
		it.parent, key.Scope, key.ID = m.same(it.parent), m.same(key.Scope), m.same(key.ID)
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
			a.rarely().providers.add(n)
			it.more.aliases = append(it.more.aliases, a)
		}
	}
	x.refer(c, n)
	return it
}

// same is a text, in the memory of n's id if that is the same: what a resource lies under it needs as a rule.
func (n *node) same(text string) string {
	if text == n.key.ID {
		return n.key.ID
	}
	return text
}

// lies enters under which parent n is in the backend: mostly the one that its owner specifies, whose text need not be kept twice.
func (n *node) lies(parent string) {
	n.parent = parent
	if n.own == nil {
		return
	}
	if it := n.own.listed(n); it != nil && it.parent == parent {
		n.parent = it.parent
	}
}

// refer enters that c lists n or has to delete it.
func (x *index) refer(c *claim, n *node) {
	n.refs.add(c)
}

// unlink takes back an item that is no longer among c's. Other items of the same resource keep what they share.
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
	x.reown(n)
	x.drop(n)
}

// referred reports whether some item of n satisfies fn.
func (n *node) referred(fn func(*item) bool) bool {
	for c := range n.refs.all() {
		if it := c.item(n); it != nil && fn(it) {
			return true
		}
	}
	return false
}

// removeClaim drops c and everything that only it referred to.
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

// node is the node of a key, made when there is none.
func (x *index) node(key backend.Key) *node {
	n := x.nodes[key]
	if n == nil {
		n = &node{key: key, unlisted: momentOf(x.now)}
		x.nodes[n.key] = n
	}
	return n
}

// drop discards what is known of a node that no Claim lists or has to delete any more, and the node if nothing needs it.
func (x *index) drop(n *node) {
	if n.refs.size() > 0 || n.busy || x.nodes[n.key] != n {
		return
	}
	// Its outcome is no longer reported.
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

// slotsOf are the slots that a backend names.
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

// occupants are who holds slots in the backend or is about to: one as a rule, more while slots change hands.
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

// hold enters that n has slots, or is about to, and no others.
func (x *index) hold(n *node, slots []slot) {
	if n.rare == nil && len(slots) == 0 || n.rare != nil && slices.Equal(n.rare.held, slots) {
		return
	}
	x.release(n)
	n.rarely().held = slots
	for _, s := range slots {
		x.slots.add(s, n)
	}
}

// reserve has n hold further slots. Those that it has it keeps: until they are free in the backend no other client may try.
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

// vacate has n, which landed, hold no more than it should, and wakes those who wait for the rest.
func (x *index) vacate(n *node, slots []slot) {
	if n.rare == nil || len(n.rare.held) == len(slots) {
		return
	}
	x.hold(n, slots)
	x.wakeWaiters(n)
}

// slots are those that the item is to have.
func (it *item) slots() []slot {
	if it.more == nil {
		return nil
	}
	return it.more.slots
}

// release gives back the slots of n.
func (x *index) release(n *node) {
	if n.rare == nil {
		return
	}
	for _, s := range n.rare.held {
		x.slots.remove(s, n)
	}
	n.rare.held = nil
}

// holder is a node, other than it has, that holds a slot which it needs, and the slot; nil when all are free.
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

// displaced reports whether another resource is where it would be, so that it does not exist, for all that is known of it
// otherwise. Deleting it even so could clear the place of the other one.
func (x *index) displaced(it *item) bool {
	if it.node.know == landed || it.node.busy {
		return false
	}
	holder, _ := x.holder(it)
	return holder != nil && (holder.know == landed || holder.busy)
}

// wants reports whether the item is to have a slot.
func (it *item) wants(s slot) bool {
	return it != nil && slices.Contains(it.slots(), s)
}
