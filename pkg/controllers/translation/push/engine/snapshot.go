// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
	"unique"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// snapshotClaims is the number of Claims that are recorded per acquisition of the lock.
const snapshotClaims = 500

// entry is the state of a resource in the index when the drift check began.
type entry struct {
	c *claim
	n *node
	// wanted are the items of the Claim, place is the index of this item among them, seq is that of the node.
	wanted     Items
	place, seq uint32
	ordered    bool
	// check: the resource should be in sync. Otherwise only its copy is compared.
	check bool
}

// lister returns the items of entries. It caches the list of the last Claim, because entries of one Claim are usually adjacent.
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

// snapshot has the entries by the collection that contains them; alone are those that are in no list and are read one by one.
type snapshot struct {
	listed map[backend.Collection][]entry
	alone  []entry
}

// snapshot records the desired content of the backend. Entries of one Claim in a collection are adjacent.
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

// expected returns the number of resources that should be in sync.
func (s *snapshot) expected() int {
	n := len(s.alone)
	for _, entries := range s.listed {
		for _, en := range entries {
			if en.check {
				n++
			}
		}
	}
	return n
}

// add adds the resources that c has won.
func (s *snapshot) add(c *claim, mode Mode) {
	for i := range c.items {
		it := &c.items[i]
		n := it.node
		if n == nil || n.winner != c {
			continue
		}
		// Resources that a push will repair are not checked. In Observe mode no push repairs them, so they are checked: they may be
		// in sync again.
		known := n.know == landed || n.drift() != "" && mode == Observe
		en := entry{
			n: n, c: c, wanted: c.wanted, place: uint32(i), seq: n.seq, ordered: it.ordered,
			check: known && !n.busy && n.hash == it.want,
		}
		switch {
		case it.in != (unique.Handle[backend.Collection]{}):
			in := it.in.Value()
			s.listed[in] = append(s.listed[in], en)
		case en.check:
			s.alone = append(s.alone, en)
		}
	}
}

// parentState is the state of a parent in a drift check.
type parentState int

const (
	parentThere parentState = iota - 1
	// parentElsewhere: no list of this drift check contains it. It is the zero state.
	parentElsewhere
	parentAwaited
	parentMissing
)

// walk reads collections from the roots down. Collections under a missing parent are not read; a collection without expected
// resources is read only once its parent was found. Collections whose parent is in no list come last, since they may need all
// others, followed by those whose parent could not be read.
func (p *driftCheck) walk(ctx context.Context) {
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

func parentOf(c backend.Collection) backend.Key {
	return backend.Key{Kind: c.ParentKind, ID: c.Parent}
}

// fresh returns the collections that were not read yet, and marks them as read.
func (p *driftCheck) fresh(collections []backend.Collection) []backend.Collection {
	var out []backend.Collection
	for _, c := range collections {
		if _, ok := p.visited[c]; !ok {
			p.visited[c] = struct{}{}
			out = append(out, c)
		}
	}
	return out
}

// noteParents records which parents among the entries of a list exist and which are missing.
func (p *driftCheck) noteParents(list []backend.Observed, entries []entry) {
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

// skip records that all resources of a collection are missing, because their parent is.
func (p *driftCheck) skip(entries []entry) {
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
