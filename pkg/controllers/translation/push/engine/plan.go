// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"
)

// plan finds out what a push would do, and writes nothing. What is known to be in sync is not read.
func (p *push) plan(ctx context.Context) error {
	for i := range p.items {
		v, known := p.foresee(&p.items[i])
		if !known {
			var err error
			if v, err = p.compareOne(ctx, i); err != nil {
				return err
			}
		}
		p.verdicts[i] = v
	}
	p.e.with(func(x *index) {
		for i := range p.c.tail {
			n := p.c.tail[i].node
			p.swept[n] = verdict{state: Deleting, reason: ReasonPlanned, key: n.key.String(), message: "would delete"}
			if n.own != nil {
				p.swept[n] = verdict{state: Deleting, reason: ReasonPlanned, key: n.key.String(), message: "would hand over to " + n.own.name.String()}
			}
		}
	})
	return nil
}

// foresee is the verdict on an item that needs no read.
func (p *push) foresee(it *item) (v verdict, known bool) {
	p.e.with(func(*index) {
		n := it.node
		switch {
		case n == nil && p.deleting:
			v, known = verdict{reason: ReasonSynced, away: true}, true
		case n == nil:
			v, known = it.trouble.verdict, true
		case p.c.gen != p.gen:
			v, known = overtaken(n), true
		case p.deleting && n.own != nil:
			v, known = verdict{reason: ReasonSynced, away: true}, true
		case p.deleting && n.know == landed:
			v, known = verdict{state: Deleting, reason: ReasonPlanned, message: "would delete"}, true
		case p.deleting:
		case n.own != p.c:
			_, v = decide(situation{winner: n.own.name.String()})
			known = true
		case n.know == landed && n.hash == it.want:
			v, known = verdict{state: Synced, reason: ReasonSynced}, true
		}
		if n != nil {
			v.key = n.key.String()
		}
	})
	return v, known
}

// compareOne reads what the backend has of an item, and reports what would be done about it.
func (p *push) compareOne(ctx context.Context, i int) (verdict, error) {
	it := &p.items[i]
	want, err := p.e.b.Resolve(p.wanted[i])
	if err != nil {
		return misunderstood(err).verdict, nil
	}
	have, there, err := p.e.b.Get(ctx, want)
	if ctx.Err() != nil {
		return verdict{}, ctx.Err()
	}
	v := verdict{state: Pending, reason: ReasonPlanned, key: it.node.key.String()}
	switch {
	case ignoreDeleted(err) != nil:
		v.message, v.code, v.reason, v.retry = err.Error(), codeOf(err), ReasonRetrying, jittered(1, retryLast, retryLast)
	case p.deleting && !there:
		return verdict{reason: ReasonSynced, away: true}, nil
	case p.deleting:
		v.state, v.message = Deleting, "would delete"
	case !there:
		v.message = "would create"
	case have.Parent != want.Parent:
		v.message = "would move from " + have.Parent
	default:
		fields := p.e.b.Differences(want, have)
		switch {
		case len(fields) == 0:
			v.message = "would adopt"
		case want.Updatable:
			v.message = "would update: fields " + strings.Join(fields, ", ")
		default:
			v.message = "would replace: fields " + strings.Join(fields, ", ")
		}
	}
	return v, nil
}
