// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

// outlook is what look found.
type outlook struct {
	action  action
	verdict verdict
	// job is what to do, evict what has to go first.
	job   *job
	evict *item
}

// look decides on an item by what the index knows now. For actWrite the node is busy from here on.
func (p *push) look(i int) outlook {
	var l outlook
	p.e.with(func(x *index) {
		it := &p.items[i]
		if it.node == nil {
			l.verdict = it.trouble.verdict
			return
		}
		if p.c.gen != p.gen {
			l.verdict = overtaken(it.node)
			return
		}
		s, at := p.situationOf(x, it)
		l.action, l.verdict = decide(s)
		l.verdict.key = s.key
		switch l.action {
		case actWait:
			x.waitFor(p.c, at)
			x.prioritize(at)
		case actEvict:
			evict := *find(p.c.tail, at)
			l.evict = &evict
		case actWrite:
			l.job = p.jobFor(x, i)
		}
	})
	return l
}

// overtaken is the verdict on what is not checked any more because the Claim changed. The change woke the Claim.
func overtaken(n *node) verdict {
	s := situation{know: n.know, hashed: n.hash != digest{}, copied: n.copied, drift: n.drift()}
	return verdict{
		state: s.waiting(), reason: ReasonWaiting, key: n.key.String(), message: "the list changed meanwhile",
		coming: true, retry: recheck,
	}
}

// situationOf collects what decides on an item, and the node that it would have to wait for.
func (p *push) situationOf(x *index, it *item) (situation, *node) {
	n := it.node
	s := situation{
		key: n.key.String(), mode: p.e.o.Mode, now: x.now, know: n.know, same: n.hash == it.want, hashed: n.hash != digest{}, misplaced: n.misplaced,
		copied: n.copied && it.doubles, busy: n.busy, drift: n.drift(), retry: p.c.retry, trouble: it.trouble,
	}
	if n.own != p.c {
		if n.own != nil {
			s.winner = n.own.name.String()
		}
		return s, n
	}
	at := n
	s.short = x.shortageOf(it)
	if s.short.node != nil {
		at = s.short.node
		s.missing = at.key.String()
		return s, at
	}
	if m, slot := x.holder(it); m != nil && !n.busy {
		at = m
		s.slotter = m.key.String()
		switch {
		case m.own != nil && m.own.listed(m).wants(slot):
			s.slot = slotTaken
		case find(p.c.tail, m) != nil:
			s.slot = slotOwn
		default:
			s.slot = slotLeaving
		}
	}
	return s, at
}
