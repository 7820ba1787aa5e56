// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"unique"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// link enters an item of c.
func (x *index) link(c *claim, r *reading) item {
	if r.trouble != nil {
		return item{trouble: r.trouble}
	}
	n := x.node(r.Key)
	it := item{node: n, parent: r.Parent, want: r.digest, ordered: r.Ordered, doubles: r.Doubles}
	if r.listed {
		it.in = unique.Make(r.in)
	}
	if r.Doubles {
		x.doubling[r.Kind] = struct{}{}
	}
	for _, key := range r.Needs {
		if key == r.Key || slices.Contains(r.Aliases, key) {
			continue
		}
		m := x.node(key)
		m.needers.add(n)
		it.needs = append(it.needs, m)
	}
	it.needs = slices.Clip(it.needs)
	if len(r.Aliases)+len(r.Slots) > 0 {
		it.more = &extras{slots: r.Slots}
		for _, key := range r.Aliases {
			a := x.node(key)
			a.rarely().providers.add(n)
			it.more.aliases = append(it.more.aliases, a)
		}
	}
	x.refer(c, n)
	return it
}

// refer enters that c lists n or has to delete it.
func (x *index) refer(c *claim, n *node) {
	if !slices.Contains(n.refs, c) {
		n.refs = append(n.refs, c)
	}
}

// unlink takes back an item that is no longer among c's. Other items of the same resource keep what they share.
func (x *index) unlink(c *claim, it *item) {
	n := it.node
	if n == nil {
		return
	}
	if c.item(n) == nil {
		if i := slices.Index(n.refs, c); i >= 0 {
			n.refs = slices.Delete(n.refs, i, i+1)
		}
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
				a.unlisted = x.now.UnixNano()
				x.wakeWaitersAt(a)
				x.drop(a)
			}
		}
	}
	x.reown(n)
	x.drop(n)
}

// referred says whether some item of n is as fn asks.
func (n *node) referred(fn func(*item) bool) bool {
	return slices.ContainsFunc(n.refs, func(c *claim) bool {
		it := c.item(n)
		return it != nil && fn(it)
	})
}

// forget drops c and all that only it told of.
func (x *index) forget(c *claim) {
	items := slices.Concat(c.items, c.tail)
	c.items, c.tail = nil, nil
	c.gen++
	x.stopWaiting(c)
	for i := range items {
		x.unlink(c, &items[i])
	}
	x.count(c, tally{})
	delete(x.claims, c.Name)
}

// node is the node of a key, made when there is none.
func (x *index) node(key backend.Key) *node {
	n := x.nodes[key]
	if n == nil {
		n = &node{key: key, unlisted: x.now.UnixNano()}
		x.nodes[key] = n
	}
	return n
}

// drop forgets what is known of a node that no Claim lists or has to delete any more, and the node if nothing needs it.
func (x *index) drop(n *node) {
	if len(n.refs) > 0 || n.busy || x.nodes[n.key] != n {
		return
	}
	// Nobody says any more what became of it.
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
