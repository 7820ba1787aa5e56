// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"fmt"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// settlePeriod is how long a difference in readiness is left to maintenance, which changes all copies when it starts and
// ends. Only differences that remain are changed here. Without maintenance, there is no such delay.
const settlePeriod = 5 * time.Second

// calmPeriod is how long after maintenance a difference in readiness may still come from it: what remains is checked after one
// settlePeriod, left alone for another, and written in the third.
const calmPeriod = 3 * settlePeriod

// readiness is what is known of whether endpoints are withheld: in maintenance they may have to be not ready, whatever the backend
// reports about them.
type readiness struct {
	known, withheld bool
	// changed is since when that is so, as far as known: maintenance may have ended just before Groundskeeper started.
	changed time.Time
	// The time when the API server was last queried.
	queried time.Time
	// disputed are services whose copies differ from what they should be in readiness only, and since when.
	disputed map[types.NamespacedName]time.Time
}

// SetWithheld sets whether endpoints of some Services are withheld. After a change all copies are checked.
func (r *Replica) SetWithheld(withheld bool) {
	r.mu.Lock()
	changed := r.readiness.known && r.readiness.withheld != withheld
	if changed || !r.readiness.known {
		r.readiness.changed = r.Clock.Now()
	}
	r.readiness.known, r.readiness.withheld = true, withheld
	if changed {
		r.readiness.disputed = map[types.NamespacedName]time.Time{}
	}
	working := r.working
	r.mu.Unlock()
	if !changed || !working {
		return
	}
	for _, key := range r.Upstream.Keys() {
		r.queue.AddAfter(key, settlePeriod)
	}
}

// readinessKnown reports whether copies can be built.
func (r *Replica) readinessKnown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readiness.known || r.Withheld == nil
}

// wanted returns the copy that a source is to have. While endpoints are withheld, maintenance decides of which Services: the
// slices that are there have its mark. It has not decided yet about a Service without any, whose endpoints are withheld until
// it has.
func (r *Replica) wanted(source *desired.Source, have existing) *desired.Objects {
	labelled := *source
	var copied map[string]string
	if have.Service != nil {
		copied = have.Service.Labels
	}
	labelled.Labels = r.Labels.Of(source.Labels, copied)
	want := desired.Build(r.Backend, &labelled)
	r.mu.Lock()
	withheld := r.readiness.withheld
	r.mu.Unlock()
	if withheld && (len(have.Slices) == 0 || desired.HasWithheld(have.Slices)) {
		want.Withhold()
	}
	return want
}

// undisputed leaves out of operations those that would change nothing but the readiness of endpoints, as long as it may
// be maintenance that made the difference: in maintenance and for a while after it, until they have been due for a while;
// and at any time when they would make something ready, until the API server confirms that nothing is withheld.
func (r *Replica) undisputed(ctx context.Context, key types.NamespacedName, want *desired.Objects, operations []operation) ([]operation, error) {
	if r.Withheld == nil {
		return operations, nil
	}
	gives := false
	certain := slices.DeleteFunc(slices.Clone(operations), func(op operation) bool {
		have, isSlice := op.Object.(*discoveryv1.EndpointSlice)
		return isSlice && op.Verb == verbUpdate && slices.ContainsFunc(want.Slices, func(want *discoveryv1.EndpointSlice) bool {
			disputed := want.Name == have.Name && desired.DifferInReadiness(want.Endpoints, have.Endpoints)
			gives = gives || disputed && desired.GivesReadiness(want.Endpoints, have.Endpoints)
			return disputed
		})
	})
	if len(certain) == len(operations) {
		r.mu.Lock()
		delete(r.readiness.disputed, key)
		r.mu.Unlock()
		return operations, nil
	}
	calm := r.calm()
	if calm && !gives {
		return operations, nil
	}
	if !calm {
		if left := r.settling(key); left > 0 {
			r.queue.AddAfter(key, left)
			return certain, nil
		}
	}
	before, now, err := r.confirmWithheld(ctx, calm)
	switch {
	case err != nil:
		return nil, err
	case before != now: // everything is rechecked
		return certain, nil
	}
	return operations, nil
}

// calm reports whether endpoints are not withheld, and have not been for a while.
func (r *Replica) calm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.readiness.withheld && r.Clock.Since(r.readiness.changed) >= calmPeriod
}

// settling returns how long the readiness of a copy is still left to maintenance.
func (r *Replica) settling(key types.NamespacedName) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, disputed := r.readiness.disputed[key]
	if !disputed {
		since = r.Clock.Now()
		r.readiness.disputed[key] = since
	}
	return settlePeriod - r.Clock.Since(since)
}

// confirmWithheld checks with the API server whether endpoints are withheld: immediately, because maintenance may have begun since the
// last response and the watch may be late, or not again and again.
func (r *Replica) confirmWithheld(ctx context.Context, immediately bool) (before, now bool, err error) {
	r.mu.Lock()
	before = r.readiness.withheld
	fresh := !immediately && !r.readiness.queried.IsZero() && r.Clock.Since(r.readiness.queried) < settlePeriod
	r.mu.Unlock()
	if fresh {
		return before, before, nil
	}
	now, err = r.Withheld(ctx)
	if err != nil {
		return before, before, fmt.Errorf("check whether the endpoints of the backend are withheld: %w", err)
	}
	r.mu.Lock()
	r.readiness.queried = r.Clock.Now()
	r.mu.Unlock()
	r.SetWithheld(now)
	return before, now, nil
}
