// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"
)

// wake has Claims pushed again.
func (x *index) wake(claims ...*claim) {
	if x.woken == nil {
		x.woken = map[types.NamespacedName]struct{}{}
	}
	for _, c := range claims {
		if x.claims[c.name] == c {
			x.woken[c.name] = struct{}{}
		}
	}
}

// wakeAll has all Claims pushed again that list n or have to delete it.
func (x *index) wakeAll(n *node) {
	for c := range n.refs.all() {
		x.wake(c)
	}
}

// waitFor has c woken when n is created, deleted, or changes its owner.
func (x *index) waitFor(c *claim, n *node) {
	n.rarely().waiters.add(c)
	c.waits.add(n)
}

// prioritize wakes those who bring n, or what it is an alias of, and were not pushed yet: other Claims wait for them.
func (x *index) prioritize(n *node) {
	if n.own != nil && !n.own.pushed {
		x.wake(n.own)
	}
	if n.rare == nil {
		return
	}
	for p := range n.rare.providers.all() {
		if p.own != nil && !p.own.pushed {
			x.wake(p.own)
		}
	}
}

// stopWaiting takes back all that c waits for. A push begins with it, and waits again where it has to.
func (x *index) stopWaiting(c *claim) {
	for n := range c.waits.all() {
		if n.rare != nil {
			n.rare.waiters.remove(c)
			x.drop(n)
		}
	}
	c.waits = set[node]{}
}

// wakeWaiters wakes those who wait for n or for an alias that n satisfies.
func (x *index) wakeWaiters(n *node) {
	x.wakeWaitersAt(n)
	for a := range x.aliasesOf(n) {
		x.wakeWaitersAt(a)
	}
}

func (x *index) wakeWaitersAt(n *node) {
	if n.rare == nil {
		return
	}
	for c := range n.rare.waiters.all() {
		x.wake(c)
	}
	n.rare.waiters = set[claim]{}
}

// aliasesOf are the aliases that n satisfies, in the view of all that list it. One can come more than once.
func (x *index) aliasesOf(n *node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for c := range n.refs.all() {
			it := c.item(n)
			if it == nil || it.more == nil {
				continue
			}
			for _, a := range it.more.aliases {
				if !yield(a) {
					return
				}
			}
		}
	}
}
