// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "slices"

// hold enters that n has slots, or is about to, and no others.
func (x *index) hold(n *node, slots []string) {
	if n.rare == nil && len(slots) == 0 || n.rare != nil && slices.Equal(n.rare.held, slots) {
		return
	}
	x.release(n)
	n.rarely().held = slots
	for _, slot := range slots {
		x.slots[slot] = append(x.slots[slot], n)
	}
}

// reserve has n hold further slots. Those that it has it keeps: until they are free in the backend nobody else may try.
func (x *index) reserve(n *node, slots []string) {
	if n.rare == nil {
		x.hold(n, slots)
		return
	}
	all := slices.Clone(n.rare.held)
	for _, slot := range slots {
		if !slices.Contains(all, slot) {
			all = append(all, slot)
		}
	}
	x.hold(n, all)
}

// vacate has n, which landed, hold no more than it should, and wakes those who wait for the rest.
func (x *index) vacate(n *node, slots []string) {
	if n.rare == nil || len(n.rare.held) == len(slots) {
		return
	}
	x.hold(n, slots)
	x.wakeWaiters(n)
}

// slots are those that the item is to have.
func (it *item) slots() []string {
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
	for _, slot := range n.rare.held {
		holders := slices.DeleteFunc(x.slots[slot], func(m *node) bool { return m == n })
		if len(holders) == 0 {
			delete(x.slots, slot)
		} else {
			x.slots[slot] = holders
		}
	}
	n.rare.held = nil
}

// holder is a node, other than it has, that holds a slot which it needs, and the slot; nil when all are free.
func (x *index) holder(it *item) (*node, string) {
	if it.more == nil {
		return nil, ""
	}
	for _, slot := range it.more.slots {
		for _, n := range x.slots[slot] {
			if n != it.node {
				return n, slot
			}
		}
	}
	return nil, ""
}

// displaced says whether another resource is where it would be, so that it is not there, for all that is known of it
// otherwise. Deleting it all the same could clear the place of the other one.
func (x *index) displaced(it *item) bool {
	if it.node.know == landed || it.node.busy {
		return false
	}
	holder, _ := x.holder(it)
	return holder != nil && (holder.know == landed || holder.busy)
}

// wants says whether the item is to have a slot.
func (it *item) wants(slot string) bool {
	return it != nil && slices.Contains(it.slots(), slot)
}
