// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"k8s.io/apimachinery/pkg/types"
)

// Observe takes over the current state of a Claim: a new one, a changed one, or one seen at start. It is cheap when nothing
// changed, and wakes the others whom a change concerns; the Claim itself is to be pushed by who knows that it changed. What was
// reported of a Claim counts until the Claim is pushed for the first time; after that the engine knows better.
func (e *Engine) Observe(c Claim) {
	e.observing.Lock()
	defer e.observing.Unlock()

	items := c.Items.List()
	s := sight{Claim: c, uid: idOf(c.UID), owner: idOf(c.Owner), content: contentOf(items)}

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

// Discard drops a Claim that has been deleted from the API server: its finalizer was removed or it never had one. What it left in
// the backend has no owner then.
func (e *Engine) Discard(name types.NamespacedName) {
	e.observing.Lock()
	defer e.observing.Unlock()
	e.with(func(x *index) {
		if c := x.claims[name]; c != nil {
			x.removeClaim(c)
		}
	})
}

// Items returns what a Claim wants, as observed last; nil when there is no such Claim.
func (e *Engine) Items(name types.NamespacedName) Items {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.x.claims[name]; c != nil {
		return c.wanted
	}
	return nil
}

// sight is a Claim as Observe got it, understood.
type sight struct {
	Claim
	uid, owner, content id
	// same: the items are those that the index has.
	same     bool
	readings []reading
	reported []report
}
