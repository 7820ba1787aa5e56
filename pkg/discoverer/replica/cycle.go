// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

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
	r.mu.Lock()
	r.cycle.begun, r.cycle.pending = begun, different.Clone()
	for ref := range r.sure {
		if r.cached(ref) == nil {
			r.sure.Delete(ref)
		}
	}
	r.mu.Unlock()
	if len(different) == 0 {
		r.synced()
	}
	for key := range different {
		r.queue.Add(key)
	}
	return nil
}

// passed takes a service that was checked out of the cycle, which ends with the last one.
func (r *Replica) passed(key types.NamespacedName) {
	r.mu.Lock()
	last := len(r.cycle.pending) == 1 && r.cycle.pending.Has(key)
	r.cycle.pending.Delete(key)
	r.mu.Unlock()
	if last {
		r.synced()
	}
}

func (r *Replica) synced() {
	r.mu.Lock()
	first := r.cycle.synced.IsZero()
	r.cycle.synced = r.Clock.Now()
	took := r.cycle.synced.Sub(r.cycle.begun)
	r.mu.Unlock()
	r.Meters.Cycle(took)
	if first {
		r.Ledger.Poke()
	}
}

// differing returns the services whose copies are not what they should be, and notes what is known of the others.
func (r *Replica) differing() (sets.Set[types.NamespacedName], error) {
	different := sets.New[types.NamespacedName]()
	keys, _ := r.copies()
	for _, key := range r.Upstream.Keys() {
		keys[key] = true
	}
	for key := range keys {
		operations, err := r.compare(key)
		if err != nil {
			return nil, err
		}
		if len(operations) > 0 {
			different.Insert(key)
		}
	}
	return different, nil
}

// compare returns what would have to be done for a service.
func (r *Replica) compare(key types.NamespacedName) ([]operation, error) {
	source, excluded := r.source(key)
	if r.unknown(key, source, excluded) {
		return nil, nil
	}
	have := r.existing(key)
	var want *desired.Objects
	if source != nil {
		want = r.wanted(source, have)
	}
	operations, err := planCopy(want, have, r.Annotations, !excluded)
	if err == nil && source != nil && len(operations) == 0 {
		r.agrees(key, source)
	}
	return operations, err
}
