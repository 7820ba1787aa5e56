// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
)

// observe brings the index up to date with a Claim.
func (x *index) observe(s sight, mode Mode) {
	c := x.claims[s.Name]
	if c != nil && c.uid != s.uid {
		x.removeClaim(c)
		c = nil
	}
	isNew := c == nil
	if isNew {
		c = &claim{name: s.Name, uid: s.uid, work: &work{}}
		x.claims[s.Name] = c
	}
	changed := isNew || !s.same || c.deleting != s.Deleting || c.current != s.Current || c.owner != s.owner || c.created != s.Created.UnixMicro()
	known := !changed && c.pushed
	if !known {
		x.load(c)
	}
	// What is kept elsewhere is not kept twice.
	c.wanted = s.Items
	if known {
		return
	}
	turned := c.deleting != s.Deleting
	c.owner, c.created, c.current, c.deleting, c.content = s.owner, s.Created.UnixMicro(), s.Current, s.Deleting, s.content
	if changed {
		c.gen++
		c.retry = nil
		c.blocked = 0
	}
	if turned {
		// What blocked the creation of a resource does not block its deletion.
		for i := range c.items {
			if c.items[i].node != nil {
				c.items[i].trouble = nil
			}
		}
	}
	if !s.same {
		x.relist(c, s.readings)
		c.seen, c.wrote, c.synced = 0, false, false
	}
	for i := range c.items {
		if n := c.items[i].node; n != nil {
			x.reown(n)
		}
	}
	if !c.pushed {
		x.believe(c, s.reported, mode)
	}
	x.rest(c)
}

// relist replaces what c lists. What it listed before and does not any more has to be deleted.
func (x *index) relist(c *claim, readings []reading) {
	old := c.items
	items := make([]item, len(readings))
	for i := range readings {
		items[i] = x.link(c, &readings[i])
		if n := items[i].node; n != nil {
			if before := find(old, n); before != nil && before.want == items[i].want {
				items[i].trouble = before.trouble
			}
		}
	}
	c.items = items
	tail := c.tail
	c.tail = nil
	for _, it := range slices.Concat(tail, old) {
		switch {
		case it.node == nil:
		case find(items, it.node) != nil || !c.pushed:
			x.unlink(c, &it)
		default:
			it.trouble = nil
			c.tail = append(c.tail, it)
			x.reown(it.node)
		}
	}
}
