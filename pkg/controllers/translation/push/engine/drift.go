// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// mostListed limits the total number of resources in the lists that are compared concurrently; a longer list is compared alone. A
// resource takes about 2 KB meanwhile.
const mostListed = 5_000

// Drift reads everything in the backend that Claims want or that belongs to the tenant, each collection once, and compares it with
// the desired state. Depending on the mode, differences are repaired by the pushes that it wakes, or reported. An error means that
// a read failed; nothing was concluded about the affected resources.
func (e *Engine) Drift(ctx context.Context) (Report, error) {
	e.drifting.Lock()
	defer e.drifting.Unlock()
	p := &driftCheck{
		e: e, snapshot: e.snapshot(), visited: map[backend.Collection]struct{}{}, parents: map[backend.Key]parentState{},
		room: semaphore.NewWeighted(e.listing), list: e.b.List,
	}
	if comparer, ok := e.b.(Comparer); ok {
		p.list = comparer.Comparison()
	}
	p.report.Expected = p.expected()
	defer e.with(func(x *index) { x.buried = nil })

	p.walk(ctx)
	p.each(ctx, len(p.alone), func(i int) { p.readOne(ctx, p.alone[i]) })
	if err := ctx.Err(); err != nil {
		return p.report, fmt.Errorf("drift check: %w", err)
	}
	if err := p.orphans(ctx); err != nil {
		return p.report, fmt.Errorf("drift check: delete orphans: %w", err)
	}
	if p.failed != nil {
		return p.report, fmt.Errorf("drift check: compared %d of %d resources, %d of %d reads failed, one of them: %w",
			p.report.Compared, p.report.Expected, p.failures, p.report.Reads, p.failed)
	}
	return p.report, nil
}

// driftCheck is one run of Drift.
type driftCheck struct {
	e *Engine
	snapshot
	wanted  lister
	list    func(context.Context, backend.Collection) ([]backend.Observed, error)
	visited map[backend.Collection]struct{}
	// room limits the memory of lists that are compared concurrently, by the number of entries that they should have.
	room *semaphore.Weighted

	// mu guards the fields below.
	mu     sync.Mutex
	report Report
	// parents are the parents of collections, with the state that the drift check found.
	parents map[backend.Key]parentState
	// found are the child collections of the lists that were read last.
	found []backend.Collection
	// strangers are the resources that belong to the tenant but to no Claim, parents before children. observed counts all resources
	// that could belong to a Claim.
	strangers []backend.Observed
	observed  int
	failed    error
	failures  int
}

// each calls fn with 0 to n-1, with Concurrency calls at the same time, until ctx ends.
func (p *driftCheck) each(ctx context.Context, n int, fn func(int)) {
	var group errgroup.Group
	group.SetLimit(p.e.o.Concurrency)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			fn(i)
			return nil
		})
	}
	_ = group.Wait()
}

// readList reads a collection and compares it with its entries.
func (p *driftCheck) readList(ctx context.Context, c backend.Collection) {
	entries := p.listed[c]
	size := min(int64(len(entries))+1, p.e.listing)
	if p.room.Acquire(ctx, size) != nil {
		return // ctx has ended
	}
	defer p.room.Release(size)
	list, err := p.list(ctx, c)
	if err != nil && backend.ReasonOf(err) != backend.NotFound {
		p.fail(err)
		return
	}
	findings, strangers := compare(p.e.b, entries, list)
	var below []backend.Collection
	candidates := 0
	for i := range list {
		if list[i].Invalid != nil {
			continue
		}
		below = append(below, p.e.b.Children(list[i].Ref)...)
		if !list[i].Foreign {
			candidates++
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Reads++
	for i := range list {
		if err := list[i].Invalid; err != nil {
			p.report.addInvalid(list[i].Ref, err)
		}
	}
	p.observed += candidates
	p.found = append(p.found, below...)
	p.strangers = append(p.strangers, strangers...)
	p.noteParents(list, entries)
	p.e.enter(findings, &p.report)
}

// readOne reads and compares a resource that is in no list.
func (p *driftCheck) readOne(ctx context.Context, en entry) {
	want, err := p.e.b.Resolve(p.wanted.item(&en))
	if err != nil {
		return
	}
	want.Claim = en.c.name
	have, there, err := p.e.b.Get(ctx, want)
	if errors.Is(err, backend.ErrInvalid) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.report.Reads++
		p.report.addInvalid(want.Ref, err)
		return
	}
	if err != nil && backend.ReasonOf(err) != backend.NotFound {
		p.fail(err)
		return
	}
	f := missingFrom(en)
	if there {
		f = differing(p.e.b, en, want, have)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Reads++
	p.e.enter([]finding{f}, &p.report)
}

// fail records a failed read.
func (p *driftCheck) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Reads++
	p.failures++
	p.failed = err
}

// maxNames is the number of orphans that a Report names.
const maxNames = 20

// orphanage is the input of the decision on deleting orphans.
type orphanage struct {
	mode    Mode
	deletes bool
	// complete: no read failed.
	complete bool
	claims   int
	// orphans is the number of orphans, observed that of all resources that could belong to a Claim.
	orphans, observed int
}

// mayDelete reports whether orphans may be deleted at all. If they are the majority, or if there is no Claim, it is more likely
// that Claims are missing than that the backend has so many orphans.
func (o orphanage) mayDelete() bool {
	return o.mode == Repair && o.deletes && o.complete && o.claims > 0 && 2*o.orphans <= o.observed
}

// orphans finds the strangers that no Claim lists or has to delete. If deletion is allowed, it deletes those that the previous
// drift check found as well.
func (p *driftCheck) orphans(ctx context.Context) error {
	o := orphanage{mode: p.e.o.Mode, deletes: p.e.o.DeleteOrphans, complete: p.failed == nil, observed: p.observed}
	var orphans []backend.Observed
	var before map[backend.Key]struct{}
	p.e.with(func(x *index) {
		for _, s := range p.strangers {
			n := x.nodes[s.Key]
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
	// Children follow their parents in the list.
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

// deleteOrphan deletes an orphan, unless a Claim has listed it meanwhile. A Claim that lists it during the call waits for the
// result. The error is that of ctx or of a fenced write; after any other failure the next drift check retries.
func (p *driftCheck) deleteOrphan(ctx context.Context, s backend.Observed) error {
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

// Report is the result of one drift check.
type Report struct {
	// Drifted is the number of resources that were missing, misplaced, or different from what was pushed.
	Drifted int
	// Repaired is the number of them that were scheduled for repair.
	Repaired int
	// Orphans is the number of resources of the tenant that no Claim lists, Deleted the number of them that were deleted.
	Orphans, Deleted int
	// Compared is the number of resources that were compared, of the Expected ones, which should be in sync.
	Compared, Expected int
	// Reads is the number of lists and single resources that were read.
	Reads int
	// Names are the names of the first maxNames orphans.
	Names []string
	// Invalid is the number of resources that the driver cannot parse. They were not compared. InvalidNames names the first
	// maxNames of them, each with the reason.
	Invalid      int
	InvalidNames []string
}

// addInvalid counts a resource that the driver cannot parse.
func (r *Report) addInvalid(ref backend.Ref, reason error) {
	r.Invalid++
	if len(r.InvalidNames) < maxNames {
		r.InvalidNames = append(r.InvalidNames, ref.String()+": "+reason.Error())
	}
}
