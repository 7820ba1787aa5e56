// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// poll is how often a cache that fills is checked.
const poll = 50 * time.Millisecond

// Watch fills the caches of this cluster and keeps them up to date until ctx is done. It writes nothing.
func (r *Replica) Watch(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { r.services.Run(ctx) })
	group.Go(func() { r.slices.Run(ctx) })
	if r.namespaces != nil {
		group.Go(func() { r.namespaces.Run(ctx) })
	}
	group.Wait()
}

// Survey waits until both sides are listed and compares them. It writes nothing. It returns how many services differ,
// and the error of ctx.
func (r *Replica) Survey(ctx context.Context) (int, error) {
	for r.missing() != nil {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-r.Clock.After(poll):
		}
	}
	different, err := r.differing()
	if err != nil {
		return 0, err
	}
	r.memory.note(func(s *state) { s.surveyed = true })
	return len(different), nil
}

// Work writes until ctx is done, and returns when the last write has ended. Only one discoverer of a backend may work.
func (r *Replica) Work(ctx context.Context) error {
	r.memory.note(func(s *state) { s.began = r.Clock.Now() })
	if _, err := r.Survey(ctx); err != nil {
		return err
	}
	if err := r.findLegacy(ctx); err != nil {
		return err
	}
	r.memory.note(func(s *state) { s.working = true })
	var group sync.WaitGroup
	for range r.Workers {
		group.Go(func() {
			for {
				key, shutdown := r.queue.Get()
				if shutdown {
					return
				}
				if ctx.Err() == nil {
					r.process(ctx, key)
				}
				r.queue.Done(key)
			}
		})
	}
	group.Go(func() { r.sweepUntil(ctx) })
	group.Go(func() { r.resyncUntil(ctx) })
	<-ctx.Done()
	r.queue.ShutDown()
	group.Wait()
	return ctx.Err()
}

// resyncUntil compares everything now, after each whole listing, and every time that Resync has passed.
func (r *Replica) resyncUntil(ctx context.Context) {
	ticker := r.Clock.NewTicker(r.Resync)
	defer ticker.Stop()
	for {
		if err := r.resync(); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "The two clusters cannot be compared")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		case <-r.relisted:
		}
	}
}

// resync begins a cycle: all services that differ are checked.
func (r *Replica) resync() error {
	begun := r.Clock.Now()
	different, err := r.differing()
	if err != nil {
		return err
	}
	r.memory.beginCycle(begun, different, r.isCached)
	if len(different) == 0 {
		r.synced()
	}
	for key := range different {
		r.queue.Add(key)
	}
	return nil
}

// synced ends a cycle.
func (r *Replica) synced() {
	took, first := r.memory.endCycle(r.Clock.Now())
	r.Meters.Cycle(took)
	if first {
		r.Ledger.Poke()
	}
}

// sweepUntil decides about copies whose source is missing in a list, without a deletion event.
func (r *Replica) sweepUntil(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.sweep:
		}
		if err := r.clear(ctx); err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(err, "Nothing is deleted")
		}
	}
}
