// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// take deletes one resource that the Claim does not want any more, unless another one does.
func (p *push) take(ctx context.Context, it *item, wanted *backend.Item) (verdict, error) {
	t, v := p.lookAway(it)
	if t == nil {
		return v, nil
	}
	if t.double {
		t.copied = p.copyOf(it, t.ref, wanted)
	}
	err := p.e.locks.do(ctx, lockOf(t.ref), func() error {
		if t.copied != nil {
			if err := ignoreDeleted(p.e.b.Delete(ctx, *t.copied)); err != nil {
				return err
			}
		}
		return ignoreDeleted(p.e.b.Delete(ctx, t.ref))
	})
	v = p.settleAway(ctx, it, t, err)
	if ends(ctx, err) {
		return v, err
	}
	return v, nil
}

// ignoreDeleted is err, or nil if it reports that there was nothing to delete.
func ignoreDeleted(err error) error {
	if err != nil && backend.ReasonOf(err) == backend.NotFound {
		return nil
	}
	return err
}

// taking is the deletion of a resource.
type taking struct {
	ref backend.Ref
	// double: its copy may be there, too. copied is where.
	double bool
	copied *backend.Ref
	seq    uint32
}

// lookAway decides whether a resource can be deleted now. If so its node is busy from here on.
func (p *push) lookAway(it *item) (*taking, verdict) {
	var t *taking
	var v verdict
	p.e.with(func(x *index) {
		n, c := it.node, p.c
		v = verdict{state: Deleting, reason: ReasonWaiting, key: n.key.String()}
		last := it.trouble
		if own := c.item(n); own != nil {
			last = own.trouble
		}
		switch {
		case c.gen != p.gen:
			v = overtaken(n)
		case n.own != nil:
			// It is handed over unchanged.
			x.wake(n.own)
			v = p.away(x, n)
		case n.know == deleted && !n.copied && !n.busy, x.displaced(it):
			v = p.away(x, n)
		case c.retry != nil && x.now.Before(c.retry.until):
			v = c.retry.blocked(v.key, x.now)
			v.state = Deleting
		case last != nil && x.now.Before(last.until):
			v = last.verdict
			v.retry = until(last.until, x.now)
		case n.busy:
			v.message = "a call for it is under way"
		default:
			if d := x.dependent(n, c); d != nil && !p.patient(x) {
				v.message, v.coming = "it waits until what needs it has been deleted", false
				v.retry = until(c.blocked.time().Add(graceDependents), x.now)
				x.waitFor(c, d)
				return
			}
			n.busy = true
			t = &taking{ref: backend.Ref{Key: n.key, Parent: it.parent}, seq: n.seq}
			if n.parent != "" {
				t.ref.Parent = n.parent
			}
			_, doubles := x.doubling[n.key.Kind]
			t.double = doubles && (n.copied || !n.proven || n.know == unknown)
		}
	})
	return t, v
}

// patient reports whether the Claim has waited long enough for dependents to go. The backend may delete them as well.
func (p *push) patient(x *index) bool {
	if p.c.blocked == 0 {
		p.c.blocked = momentOf(x.now)
	}
	return x.now.Sub(p.c.blocked.time()) >= graceDependents
}

// dependent is a resource that needs n and has to go, too, by a Claim other than c; nil when there is none.
func (x *index) dependent(n *node, c *claim) *node {
	leaves := func(m *node) bool {
		return m != n && m.own == nil && (m.know == landed || m.know == unknown) && m.refs.size() > 0 && !m.refs.has(c)
	}
	for m := range n.needers.all() {
		if leaves(m) {
			return m
		}
	}
	for a := range x.aliasesOf(n) {
		for m := range a.needers.all() {
			if leaves(m) {
				return m
			}
		}
	}
	return nil
}

// copyOf is where the copy of a resource is that is being deleted. The body is of no account for that.
func (p *push) copyOf(it *item, ref backend.Ref, wanted *backend.Item) *backend.Ref {
	r := backend.Resource{Ref: ref, Body: []byte("{}")}
	if wanted != nil {
		if resolved, err := p.e.b.Resolve(*wanted); err == nil {
			if !resolved.Doubles {
				return nil
			}
			r = resolved
		}
	}
	if c := p.e.b.Copy(r); c.Key != it.node.key {
		return &backend.Ref{Key: c.Key, Parent: ref.Parent}
	}
	return nil
}
