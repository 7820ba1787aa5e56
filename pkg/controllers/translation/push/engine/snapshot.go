// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"unique"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// snapshotClaims is how many Claims are looked at without letting go of the index.
const snapshotClaims = 500

// entry is a resource as the index had it when a drift pass began.
type entry struct {
	n *node
	c *claim
	// wanted are the items of the Claim, place is that of the item among them, seq that of the node.
	wanted  Items
	place   int
	seq     uint32
	ordered bool
	// check: it should be in the backend as wanted. Otherwise only its copy is of interest.
	check bool
}

// lister gives the items of entries. Those of one Claim mostly come one after the other, and its list is asked for once.
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

// snapshot takes down what the backend should have. Entries of one Claim in a collection stand together.
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

// add takes down what c has.
func (s *snapshot) add(c *claim, mode Mode) {
	for i := range c.items {
		it := &c.items[i]
		n := it.node
		if n == nil || n.own != c {
			continue
		}
		// What is to be put right is left to that. What is only observed may be as wanted again.
		known := n.know == landed || n.drift() != "" && mode == Observe
		en := entry{
			n: n, c: c, wanted: c.wanted, place: i, seq: n.seq, ordered: it.ordered,
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
