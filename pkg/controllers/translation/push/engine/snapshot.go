// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
	"unique"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// snapshotClaims is how many Claims are checked without letting go of the index.
const snapshotClaims = 500

// entry is a resource as the index had it when a drift pass began. A reconciliation has those of all resources at the same time.
type entry struct {
	c *claim
	n *node
	// wanted are the items of the Claim, place is that of the item among them, seq that of the node.
	wanted     Items
	place, seq uint32
	ordered    bool
	// check: it should be in the backend as wanted. Otherwise only its copy is of interest.
	check bool
}

// lister gives the items of entries. Those of one Claim mostly come one after the other, and its list is requested once.
type lister struct {
	mu    sync.Mutex
	c     *claim
	items []backend.Item
}

func (l *lister) item(en *entry) backend.Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.c != en.c || l.items == nil {
		l.c, l.items = en.c, en.wanted.List()
	}
	return l.items[en.place]
}

// snapshot are the entries by the collection that has them; those in none have to be read one by one.
type snapshot struct {
	listed map[backend.Collection][]entry
	alone  []entry
}

// snapshot records what the backend should have. Entries of one Claim in a collection stand together.
func (e *Engine) snapshot() snapshot {
	s := snapshot{listed: map[backend.Collection][]entry{}}
	var claims []*claim
	e.with(func(x *index) {
		x.buried = map[backend.Key]struct{}{}
		for _, c := range x.claims {
			claims = append(claims, c)
		}
	})
	for len(claims) > 0 {
		part := claims[:min(snapshotClaims, len(claims))]
		claims = claims[len(part):]
		e.with(func(*index) {
			for _, c := range part {
				s.add(c, e.o.Mode)
			}
		})
	}
	return s
}

// add enters what c has. A resource of another Claim is left to that one.
func (s *snapshot) add(c *claim, mode Mode) {
	for i := range c.items {
		it := &c.items[i]
		n := it.node
		if n == nil || n.own != c {
			continue
		}
		// What is to be repaired is left to that. What is only observed may be as wanted again.
		known := n.know == landed || n.drift() != "" && mode == Observe
		s.enter(entry{
			n: n, c: c, wanted: c.wanted, place: uint32(i), seq: n.seq, ordered: it.ordered,
			check: known && !n.busy && n.hash == it.want,
		}, it.in)
	}
}

// enter adds an entry to those of its collection, or to those without.
func (s *snapshot) enter(en entry, in unique.Handle[backend.Collection]) {
	switch {
	case in != (unique.Handle[backend.Collection]{}):
		in := in.Value()
		s.listed[in] = append(s.listed[in], en)
	case en.check:
		s.alone = append(s.alone, en)
	}
}

// parentState is what a reconciliation knows of a parent.
type parentState int

const (
	parentThere parentState = iota - 1
	// parentElsewhere: it is in no list of this reconciliation. It is the zero state.
	parentElsewhere
	parentAwaited
	parentMissing
)

// walk reads collections from the top down: what is under something that is missing is not requested, and a collection with nothing
// in it that should be there only when its parent was seen to be. What lies under something that no list has comes last, since it
// may need all the rest; and after that what lies under something that could not be read.
func (p *pass) walk(ctx context.Context) {
	waiting := map[backend.Collection]struct{}{}
	above := map[backend.Key]struct{}{}
	for c := range p.listed {
		above[parentOf(c)] = struct{}{}
	}
	for c, entries := range p.listed {
		for _, en := range entries {
			if _, ok := above[en.n.key]; ok {
				p.parents[en.n.key] = parentAwaited
			}
			if en.check {
				waiting[c] = struct{}{}
			}
		}
	}
	wave := p.e.b.Roots()
	for turn := parentThere; turn <= parentAwaited && ctx.Err() == nil; {
		for c := range waiting {
			switch state := p.parents[parentOf(c)]; {
			case state == parentMissing:
				p.skip(p.listed[c])
				delete(waiting, c)
			case state <= turn:
				wave = append(wave, c)
				delete(waiting, c)
			}
		}
		wave = p.fresh(wave)
		if len(wave) == 0 {
			turn++
			continue
		}
		turn = parentThere
		p.found = nil
		p.each(ctx, len(wave), func(i int) { p.readList(ctx, wave[i]) })
		wave = p.found
	}
}

// parentOf is the key of what a collection lies under.
func parentOf(c backend.Collection) backend.Key {
	return backend.Key{Kind: c.ParentKind, ID: c.Parent}
}

// fresh are those of the collections that were not read yet. They are noted as read.
func (p *pass) fresh(collections []backend.Collection) []backend.Collection {
	var out []backend.Collection
	for _, c := range collections {
		if _, ok := p.visited[c]; !ok {
			p.visited[c] = struct{}{}
			out = append(out, c)
		}
	}
	return out
}

// noteParents enters which of the parents among the entries of a list are there and which are missing.
func (p *pass) noteParents(list []backend.Observed, entries []entry) {
	for _, en := range entries {
		if _, ok := p.parents[en.n.key]; ok {
			p.parents[en.n.key] = parentMissing
		}
	}
	for i := range list {
		if _, ok := p.parents[list[i].Key]; ok {
			p.parents[list[i].Key] = parentThere
		}
	}
}

// skip enters that all of a collection is missing, for what it lies under is.
func (p *pass) skip(entries []entry) {
	var findings []finding
	for _, en := range entries {
		if en.check {
			findings = append(findings, missingFrom(en))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteParents(nil, entries)
	p.e.enter(findings, &p.report)
}
