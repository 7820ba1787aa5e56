// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "slices"

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
		x.loadAt(s.trace())
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
