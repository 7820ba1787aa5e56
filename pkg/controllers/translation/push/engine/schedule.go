// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"iter"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// wake marks Claims to be pushed again.
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

// wakeAll wakes all Claims that list n or have to delete it.
func (x *index) wakeAll(n *node) {
	for c := range n.refs.all() {
		x.wake(c)
	}
}

// waitFor registers c to be woken when n is created, deleted, or gets another winner.
func (x *index) waitFor(c *claim, n *node) {
	n.ensureRare().waiters.add(c)
	c.waits.add(n)
}

// prioritize wakes the Claims that list n, or a resource that satisfies it, and were not pushed yet: other Claims wait for them.
func (x *index) prioritize(n *node) {
	if n.winner != nil && !n.winner.pushed {
		x.wake(n.winner)
	}
	if n.rare == nil {
		return
	}
	for p := range n.rare.providers.all() {
		if p.winner != nil && !p.winner.pushed {
			x.wake(p.winner)
		}
	}
}

// stopWaiting removes c from all nodes that it waits for. Each push begins with it and registers again where it has to.
func (x *index) stopWaiting(c *claim) {
	for n := range c.waits.all() {
		if n.rare != nil {
			n.rare.waiters.remove(c)
			x.drop(n)
		}
	}
	c.waits = set[node]{}
}

// wakeWaiters wakes the Claims that wait for n or for an alias that n satisfies.
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

// aliasesOf iterates over the aliases that n satisfies, according to all Claims that list it. An alias can occur more than once.
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

// shortage is a missing dependency of a resource.
type shortage struct {
	// node is the first missing dependency; nil if all exist.
	node *node
	// unlisted: no live Claim lists a missing dependency. wait is the remaining grace time.
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

// graceLeft returns the remaining time to wait for a node that no Claim lists.
func (x *index) graceLeft(m *node) time.Duration {
	return max(0, m.unlisted.time().Add(graceUnlisted).Sub(x.now))
}

// presence reports whether a resource, or one that satisfies an alias, exists, and whether a live Claim lists one that exists or
// will exist.
func (x *index) presence(m *node) (there, listed bool) {
	there, listed = m.know == landed, m.winner != nil
	if m.rare == nil || there && listed {
		return there, listed
	}
	for n := range m.rare.providers.all() {
		// A resource without a winner is about to be deleted, so it does not count.
		if n.know == landed && n.winner != nil {
			return true, true
		}
		there = there || n.know == landed
		listed = listed || n.winner != nil
	}
	return there && !listed, listed
}

// invalidate marks all direct and transitive dependents of n for verification: the backend may have deleted or cleared them
// together with n.
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

// doubt marks the state of n as unknown, and wakes the Claims that have to read it.
func (x *index) doubt(n *node) {
	switch {
	case n.busy:
		// The result of the call in progress may be outdated.
		n.seq++
		return
	case n.know != landed:
		return
	}
	n.know, n.proven = unknown, true
	n.seq++
	x.wakeAll(n)
}

// The delays between tries.
const (
	retryFirst, retryLast       = time.Second, time.Minute
	rejectedFirst, rejectedLast = time.Minute, 30 * time.Minute
	missingFirst, missingLast   = 5 * time.Second, 5 * time.Minute

	// graceUnlisted is the time that a resource waits for a dependency that no Claim lists before it is tried nevertheless: the
	// dependency may exist without a Claim.
	graceUnlisted = 5 * time.Second
	// graceDependents is the time that a deletion waits for the deletion of dependents.
	graceDependents = 15 * time.Second
	// settleTime is the time after the first push of a Claim's content during which waiting for another Claim is not reported.
	settleTime = 2 * time.Second
	// recheck is the delay before a short-lived blocker is checked again.
	recheck = 10 * time.Millisecond
	// conflictTries is the number of tries for which a conflict with an unknown resource is considered a lost race.
	conflictTries = 3
)

// backoff returns the delay after the n-th consecutive failure, from n = 1: first, doubled with each failure up to last, and
// reduced by up to a tenth by jitter, which is in [0, 1).
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

// jittered is backoff with a random jitter, which spreads retries of concurrent failures.
func jittered(n int, first, last time.Duration) time.Duration {
	return backoff(n, first, last, rand.Float64())
}

// until returns the time until t, at least recheck.
func until(t, now time.Time) time.Duration { return max(recheck, t.Sub(now)) }
