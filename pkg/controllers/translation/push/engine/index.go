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

// index is what is known of Claims and of the backend, in memory. The engine's mutex guards it.
type index struct {
	claims map[types.NamespacedName]*claim
	nodes  map[backend.Key]*node
	slots  occupants
	// doubling are the kinds of which some resource doubles.
	doubling map[string]struct{}
	counts   tally
	// woken are the Claims that the current use of the index concerns, now its time.
	woken map[types.NamespacedName]struct{}
	now   time.Time
	// buried, while a drift pass runs, are the keys that were dropped since it began.
	buried map[backend.Key]struct{}
}

func newIndex() index {
	return index{
		claims:   map[types.NamespacedName]*claim{},
		nodes:    map[backend.Key]*node{},
		slots:    occupants{},
		doubling: map[string]struct{}{},
	}
}

// knowledge is what is known of a resource in the backend.
type knowledge uint8

const (
	// absent: nothing reports that it is there.
	absent knowledge = iota
	// absent: it was seen not to be there.
	deleted
	// landed: it is there, with the body of the node's hash.
	landed
	// unknown: it must be read before it is written.
	unknown
)

// node is a key that Claims list, have to delete, or need; or an alias that they need.
type node struct {
	// key does not change: it is read without the lock.
	key backend.Key
	// parent is where the resource lies, if it exists. hash is that of the body that the backend accepted last.
	parent string
	hash   digest
	know   knowledge
	// busy: a call for it is under way. proven: this process knows better than what was reported by one before.
	busy, proven bool
	// copied: a copy of it may be there. misplaced: it does not stand where it should among its siblings.
	copied, misplaced bool
	// seq changes whenever what is known does.
	seq uint32
	// unlisted is since when no live Claim brings it.
	unlisted moment
	// own is the live Claim that has it, nil when no live one lists it. refs are all that list it or have to delete it.
	own  *claim
	refs set[claim]
	// needers are the nodes that need it.
	needers set[node]
	rare    *rare
}

// rare is what most nodes do not have.
type rare struct {
	// providers are the nodes that satisfy an alias.
	providers set[node]
	// waiters are the Claims to wake when it is created or deleted.
	waiters set[claim]
	// held are the slots that it holds.
	held []slot
	// drift reports how the backend has it otherwise; empty: it does not.
	drift string
}

// moment is a time in nanoseconds of Unix time, a third as long as a time.Time; 0: never.
type moment int64

func momentOf(t time.Time) moment { return moment(t.UnixNano()) }

func (m moment) time() time.Time { return time.Unix(0, int64(m)) }

// claim is a Claim and what is known of it.
type claim struct {
	name types.NamespacedName
	// uid and owner are zero where a Claim has none, created is in microseconds of Unix time.
	uid, owner id
	created    int64
	// wanted gives the items whenever they are needed: their text is most of a Claim. content notifies them from others.
	wanted  Items
	content id
	// current and deleting as the Claim specifies. pushed: it was pushed by this process, which thereby knows better than what was
	// reported. wrote: something was written for the content. synced: it was in sync since.
	current, deleting, pushed, wrote, synced bool
	// gen changes with everything that a push depends on.
	gen uint32
	// seen is when the content was first pushed.
	seen  moment
	items []item
	// tail are the resources that are no longer listed and not known to have been deleted, in the order they were listed in.
	tail []item
	// waits are the nodes that it waits for.
	waits set[node]
	// retry is the trouble that blocks the whole Claim: the backend did not respond.
	retry *trouble
	// blocked is since when a delete waits for dependents.
	blocked moment
	// counted is what the counts have of it.
	counted tally
}

// item is one resource of a claim.
type item struct {
	// node is nil when the item cannot be understood, trouble reports why.
	node   *node
	parent string
	want   digest
	// in is the collection that has it, zero if none has.
	in    unique.Handle[backend.Collection]
	needs []*node
	more  *extras
	// trouble is why it is not tried now.
	trouble *trouble
	ordered bool
	doubles bool
}

// extras are what few resources have.
type extras struct {
	aliases []*node
	slots   []slot
}

// trouble is a failure that is not tried again before its time.
type trouble struct {
	verdict
	tries int
	until time.Time
	// missing: something that no client lists is needed. It ends when that lands.
	missing bool
}

// rarely is n's rare part, made when there is none.
func (n *node) rarely() *rare {
	if n.rare == nil {
		n.rare = &rare{}
	}
	return n.rare
}

// drift reports how the backend has n otherwise than it was pushed.
func (n *node) drift() string {
	if n.rare == nil {
		return ""
	}
	return n.rare.drift
}

func (n *node) setDrift(message string) {
	if message != n.drift() {
		n.rarely().drift = message
	}
}

// brings reports whether c is live and lists n.
func (c *claim) brings(n *node) bool { return !c.deleting && c.listed(n) != nil }

// listed is the item with which c lists n, or nil.
func (c *claim) listed(n *node) *item { return find(c.items, n) }

// item is the item with which c lists n or has to delete it, or nil.
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
