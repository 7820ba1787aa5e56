// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// clear deletes all that a Claim has, or may have, in the backend. What was never reported may have been made just
// before a process died.
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
			p.verdicts[i] = verdict{away: true, reason: ReasonSynced}
		}
	}
	return nil
}

// leaving is a resource that has to go, with the Claim's text of it if there still is one.
type leaving struct {
	item
	wanted *backend.Item
}

// sweep deletes the resources of a list in the reverse order, but none before those of the list that need it, for a
// time. A circle of needs is broken anywhere.
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
		v, err := p.take(ctx, &l.item, l.wanted)
		if err != nil {
			return err
		}
		p.swept[l.node] = v
		if stays = stays || !v.away; !v.away {
			continue
		}
		for _, m := range l.needs {
			needed[m]--
		}
	}
	return nil
}

// waitForOwn has the rest of a list wait for those of it that could not be deleted yet, and reports whether it may.
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

// needed reports whether something needs the resource or an alias that it satisfies.
func (l *leaving) needed(counts map[*node]int) bool {
	if counts[l.node] > 0 {
		return true
	}
	return l.more != nil && slices.ContainsFunc(l.more.aliases, func(a *node) bool { return counts[a] > 0 })
}
