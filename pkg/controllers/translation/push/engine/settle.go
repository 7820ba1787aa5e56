// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// settle enters what came of a job, and reports what that means for the item.
func (p *push) settle(ctx context.Context, i int, j *job, err error) verdict {
	var v verdict
	p.e.with(func(x *index) {
		it := &p.items[i]
		p.c.wrote = p.c.wrote || j.wrote
		x.learn(it.node, fact{know: j.know, hash: j.hash, parent: j.at.Parent, copied: j.copied, misplaced: j.misplaced, lost: j.lost, seq: j.seq, by: p.c})
		switch {
		case err == nil && it.node.know == landed:
			x.vacate(it.node, it.slots())
			it.trouble = nil
			p.c.retry = nil
			v = verdict{state: Synced, reason: ReasonSynced}
		case err == nil || p.c.gen != p.gen || ends(ctx, err):
			v = overtaken(it.node)
		default:
			v = p.failed(x, it, err)
		}
		v.key = it.node.key.String()
	})
	return v
}

// failed enters why a job failed, and when it is to be tried again.
func (p *push) failed(x *index, it *item, err error) verdict {
	s := situation{know: it.node.know, hashed: it.node.hash != digest{}, copied: it.node.copied, drift: it.node.drift()}
	v := verdict{state: s.waiting(), key: it.node.key.String(), code: codeOf(err), message: err.Error()}
	first, last := retryFirst, retryLast
	// It was tried although no Claim lists that. It may be why the backend rejects, regardless of the message.
	short := x.shortageOf(it).node
	switch reason := backend.ReasonOf(err); {
	case reason == backend.Transient:
		v.reason = ReasonRetrying
		return p.block(x, v)
	case reason == backend.NotFound:
		v.reason = ReasonWaiting
		if short != nil {
			first, last = missingFirst, missingLast
		} else {
			x.doubtNeeds(p.c, it)
		}
	case reason == backend.Conflict && it.trouble.next() < conflictTries:
		v.reason = ReasonRetrying
	case reason == backend.Conflict:
		v.state, v.reason = Failed, ReasonConflict
		first, last = rejectedFirst, rejectedLast
	default:
		v.state, v.reason = Failed, ReasonRefused
		first, last = rejectedFirst, rejectedLast
	}
	it.trouble = it.trouble.again(v, x.now, first, last)
	if short != nil {
		it.trouble.missing = true
		x.waitFor(p.c, short)
	}
	return it.trouble.verdict
}

// ends reports whether an error ends the whole push: it is not the resource's.
func ends(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || backend.ReasonOf(err) == backend.Fenced)
}

// block has the whole Claim wait: the backend does not respond, and the next resource would fare no better.
func (p *push) block(x *index, v verdict) verdict {
	p.c.retry = p.c.retry.again(v, x.now, retryFirst, retryLast)
	return p.c.retry.verdict
}

// blocked is the verdict on the resource with a key while t blocks its whole Claim: the backend's message is reported for the
// resource that it applies to.
func (t *trouble) blocked(key string, now time.Time) verdict {
	v := t.verdict
	v.retry = until(t.until, now)
	if v.key != key {
		v.reason, v.message, v.code, v.key = ReasonWaiting, "it waits until "+v.key+" was tried again", 0, key
	}
	return v
}

// next is the number of the try that failed now, after t.
func (t *trouble) next() int {
	if t == nil {
		return 1
	}
	return t.tries + 1
}

// again is the trouble after t, if any, of which v reports.
func (t *trouble) again(v verdict, now time.Time, first, last time.Duration) *trouble {
	v.retry = jittered(t.next(), first, last)
	return &trouble{verdict: v, tries: t.next(), until: now.Add(v.retry)}
}

// codeOf is the code of the response that an error is about; 0 when there was none.
func codeOf(err error) int {
	if e, ok := errors.AsType[*backend.Error](err); ok {
		return e.Code
	}
	return 0
}

// doubtNeeds has it verified whether what an item needs is there, for the backend reports that something is missing. c is woken
// when it is.
func (x *index) doubtNeeds(c *claim, it *item) {
	for _, m := range it.needs {
		x.doubt(m)
		if m.rare != nil {
			for n := range m.rare.providers.all() {
				x.doubt(n)
			}
		}
		if there, _ := x.presence(m); !there {
			x.waitFor(c, m)
		}
	}
}
