// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"
)

// older orders Claims by their age, and those of one age somehow.
func older(a, b *claim) int {
	return cmp.Or(
		cmp.Compare(a.created, b.created),
		a.uid.compare(b.uid),
		cmp.Compare(a.name.Namespace, b.name.Namespace),
		cmp.Compare(a.name.Name, b.name.Name),
	)
}

// ownerOf is the one that has a resource, of all live Claims that list it: the oldest, or, when another one of the same
// owner has the version that is written now, that one. It is nil of none.
func ownerOf(claims []*claim) *claim {
	if len(claims) == 0 {
		return nil
	}
	oldest := slices.MinFunc(claims, older)
	if oldest.owner == (id{}) || oldest.current {
		return oldest
	}
	best := oldest
	for _, c := range claims {
		if c.owner == oldest.owner && c.current && (best == oldest || older(c, best) < 0) {
			best = c
		}
	}
	return best
}

// reown decides again who has n, and wakes all whom a change concerns.
func (x *index) reown(n *node) {
	var live []*claim
	for c := range n.refs.all() {
		if c.brings(n) {
			live = append(live, c)
		}
	}
	own := ownerOf(live)
	if own == n.own {
		return
	}
	n.own = own
	x.touchUnlisted(n)
	x.wakeAll(n)
	x.wakeWaiters(n)
}

// touchUnlisted notes since when no Claim brings n, and what it is an alias's provider of.
func (x *index) touchUnlisted(n *node) {
	if n.own != nil {
		return
	}
	n.unlisted = momentOf(x.now)
	for a := range x.aliasesOf(n) {
		a.unlisted = n.unlisted
	}
}
