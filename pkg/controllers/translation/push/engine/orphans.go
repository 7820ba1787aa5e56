// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// maxNames is how many orphans a Report names.
const maxNames = 20

// orphanage is what decides on whether orphans may be deleted.
type orphanage struct {
	mode    Mode
	deletes bool
	// complete: the reconciliation read everything.
	complete bool
	claims   int
	// orphans of all that was observed and that may be a Claim's.
	orphans, observed int
}

// mayDelete reports whether orphans may be deleted at all. Where they are most of what there is, or there is no Claim, something is
// wrong with what Groundskeeper knows rather than with the backend.
func (o orphanage) mayDelete() bool {
	return o.mode == Repair && o.deletes && o.complete && o.claims > 0 && 2*o.orphans <= o.observed
}

// orphans finds, among the strangers of the reconciliation, those that no client lists or has to delete, and deletes those that
// were orphans in the last reconciliation already, if that is allowed.
func (p *pass) orphans(ctx context.Context) error {
	o := orphanage{mode: p.e.o.Mode, deletes: p.e.o.DeleteOrphans, complete: p.failed == nil, observed: p.observed}
	var orphans []backend.Observed
	var before map[backend.Key]struct{}
	p.e.with(func(x *index) {
		for _, s := range p.strangers {
			n := x.nodeOf(s.Key)
			if _, buried := x.buried[s.Key]; !buried && (n == nil || n.refs.size() == 0) {
				orphans = append(orphans, s)
			}
		}
		o.claims = len(x.claims)
		before = p.e.suspects
		p.e.suspects = make(map[backend.Key]struct{}, len(orphans))
		for _, s := range orphans {
			p.e.suspects[s.Key] = struct{}{}
		}
	})
	o.orphans = len(orphans)
	p.report.Orphans = len(orphans)
	for _, s := range orphans[:min(maxNames, len(orphans))] {
		p.report.Names = append(p.report.Names, s.String())
	}
	if !o.mayDelete() {
		return nil
	}
	// Children were found behind their parents.
	for _, s := range slices.Backward(orphans) {
		if _, again := before[s.Key]; !again {
			continue
		}
		if err := p.deleteOrphan(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// deleteOrphan deletes an orphan, unless a Claim came to list it. One that comes to while the call is under way waits for that. The
// error is that of ctx or of a fenced write: whatever else fails is tried again by the next reconciliation.
func (p *pass) deleteOrphan(ctx context.Context, s backend.Observed) error {
	var n *node
	f := fact{know: deleted, lost: true}
	p.e.with(func(x *index) {
		if m := x.node(s.Key); m.refs.size() == 0 && !m.busy {
			m.busy = true
			n, f.seq = m, m.seq
		}
	})
	if n == nil {
		return nil
	}
	err := p.e.locks.do(ctx, lockOf(s.Ref), func() error { return ignoreDeleted(p.e.b.Delete(ctx, s.Ref)) })
	if err != nil {
		f.know = unknown
	}
	p.e.with(func(x *index) { x.learn(n, f) })
	switch {
	case err == nil:
		p.report.Deleted++
		p.e.o.Log.Info("Deleted what no Claim lists", "resource", s.String())
	case ends(ctx, err):
		return err
	default:
		p.e.o.Log.Info("Failed to delete an orphan", "resource", s.String(), "err", err)
	}
	return nil
}
