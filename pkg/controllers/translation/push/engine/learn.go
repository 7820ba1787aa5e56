// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// fact is the result of one or several calls for a resource.
type fact struct {
	know              knowledge
	hash              digest
	parent            string
	copied, misplaced bool
	// lost: the resource was deleted, and the backend may have deleted or cleared its dependents.
	lost bool
	// seq is that of the node when the calls began, by the Claim that made them, or nil.
	seq uint32
	by  *claim
}

// learn records a fact about a busy node and ends the busy state. If the node changed meanwhile, the fact may be outdated, so a
// resource that exists has to be read again.
func (x *index) learn(n *node, f fact) {
	before := n.know
	overtaken := n.seq != f.seq
	n.busy = false
	n.seq++
	n.know, n.hash, n.copied, n.misplaced = f.know, f.hash, f.copied, f.misplaced
	n.proven = n.proven || f.know != absent
	if f.know == landed || f.know == unknown {
		n.setParent(f.parent)
	}
	if f.know == landed || f.know == deleted {
		n.setDrift("")
	}
	if overtaken && n.know == landed {
		n.know = unknown
		x.wakeAll(n)
	}
	if f.lost {
		x.invalidate(n)
	}
	switch {
	case n.know == absent || n.know == deleted:
		n.hash, n.parent, n.misplaced = digest{}, "", false
		x.release(n)
		x.wakeWaiters(n)
	case n.know == landed && before != landed:
		x.wakeWaiters(n)
	}
	for c := range n.refs.all() {
		if c != f.by {
			x.wake(c)
		}
	}
	x.drop(n)
}

// settle records the result of a job and returns the verdict on the item.
func (p *push) settle(ctx context.Context, i int, j *job, err error) verdict {
	var v verdict
	p.e.with(func(x *index) {
		it := &p.items[i]
		p.wrote = p.wrote || j.wrote
		p.c.wrote = p.c.wrote || j.wrote
		x.learn(it.node, fact{know: j.know, hash: j.hash, parent: j.at.Parent, copied: j.copied, misplaced: j.misplaced,
			lost: j.lost, seq: j.seq, by: p.c})
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

// failed records why a job failed, and the time of the next try.
func (p *push) failed(x *index, it *item, err error) verdict {
	s := situation{know: it.node.know, hashed: it.node.hash != digest{}, copied: it.node.copied, drift: it.node.drift()}
	v := verdict{state: s.waiting(), key: it.node.key.String(), code: codeOf(err), message: err.Error()}
	first, last := retryFirst, retryLast
	// A dependency that no Claim lists may be the cause of the rejection, regardless of the message.
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

// ends reports whether an error ends the whole push, because it is not specific to the resource.
func ends(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || backend.ReasonOf(err) == backend.Fenced)
}

// block makes the whole Claim wait: the backend does not respond, so the next resource would fail as well.
func (p *push) block(x *index, v verdict) verdict {
	p.c.retry = p.c.retry.again(v, x.now, retryFirst, retryLast)
	return p.c.retry.verdict
}

// blocked returns the verdict on the resource with a key while t blocks its whole Claim. Only the resource that failed has the
// backend's message.
func (t *trouble) blocked(key string, now time.Time) verdict {
	v := t.verdict
	v.retry = until(t.until, now)
	if v.key != key {
		v.reason, v.message, v.code, v.key = ReasonWaiting, "it waits until "+v.key+" was tried again", 0, key
	}
	return v
}

// next returns the number of the current try, which follows t.
func (t *trouble) next() int {
	if t == nil {
		return 1
	}
	return t.tries + 1
}

// again returns the failure that follows t, which may be nil, with the verdict v.
func (t *trouble) again(v verdict, now time.Time, first, last time.Duration) *trouble {
	v.retry = jittered(t.next(), first, last)
	return &trouble{verdict: v, tries: t.next(), until: now.Add(v.retry)}
}

// codeOf returns the status code of the response that caused an error; 0 if there was none.
func codeOf(err error) int {
	if e, ok := errors.AsType[*backend.Error](err); ok {
		return e.Code
	}
	return 0
}

// doubtNeeds marks the dependencies of an item for verification, because the backend reports that one is missing. c is woken when
// they exist.
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

// finishItem removes a resource from the Claim's tail and returns the verdict that nothing is left of it.
func (p *push) finishItem(x *index, n *node) verdict {
	x.untail(p.c, n)
	return verdict{reason: ReasonSynced, deleted: true}
}

// untail removes a resource from the tail of c.
func (x *index) untail(c *claim, n *node) {
	if i := slices.IndexFunc(c.tail, func(it item) bool { return it.node == n }); i >= 0 {
		it := c.tail[i]
		if c.tail = slices.Delete(c.tail, i, i+1); len(c.tail) == 0 {
			c.tail = nil
		}
		x.unlink(c, &it)
	}
}

// endDeletion records the result of a deletion and returns the verdict.
func (p *push) endDeletion(ctx context.Context, it *item, t *deletion, err error) verdict {
	v := verdict{state: Deleting, reason: ReasonRetrying, key: it.node.key.String()}
	p.e.with(func(x *index) {
		n, c := it.node, p.c
		f := fact{know: deleted, lost: true, seq: t.seq, by: c}
		if err != nil {
			f = fact{know: unknown, hash: n.hash, parent: t.ref.Parent, copied: n.copied || t.double, misplaced: n.misplaced, seq: t.seq, by: c}
			f.lost = backend.ReasonOf(err) == backend.Transient
		}
		x.learn(n, f)
		current := c.item(n)
		if err == nil {
			p.wrote = true
			c.retry = nil
			if current != nil {
				current.trouble = nil
			}
			v = p.finishItem(x, n)
			return
		}
		v.message, v.code = err.Error(), codeOf(err)
		if ends(ctx, err) {
			return
		}
		if backend.ReasonOf(err) == backend.Transient {
			v = p.block(x, v)
			return
		}
		first, last := retryFirst, retryLast
		if backend.ReasonOf(err) == backend.Refused {
			v.state, v.reason = Failed, ReasonRefused
			first, last = rejectedFirst, rejectedLast
		}
		if current != nil {
			current.trouble = current.trouble.again(v, x.now, first, last)
			v = current.trouble.verdict
		}
	})
	return v
}
