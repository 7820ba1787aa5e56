// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// mostListed is how many resources the lists that are compared at the same time should have together; a longer one is alone. One
// takes some 2 KB meanwhile.
const mostListed = 5_000

// Drift reads all that the backend has of what Claims want and of what belongs to the tenant, each collection once, and compares.
// What the backend has otherwise is repaired by the pushes that it wakes, or reported, depending on the mode. The error reports
// that something could not be read: nothing was concluded about that.
func (e *Engine) Drift(ctx context.Context) (Report, error) {
	e.drifting.Lock()
	defer e.drifting.Unlock()
	p := &pass{
		e: e, snapshot: e.snapshot(), visited: map[backend.Collection]struct{}{}, parents: map[backend.Key]parentState{},
		room: semaphore.NewWeighted(e.listing),
	}
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
		return p.report, fmt.Errorf("drift check: %d of %d reads failed, one of them: %w", p.failures, p.report.Reads, p.failed)
	}
	return p.report, nil
}

// pass is one run of Drift.
type pass struct {
	e *Engine
	snapshot
	wanted  lister
	visited map[backend.Collection]struct{}
	// room bounds the memory of lists that are compared at the same time, by the entries they should have.
	room *semaphore.Weighted

	// mu guards what follows.
	mu     sync.Mutex
	report Report
	// parents are what collections lie under, and what the reconciliation found of them.
	parents map[backend.Key]parentState
	// found are the collections under what was read last.
	found []backend.Collection
	// strangers are what belongs to the tenant and to no Claim, parents before children. observed counts all that may.
	strangers []backend.Observed
	observed  int
	failed    error
	failures  int
}

// each calls fn with 0 to n-1, Concurrency of them at a time, until ctx ends.
func (p *pass) each(ctx context.Context, n int, fn func(int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, p.e.o.Concurrency) {
		wg.Go(func() {
			for i := range next {
				fn(i)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
}

// readList reads a collection and records its content.
func (p *pass) readList(ctx context.Context, c backend.Collection) {
	entries := p.listed[c]
	size := min(int64(len(entries))+1, p.e.listing)
	if p.room.Acquire(ctx, size) != nil {
		return // ctx has ended
	}
	defer p.room.Release(size)
	list, err := p.e.b.List(ctx, c)
	if err != nil && backend.ReasonOf(err) != backend.NotFound {
		p.fail(err)
		return
	}
	findings, strangers := compare(p.e.b, entries, list)
	var below []backend.Collection
	own := 0
	for i := range list {
		if list[i].Invalid != nil {
			continue
		}
		below = append(below, p.e.b.Children(list[i].Ref)...)
		if !list[i].Foreign {
			own++
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
	p.observed += own
	p.found = append(p.found, below...)
	p.strangers = append(p.strangers, strangers...)
	p.noteParents(list, entries)
	p.e.enter(findings, &p.report)
}

// readOne reads a resource that is in no list.
func (p *pass) readOne(ctx context.Context, en entry) {
	want, err := p.e.b.Resolve(p.wanted.item(&en))
	if err != nil {
		return
	}
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

// fail notes a read that failed.
func (p *pass) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Reads++
	p.failures++
	p.failed = err
}
