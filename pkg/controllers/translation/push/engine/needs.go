// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// shortage is what a resource needs and does not exist.
type shortage struct {
	// node is the first that is missing; nil when all are there.
	node *node
	// unlisted: no live Claim lists any that is missing. wait is then how much of the grace time is left for them.
	unlisted bool
	wait     time.Duration
}

// shortageOf looks for what it needs.
func (x *index) shortageOf(it *item) shortage {
	var s shortage
	for _, m := range it.needs {
		there, listed := x.presence(m)
		switch {
		case there && listed:
		case listed:
			return shortage{node: m}
		case s.node == nil:
			s = shortage{node: m, unlisted: true, wait: x.graceLeft(m)}
		default:
			s.wait = max(s.wait, x.graceLeft(m))
		}
	}
	return s
}

// graceLeft is how long to wait for a node that no client lists.
func (x *index) graceLeft(m *node) time.Duration {
	return max(0, m.unlisted.time().Add(graceUnlisted).Sub(x.now))
}

// presence reports whether a resource, or one that satisfies an alias, is there, and whether a live Claim lists one that is or will
// be.
func (x *index) presence(m *node) (there, listed bool) {
	there, listed = m.know == landed, m.own != nil
	if m.rare == nil || there && listed {
		return there, listed
	}
	for n := range m.rare.providers.all() {
		// One that is there but has no owner is about to be deleted, and counts as little as one that is still to come.
		if n.know == landed && n.own != nil {
			return true, true
		}
		there = there || n.know == landed
		listed = listed || n.own != nil
	}
	return there && !listed, listed
}

// invalidate marks all that directly or not needs n: the backend may have deleted or cleared it together with n.
func (x *index) invalidate(n *node) {
	seen := map[*node]struct{}{n: {}}
	for queue := []*node{n}; len(queue) > 0; queue = queue[1:] {
		m := queue[0]
		for a := range x.aliasesOf(m) {
			if _, done := seen[a]; !done {
				seen[a] = struct{}{}
				queue = append(queue, a)
			}
		}
		x.loadEvicted(m)
		for d := range m.needers.all() {
			if _, done := seen[d]; done {
				continue
			}
			seen[d] = struct{}{}
			x.doubt(d)
			queue = append(queue, d)
		}
	}
}

// doubt notes that it is no longer known what the backend has of n, and wakes who has to find out.
func (x *index) doubt(n *node) {
	switch {
	case n.busy:
		// Whatever the call under way comes to, it is not the last word.
		n.seq++
		return
	case n.know != landed:
		return
	}
	n.know, n.proven = unknown, true
	n.seq++
	x.wakeAll(n)
}
