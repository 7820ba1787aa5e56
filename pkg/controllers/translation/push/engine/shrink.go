// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "context"

// shrink deletes what the Claim does not list any more, once what it lists instead is there. It does not wait indefinitely: another
// Claim's resource may wait for the place of one of these.
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
			case it.node.own != nil:
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

// invalidKinds are the kinds of the items that cannot be understood: which resource such an item is about is not known, so none of
// its kind can be reported not to be wanted.
func (p *push) invalidKinds() map[string]struct{} {
	kinds := map[string]struct{}{}
	for i := range p.items {
		if it := &p.items[i]; it.node == nil && it.trouble.reason == ReasonInvalid && it.trouble.key == "" {
			kinds[p.wanted[i].Kind] = struct{}{}
		}
	}
	return kinds
}

// unsettled reports whether something is still to be made that may soon be.
func (p *push) unsettled() bool {
	for _, v := range p.verdicts {
		if v.reason == ReasonWaiting || v.reason == ReasonRetrying {
			return true
		}
	}
	return false
}
