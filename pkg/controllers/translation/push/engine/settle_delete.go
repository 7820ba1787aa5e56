// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// away notes that the Claim has nothing more to do with a resource.
func (p *push) away(x *index, n *node) verdict {
	x.untail(p.c, n)
	return verdict{reason: ReasonSynced, away: true}
}

// untail takes a resource from the end of the list of c, where it waited for its deletion.
func (x *index) untail(c *claim, n *node) {
	if i := slices.IndexFunc(c.tail, func(it item) bool { return it.node == n }); i >= 0 {
		it := c.tail[i]
		if c.tail = slices.Delete(c.tail, i, i+1); len(c.tail) == 0 {
			c.tail = nil
		}
		x.unlink(c, &it)
	}
}

// settleAway enters what came of a deletion.
func (p *push) settleAway(ctx context.Context, it *item, t *taking, err error) verdict {
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
			c.retry = nil
			if current != nil {
				current.trouble = nil
			}
			v = p.away(x, n)
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
