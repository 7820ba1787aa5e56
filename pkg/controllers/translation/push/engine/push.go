// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// evictions is the maximum number of conflicting resources that one push deletes for a resource.
const evictions = 8

// Push creates, updates and deletes what a Claim requires, as far as that is possible now, and reports the result. Only one call
// for a Claim may run at a time. The error is that of ctx, one for which backend.ReasonOf returns Fenced, or ErrUnknownClaim.
func (e *Engine) Push(ctx context.Context, name types.NamespacedName) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	p := e.begin(name)
	if p == nil {
		return Outcome{}, fmt.Errorf("claim %s: %w", name, ErrUnknownClaim)
	}
	var err error
	switch {
	case e.o.Mode == Plan:
		err = p.plan(ctx)
	case p.deleting:
		err = p.clear(ctx)
	default:
		// Dependencies precede their dependents.
		for i := 0; i < len(p.items) && err == nil; i++ {
			err = p.pushItem(ctx, i)
		}
		if err == nil {
			err = p.shrink(ctx)
		}
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("push claim %s: %w", name, err)
	}
	return p.finish(), nil
}

// push is one run of Push.
type push struct {
	e *Engine
	c *claim
	// gen, deleting, wanted and items are those of the Claim when the push began. They are current as long as gen is equal to that
	// of the Claim.
	gen      uint32
	deleting bool
	wanted   []backend.Item
	items    []item
	// verdicts are the results for the items, swept those for the resources that have to be deleted.
	verdicts []verdict
	swept    map[*node]verdict
	// wrote: the push wrote to the backend.
	wrote bool
	// age is the time since the first push of the content.
	age time.Duration
}

// begin prepares a push; it returns nil if there is no such Claim.
func (e *Engine) begin(name types.NamespacedName) *push {
	var p *push
	var wanted Items
	e.with(func(x *index) {
		c := x.claims[name]
		if c == nil {
			return
		}
		x.stopWaiting(c)
		c.pushed = true
		if c.seen == 0 {
			c.seen = momentOf(x.now)
		}
		p = &push{
			e: e, c: c, gen: c.gen, deleting: c.deleting, items: c.items,
			verdicts: make([]verdict, len(c.items)), swept: map[*node]verdict{}, age: x.now.Sub(c.seen.time()),
		}
		wanted = c.wanted
	})
	if p != nil {
		p.wanted = wanted.List()
	}
	return p
}

// pushItem pushes one item, or records why that is not possible now.
func (p *push) pushItem(ctx context.Context, i int) error {
	for range evictions {
		l := p.assess(i)
		switch l.action {
		case actWrite:
			v, err := p.work(ctx, i, l.job)
			p.verdicts[i] = v
			return err
		case actEvict:
			v, err := p.deleteItem(ctx, l.evict, nil)
			if err != nil {
				return err
			}
			if v.deleted {
				continue
			}
			v.state = l.verdict.state
			p.verdicts[i] = v
		default:
			p.verdicts[i] = l.verdict
		}
		return nil
	}
	p.verdicts[i] = verdict{state: Pending, reason: ReasonWaiting, key: p.items[i].node.key.String(),
		message: "its place is being cleared", retry: recheck}
	return nil
}

// assessment is the result of assess.
type assessment struct {
	action  action
	verdict verdict
	// job is the work to do, evict the resource that has to be deleted first.
	job   *job
	evict *item
}

// assess decides on an item by the current state of the index. For actWrite it marks the node busy.
func (p *push) assess(i int) assessment {
	var l assessment
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

// overtaken returns the verdict on a resource that is not pushed because the Claim changed. The change has woken the Claim.
func overtaken(n *node) verdict {
	s := situation{know: n.know, hashed: n.hash != digest{}, copied: n.copied, drift: n.drift()}
	return verdict{
		state: s.waiting(), reason: ReasonWaiting, key: n.key.String(), message: "the list changed meanwhile",
		coming: true, retry: recheck,
	}
}

// situationOf returns the input of decide for an item, and the node that the item would have to wait for.
func (p *push) situationOf(x *index, it *item) (situation, *node) {
	n := it.node
	s := situation{
		key: n.key.String(), mode: p.e.o.Mode, now: x.now, know: n.know, same: n.hash == it.want, hashed: n.hash != digest{},
		misplaced: n.misplaced, copied: n.copied && it.doubles, busy: n.busy, drift: n.drift(), retry: p.c.retry, trouble: it.trouble,
	}
	if n.winner != p.c {
		if n.winner != nil {
			s.winner = n.winner.name.String()
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
		case m.winner != nil && m.winner.listed(m).wants(slot):
			s.slot = slotTaken
		case find(p.c.tail, m) != nil:
			s.slot = slotOwn
		default:
			s.slot = slotLeaving
		}
	}
	return s, at
}
