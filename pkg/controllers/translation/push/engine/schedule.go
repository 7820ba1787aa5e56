// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"iter"
	"math/rand/v2"
	"time"

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

// shortage is what a resource needs and does not exist.
type shortage struct {
	// node is the first that is missing; nil when all are there.
	node *node
	// unlisted: no live Claim lists any that is missing. wait is then how much of the grace time is left for them.
	unlisted bool
	wait     time.Duration
}

// shortageOf determines which dependencies are missing.
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

// The times between tries.
const (
	retryFirst, retryLast       = time.Second, time.Minute
	rejectedFirst, rejectedLast = time.Minute, 30 * time.Minute
	missingFirst, missingLast   = 5 * time.Second, 5 * time.Minute

	// graceUnlisted is how long a resource waits for one that no Claim lists before it is tried even so: it may be there without a
	// Claim.
	graceUnlisted = 5 * time.Second
	// graceDependents is how long a delete waits for those that need the resource and have to go, too.
	graceDependents = 15 * time.Second
	// settleTime is how long after a Claim's content was first pushed waiting for another Claim is not worth a report.
	settleTime = 2 * time.Second
	// recheck is when what blocks a call for a moment is rechecked.
	recheck = 10 * time.Millisecond
	// conflictTries is how often a conflict with something unseen is taken for a lost race.
	conflictTries = 3
)

// backoff is how long to wait after the n-th try in a row failed, n from 1: first, doubled with each, at most last, and
// up to a tenth less by jitter, which is in [0, 1).
func backoff(n int, first, last time.Duration, jitter float64) time.Duration {
	d := first
	for range n - 1 {
		if d >= last/2 {
			d = last
			break
		}
		d *= 2
	}
	return d - time.Duration(jitter*float64(d)/10)
}

// jittered is backoff with a random jitter, so that those who failed together do not come back together.
func jittered(n int, first, last time.Duration) time.Duration {
	return backoff(n, first, last, rand.Float64())
}

// until is how long until t, at least recheck.
func until(t, now time.Time) time.Duration { return max(recheck, t.Sub(now)) }
