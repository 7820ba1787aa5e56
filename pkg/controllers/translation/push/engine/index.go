// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// index is the cached state of Claims and of the backend. The engine's mutex guards it.
type index struct {
	claims map[types.NamespacedName]*claim
	nodes  map[backend.Key]*node
	slots  occupants
	// doubling are the kinds that have resources with Doubles.
	doubling map[string]struct{}
	counts   tally
	// woken are the Claims to wake after the current use of the index, now is the time of that use.
	woken map[types.NamespacedName]struct{}
	now   time.Time
	// buried are the keys that were dropped since the current drift check began; nil if none is running.
	buried map[backend.Key]struct{}
}

// knowledge is the cached state of a resource in the backend.
type knowledge uint8

const (
	// absent: there is no record that the resource exists. It is the zero state.
	absent knowledge = iota
	// deleted: a response showed that the resource does not exist.
	deleted
	// landed: the resource exists, with the body that the node's hash is of.
	landed
	// unknown: the resource must be read before it is written.
	unknown
)

// node is a key that Claims list, have to delete, or need; or an alias that they need.
type node struct {
	// key is immutable, so it is read without the lock.
	key backend.Key
	// parent is the parent of the resource in the backend, if it exists. hash is the digest of the body that the backend accepted
	// last.
	parent string
	hash   digest
	know   knowledge
	// busy: a call for the resource is in progress. proven: this process has observed the resource, so earlier reports no longer
	// apply.
	busy, proven bool
	// copied: a copy may exist. misplaced: the resource is not in the desired order among its siblings.
	copied, misplaced bool
	// seq is incremented with every change of the fields above.
	seq uint32
	// unlisted is the time since which no live Claim lists the resource.
	unlisted moment
	// winner is the Claim that has won the resource, nil if no live Claim lists it. refs are all Claims that list it or have to delete
	// it.
	winner  *claim
	refs    set[claim]
	needers set[node]
	rare    *rare
}

// rare has the fields that are zero in most nodes.
type rare struct {
	// providers are the nodes that satisfy this alias.
	providers set[node]
	// waiters are the Claims to wake when the resource is created or deleted.
	waiters set[claim]
	// held are the slots that the node occupies.
	held []slot
	// drift describes how the resource differs from the pushed one; empty if it does not.
	drift string
}

// moment is a Unix time in nanoseconds, a third of the size of a time.Time; 0 is no time.
type moment int64

func momentOf(t time.Time) moment { return moment(t.UnixNano()) }

func (m moment) time() time.Time { return time.Unix(0, int64(m)) }

// claim is the cached state of a Claim.
type claim struct {
	name types.NamespacedName
	// uid and owner are zero if the Claim has none; created is a Unix time in microseconds.
	uid, owner id
	created    int64
	// wanted returns the items when they are needed; storing them would be most of the memory of a claim. content is their digest.
	wanted  Items
	content id
	// current and deleting are those of the Claim. pushed: this process has pushed it, so earlier reports no longer apply. wrote: a
	// push wrote to the backend since the content changed. synced: it was in sync since then.
	current, deleting, pushed, wrote, synced bool
	// gen is incremented with every change that a push depends on.
	gen uint32
	// seen is the time of the first push of the content.
	seen  moment
	items []item
	// tail are the resources that are no longer listed and not known to have been deleted, in their former order.
	tail  []item
	waits set[node]
	// retry is the failure that blocks the whole Claim: the backend did not respond.
	retry *trouble
	// blocked is the time since which a deletion waits for dependents.
	blocked moment
	// counted is the part of the counts that is due to this Claim.
	counted tally
}

// item is one resource of a claim.
type item struct {
	// node is nil if the item cannot be parsed; trouble then has the reason.
	node   *node
	parent string
	want   digest
	// in is the collection that contains the resource, zero if none does.
	in    unique.Handle[backend.Collection]
	needs []*node
	more  *extras
	// trouble is the failure because of which the resource is not tried now.
	trouble *trouble
	ordered bool
	doubles bool
}

// extras has the fields that are empty for most items.
type extras struct {
	aliases []*node
	slots   []slot
}

// trouble is a failure with the time of the next try.
type trouble struct {
	verdict
	tries int
	until time.Time
	// missing: a dependency that no Claim lists is missing. The trouble ends once it exists.
	missing bool
}

// ensureRare returns n's rare part, and creates it if there is none.
func (n *node) ensureRare() *rare {
	if n.rare == nil {
		n.rare = &rare{}
	}
	return n.rare
}

// drift describes how the resource differs from the pushed one.
func (n *node) drift() string {
	if n.rare == nil {
		return ""
	}
	return n.rare.drift
}

func (n *node) setDrift(message string) {
	if message != n.drift() {
		n.ensureRare().drift = message
	}
}

// wants reports whether c is live and lists n.
func (c *claim) wants(n *node) bool { return !c.deleting && c.listed(n) != nil }

// listed returns the item with which c lists n, or nil.
func (c *claim) listed(n *node) *item { return find(c.items, n) }

// item returns the item with which c lists n or has to delete it, or nil.
func (c *claim) item(n *node) *item {
	if it := find(c.items, n); it != nil {
		return it
	}
	return find(c.tail, n)
}

func find(items []item, n *node) *item {
	for i := range items {
		if items[i].node == n {
			return &items[i]
		}
	}
	return nil
}

// older orders Claims by age; the order of Claims of the same age is arbitrary but stable.
func older(a, b *claim) int {
	return cmp.Or(
		cmp.Compare(a.created, b.created),
		a.uid.compare(b.uid),
		cmp.Compare(a.name.Namespace, b.name.Namespace),
		cmp.Compare(a.name.Name, b.name.Name),
	)
}

// winnerOf returns the Claim that wins a resource, of all live Claims that list it: the oldest, or the current one if it has the
// same owner as the oldest. It returns nil if there are none.
func winnerOf(claims []*claim) *claim {
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

// elect determines the winner of n again, and wakes all Claims that a change affects.
func (x *index) elect(n *node) {
	var live []*claim
	for c := range n.refs.all() {
		if c.wants(n) {
			live = append(live, c)
		}
	}
	winner := winnerOf(live)
	if winner == n.winner {
		return
	}
	n.winner = winner
	if winner == nil {
		n.unlisted = momentOf(x.now)
		for a := range x.aliasesOf(n) {
			a.unlisted = n.unlisted
		}
	}
	x.wakeAll(n)
	x.wakeWaiters(n)
}
