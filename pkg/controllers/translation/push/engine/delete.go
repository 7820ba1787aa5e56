// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// deleteItem deletes a resource that the Claim no longer lists, unless another Claim lists it.
func (p *push) deleteItem(ctx context.Context, it *item, wanted *backend.Item) (verdict, error) {
	t, v := p.beginDeletion(it)
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
	v = p.endDeletion(ctx, it, t, err)
	if ends(ctx, err) {
		return v, err
	}
	return v, nil
}

// ignoreDeleted returns err, or nil if the resource did not exist.
func ignoreDeleted(err error) error {
	if err != nil && backend.ReasonOf(err) == backend.NotFound {
		return nil
	}
	return err
}

type deletion struct {
	ref backend.Ref
	// double: its copy may exist, too. copied is the location of the copy.
	double bool
	copied *backend.Ref
	seq    uint32
}

// beginDeletion decides whether a resource can be deleted now. If so, it marks the node busy.
func (p *push) beginDeletion(it *item) (*deletion, verdict) {
	var t *deletion
	var v verdict
	p.e.with(func(x *index) {
		n, c := it.node, p.c
		v = verdict{state: Deleting, reason: ReasonWaiting, key: n.key.String()}
		last := it.trouble
		if current := c.item(n); current != nil {
			last = current.trouble
		}
		switch {
		case c.gen != p.gen:
			v = overtaken(n)
		case n.winner != nil:
			// The winner takes over the resource unchanged.
			x.wake(n.winner)
			v = p.finishItem(x, n)
		case n.know == deleted && !n.copied && !n.busy, x.displaced(it):
			v = p.finishItem(x, n)
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
			t = &deletion{ref: backend.Ref{Key: n.key, Parent: it.parent, Claim: c.name}, seq: n.seq}
			if n.parent != "" {
				t.ref.Parent = n.parent
			}
			_, doubles := x.doubling[n.key.Kind]
			t.double = doubles && (n.copied || !n.proven || n.know == unknown)
		}
	})
	return t, v
}

// patient reports whether the Claim has waited long enough for the deletion of dependents. The backend may delete them together
// with the resource.
func (p *push) patient(x *index) bool {
	if p.c.blocked == 0 {
		p.c.blocked = momentOf(x.now)
	}
	return x.now.Sub(p.c.blocked.time()) >= graceDependents
}

// dependent returns a resource that needs n and that another Claim than c has to delete; nil if there is none.
func (x *index) dependent(n *node, c *claim) *node {
	leaves := func(m *node) bool {
		return m != n && m.winner == nil && (m.know == landed || m.know == unknown) && m.refs.size() > 0 && !m.refs.has(c)
	}
	for _, provided := range append([]*node{n}, slices.Collect(x.aliasesOf(n))...) {
		for m := range provided.needers.all() {
			if leaves(m) {
				return m
			}
		}
	}
	return nil
}

// copyOf returns the location of the copy of a resource that is being deleted. The location does not depend on the body.
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

// clear deletes everything that a Claim has, or may have, in the backend. Items that were never reported are included: a process
// may have created them just before it exited.
func (p *push) clear(ctx context.Context) error {
	var list []leaving
	p.e.with(func(*index) {
		for i := range p.items {
			list = append(list, leaving{item: p.items[i], wanted: &p.wanted[i]})
		}
		for _, it := range p.c.tail {
			list = append(list, leaving{item: it})
		}
	})
	if err := p.sweep(ctx, list); err != nil {
		return err
	}
	for i := range p.items {
		if n := p.items[i].node; n != nil {
			p.verdicts[i] = p.swept[n]
		} else {
			p.verdicts[i] = verdict{deleted: true, reason: ReasonSynced}
		}
	}
	return nil
}

// leaving is a resource that has to be deleted, with the Claim's item if there still is one.
type leaving struct {
	item
	wanted *backend.Item
}

// sweep deletes the resources of a list in the reverse order, dependents first. It waits for dependents for a limited time, and
// breaks cycles at an arbitrary resource.
func (p *push) sweep(ctx context.Context, list []leaving) error {
	slices.Reverse(list)
	list = slices.DeleteFunc(list, func(l leaving) bool { return l.node == nil })
	needed := map[*node]int{}
	for _, l := range list {
		for _, m := range l.needs {
			needed[m]++
		}
	}
	stays := false
	for len(list) > 0 {
		i := slices.IndexFunc(list, func(l leaving) bool { return !l.needed(needed) })
		if i < 0 && stays && p.waitForOwn(list) {
			return nil
		}
		i = max(i, 0)
		l := list[i]
		list = slices.Delete(list, i, i+1)
		v, err := p.deleteItem(ctx, &l.item, l.wanted)
		if err != nil {
			return err
		}
		p.swept[l.node] = v
		if stays = stays || !v.deleted; !v.deleted {
			continue
		}
		for _, m := range l.needs {
			needed[m]--
		}
	}
	return nil
}

// waitForOwn makes the remaining resources of a list wait for their dependents in the list, and reports whether they may still
// wait.
func (p *push) waitForOwn(list []leaving) (waits bool) {
	p.e.with(func(x *index) {
		if waits = !p.patient(x); !waits {
			return
		}
		for _, l := range list {
			p.swept[l.node] = verdict{
				state: Deleting, reason: ReasonWaiting, key: l.node.key.String(), message: "it waits until what needs it has been deleted",
				retry: until(p.c.blocked.time().Add(graceDependents), x.now),
			}
		}
	})
	return waits
}

// needed reports whether another resource needs this one, or an alias that it satisfies.
func (l *leaving) needed(counts map[*node]int) bool {
	if counts[l.node] > 0 {
		return true
	}
	return l.more != nil && slices.ContainsFunc(l.more.aliases, func(a *node) bool { return counts[a] > 0 })
}

// shrink deletes the resources that the Claim no longer lists, once those that it lists now exist. The wait is limited, because a
// resource of another Claim may need the slot of one of them.
func (p *push) shrink(ctx context.Context) error {
	var list []leaving
	p.e.with(func(x *index) {
		if p.c.gen != p.gen {
			return
		}
		invalid := p.invalidKinds()
		wait := p.unsettled() && p.age < graceDependents
		for _, it := range p.c.tail {
			_, unclear := invalid[it.node.key.Kind]
			v := verdict{state: Deleting, reason: ReasonWaiting, key: it.node.key.String()}
			switch {
			case it.node.winner != nil:
				list = append(list, leaving{item: it})
			case unclear:
				v.message = "it stays until all of its kind that the Claim lists can be understood"
				p.swept[it.node] = v
			case wait:
				v.message, v.coming, v.retry = "it waits until what is listed now is there", true, until(p.c.seen.time().Add(graceDependents), x.now)
				p.swept[it.node] = v
			default:
				list = append(list, leaving{item: it})
			}
		}
	})
	return p.sweep(ctx, list)
}

// invalidKinds returns the kinds of the items that cannot be parsed. Such an item may be about any resource of its kind, so none of
// that kind is deleted.
func (p *push) invalidKinds() map[string]struct{} {
	kinds := map[string]struct{}{}
	for i := range p.items {
		if it := &p.items[i]; it.node == nil && it.trouble.reason == ReasonInvalid && it.trouble.key == "" {
			kinds[p.wanted[i].Kind] = struct{}{}
		}
	}
	return kinds
}

// unsettled reports whether a resource is missing that may be created soon.
func (p *push) unsettled() bool {
	return slices.ContainsFunc(p.verdicts, func(v verdict) bool { return v.reason == ReasonWaiting || v.reason == ReasonRetrying })
}
