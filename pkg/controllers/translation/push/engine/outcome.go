// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// finish is the Outcome of the push.
func (p *push) finish() Outcome {
	var o Outcome
	var took time.Duration
	p.e.with(func(x *index) {
		c := p.c
		all := slices.Clone(p.verdicts)
		var pushed []Pushed
		for i := range p.items {
			if v := p.verdicts[i]; !v.away {
				pushed = append(pushed, p.reportOf(&p.items[i], p.wanted[i], v))
			}
		}
		for i := range c.tail {
			it := &c.tail[i]
			v, ok := p.swept[it.node]
			if !ok {
				v = verdict{state: Deleting, reason: ReasonWaiting, key: it.node.key.String(), message: "it is deleted later", coming: true, retry: recheck}
			}
			all = append(all, v)
			pushed = append(pushed, p.reportOf(it, backend.Item{}, v))
		}
		o = summarize(all, x.now.Sub(c.seen.time()))
		o.Pushed = pushed
		if c.gen != p.gen {
			o.Settling, o.RetryAfter = true, recheck
			return
		}
		o.Deleted = p.deleting && len(pushed) == 0
		x.count(c, tallyOf(pushed))
		if len(c.tail) == 0 && !p.deleting {
			c.blocked = 0
		}
		if o.Reason == ReasonSynced && !p.deleting && !c.synced {
			c.synced = true
			if c.wrote {
				took = max(x.now.Sub(c.seen.time()), 1)
			}
		}
	})
	if took > 0 && p.e.o.Pushed != nil {
		p.e.o.Pushed(took)
	}
	return o
}

// reportOf is what is reported of one resource.
func (p *push) reportOf(it *item, wanted backend.Item, v verdict) Pushed {
	out := Pushed{Kind: wanted.Kind, Parent: wanted.Parent, State: v.state, Code: v.code}
	if v.state != Synced {
		out.Message = v.message
	}
	if n := it.node; n != nil {
		out.Kind, out.Parent, out.ID = n.key.Kind, it.parent, n.key.ID
		if n.own == p.c || n.own == nil {
			out.Hash = n.hash.String()
		}
		if out.Hash != "" {
			out.Parent = n.parent
		}
	}
	return out
}
