// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

func (r *Replica) poke() {
	select {
	case r.sweep <- struct{}{}:
	default:
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

// clear deletes the copies that the guard permits to delete.
func (r *Replica) clear(ctx context.Context) error {
	keys, count := r.copies()
	missing := map[desired.Ref]types.NamespacedName{}
	for key := range keys {
		operations, err := r.compare(key)
		if err != nil {
			return err
		}
		for _, op := range operations {
			if ref := refOf(op.Object); op.Verb == verbDelete && op.Vanished && !r.isSure(ref) {
				missing[ref] = key
			}
		}
	}
	log := logr.FromContextOrDiscard(ctx)
	if suspicious(count, len(missing)) {
		log.Info("A listing of the backend lacks most services: waiting for a second one before copies are deleted", "copies", count, "missing", len(missing))
	}
	confirmed, err := confirm(ctx, r.Clock, count, sets.KeySet(missing), r.Upstream.Copies, func(err error) {
		log.Error(err, "The second listing failed, nothing is deleted until one succeeds")
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.sure = r.sure.Union(confirmed)
	r.mu.Unlock()
	for ref := range confirmed {
		r.queue.Add(missing[ref])
	}
	return nil
}

const (
	// minSuspicious is the number of copies from which on deletions can be suspicious.
	minSuspicious = 10
	// ConfirmationPause is how long after a suspicious listing the second one is made, or tried again when it failed.
	ConfirmationPause = 10 * time.Second
)

// suspicious reports whether it takes a second listing to delete so many of so many copies: more than half of ten or more.
func suspicious(existing, missing int) bool {
	return existing >= minSuspicious && 2*missing > existing
}

// confirm returns which of the missing copies may be deleted. When there are suspiciously many, list is called after a pause, once
// it succeeds, for the copies that a second listing requests; what is among these stays. list returns only complete listings, or an
// error. The error of confirm is that of ctx.
func confirm(ctx context.Context, timer clock.Clock, existing int, missing sets.Set[desired.Ref], list func(context.Context) (sets.Set[desired.Ref], error), failed func(error)) (sets.Set[desired.Ref], error) {
	if !suspicious(existing, len(missing)) {
		return missing, nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.After(ConfirmationPause):
		}
		present, err := list(ctx)
		if err == nil {
			return missing.Difference(present), nil
		}
		failed(err)
	}
}
