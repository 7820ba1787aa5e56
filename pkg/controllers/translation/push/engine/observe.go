// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Observe updates the cached state of a Claim: a new one, a changed one, or one that existed at startup. It is cheap if nothing
// changed. It wakes other Claims that a change affects; the caller pushes the Claim itself. The reported state of a Claim is used
// until its first push; after that the engine's own state takes precedence.
func (e *Engine) Observe(c Claim) {
	e.observing.Lock()
	defer e.observing.Unlock()

	items := c.Items.List()
	s := observation{Claim: c, uid: idOf(c.UID), owner: idOf(c.Owner), content: contentOf(items)}

	e.mu.Lock()
	old := e.x.claims[c.Name]
	s.same = old != nil && old.uid == s.uid && old.content == s.content
	pushed := old != nil && old.uid == s.uid && old.pushed
	e.mu.Unlock()

	if !s.same {
		s.readings = e.read(items)
	}
	if !pushed {
		s.reported = e.locate(c.Pushed)
	}
	e.with(func(x *index) {
		x.observe(s, e.o.Mode)
		delete(x.woken, c.Name)
	})
}

// Discard removes a Claim that has been deleted from the API server, because its finalizer was removed or it never had one. Its
// remaining resources in the backend become orphans.
func (e *Engine) Discard(name types.NamespacedName) {
	e.observing.Lock()
	defer e.observing.Unlock()
	e.with(func(x *index) {
		if c := x.claims[name]; c != nil {
			x.removeClaim(c)
		}
	})
}

// Items returns the last observed items of a Claim; nil if there is no such Claim.
func (e *Engine) Items(name types.NamespacedName) Items {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.x.claims[name]; c != nil {
		return c.wanted
	}
	return nil
}

// observation is a Claim that Observe received, parsed.
type observation struct {
	Claim
	uid, owner, content id
	// same: the items are equal to those in the index.
	same     bool
	readings []reading
	reported []report
}

// observe updates the index with a Claim.
func (x *index) observe(s observation, mode Mode) {
	c := x.claims[s.Name]
	if c != nil && c.uid != s.uid {
		x.removeClaim(c)
		c = nil
	}
	isNew := c == nil
	if isNew {
		c = &claim{name: s.Name, uid: s.uid}
		x.claims[s.Name] = c
	}
	changed := isNew || !s.same || c.deleting != s.Deleting || c.current != s.Current || c.owner != s.owner ||
		c.created != s.Created.UnixMicro()
	// The caller stores the items, so the index refers to the newest ones and does not copy them.
	c.wanted = s.Items
	if !changed && c.pushed {
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
		// A failure to create a resource does not block its deletion.
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
			x.elect(n)
		}
	}
	if !c.pushed {
		x.loadReports(c, s.reported, mode)
	}
}

// relist replaces the items of c. Resources that are no longer listed have to be deleted.
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
			x.elect(it.node)
		}
	}
}

// implied returns what a report implies about the backend. A resource that is not in sync has to be read, because a call may have
// been in progress when the report was written. A pending resource that was never accepted does not exist.
func implied(p Pushed, mode Mode) knowledge {
	switch hash := parseDigest(p.Hash); {
	case hash != digest{} && (p.State == Synced || p.State == Drifted && mode == Observe):
		return landed
	case p.Hash == "" && (p.State == Pending || p.State == NotApplicable):
		return absent
	default:
		return unknown
	}
}

// loadReports loads the reported state of c: the state of resources that the engine has not observed itself, and the resources that are
// not listed any more and have to be deleted.
func (x *index) loadReports(c *claim, reports []report, mode Mode) {
	old := c.tail
	c.tail = nil
	var counted tally
	counted[stateNumber(Pending)] = int32(len(c.items))
	for _, r := range reports {
		n := x.node(r.Key)
		it := c.listed(n)
		if it == nil {
			c.tail = append(c.tail, item{node: n, parent: r.Ref.Parent})
			n.refs.add(c)
		} else {
			counted[stateNumber(Pending)]--
		}
		counted[stateNumber(r.State)]++
		x.loadReport(c, n, r, mode)
		if it != nil && it.more != nil && n.winner == c && (n.know == landed || n.know == unknown) {
			x.hold(n, it.more.slots)
		}
	}
	for _, it := range old {
		x.unlink(c, &it)
	}
	x.count(c, counted)
}

// loadReport loads one report. The report of the Claim that has won the resource takes precedence over others.
func (x *index) loadReport(c *claim, n *node, r report, mode Mode) {
	know := implied(r.Pushed, mode)
	if n.proven || n.busy || know == absent || n.winner != c && n.know != absent && n.refs.size() > 1 {
		return
	}
	n.know, n.hash = know, parseDigest(r.Hash)
	n.setParent(r.Ref.Parent)
	n.copied = r.State != Synced && r.State != Drifted
	n.seq++
	n.setDrift("")
	if r.State == Drifted {
		n.setDrift(cmp.Or(r.Message, "it was changed in the backend"))
	}
}
