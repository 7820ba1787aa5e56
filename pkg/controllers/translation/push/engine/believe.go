// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "cmp"

// believed is what a report reports about the backend. One that is not in sync has to be verified: a call may have been under way
// when it was written. What is pending and never was accepted does not exist.
func believed(p Pushed, mode Mode) knowledge {
	switch hash := parseDigest(p.Hash); {
	case hash != digest{} && (p.State == Synced || p.State == Drifted && mode == Observe):
		return landed
	case p.Hash == "" && (p.State == Pending || p.State == NotApplicable):
		return absent
	default:
		return unknown
	}
}

// believe takes over what was reported of c: what the backend has, unless the engine knows better, and what is not listed and has
// to be deleted.
func (x *index) believe(c *claim, reports []report, mode Mode) {
	old := c.tail
	c.tail = nil
	var counted tally
	counted[stateNumber(Pending)] = int32(len(c.items))
	for _, r := range reports {
		n := x.node(r.Key)
		it := c.listed(n)
		if it == nil {
			c.tail = append(c.tail, item{node: n, parent: r.Ref.Parent})
			x.refer(c, n)
		} else {
			counted[stateNumber(Pending)]--
		}
		counted[stateNumber(r.State)]++
		x.believeOne(c, n, r, mode)
		if it != nil && it.more != nil && n.own == c && (n.know == landed || n.know == unknown) {
			x.hold(n, it.more.slots)
		}
	}
	for _, it := range old {
		x.unlink(c, &it)
	}
	x.count(c, counted)
}

// believeOne takes over one report. That of the owner counts more than that of another, and any more than none.
func (x *index) believeOne(c *claim, n *node, r report, mode Mode) {
	know := believed(r.Pushed, mode)
	if n.proven || n.busy || know == absent || n.own != c && n.know != absent && n.refs.size() > 1 {
		return
	}
	n.know, n.hash = know, parseDigest(r.Hash)
	n.lies(r.Ref.Parent)
	n.copied = r.State != Synced && r.State != Drifted
	n.seq++
	n.setDrift("")
	if r.State == Drifted {
		n.setDrift(cmp.Or(r.Message, "it was changed in the backend"))
	}
}
