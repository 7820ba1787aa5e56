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

func (r *Replica) poke() {
	select {
	case r.sweep <- struct{}{}:
	default:
	}
}

// sweepUntil decides about deletions for which only a listing speaks.
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

// clear lets those copies be deleted that the guard lets go.
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
