// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// newcomerPeriod is how long a Node may lack the host-id that it never had before there is an event about it.
const newcomerPeriod = 10 * time.Second

// wait leaves the Translations of an owner alone that cannot be converted now: everything on a Node is deleted with the Node's
// bridge. A Node that lost its host-id keeps them for the grace period.
func (r *reconciler) wait(ctx context.Context, u unit, s *subject) (outcome, reconcile.Result, error) {
	reason := *s.result.Waiting
	// A Pod has nothing to report that its Node does not report for all.
	report := problem{Problem: reason, blocks: true, silent: u.kind == convert.KindPod}
	if u.kind != convert.KindNode || reason.Reason != convert.ReasonHostIDMissing {
		r.memory.keeps(u)
		r.record(ctx, u, s, []problem{report})
		return outcomeWaiting, reconcile.Result{}, nil
	}
	p, err := r.plan(ctx, s, nil)
	if err != nil {
		return "", reconcile.Result{}, err
	}
	now, kept := r.clock.Now(), len(p.stale)+len(p.former)
	if kept == 0 && !s.creates() { // it would get no network if it had the host-id
		r.memory.settles(u)
		r.record(ctx, u, s, nil)
		return outcomeWaiting, reconcile.Result{}, nil
	}
	if kept == 0 {
		r.memory.keeps(u)
		// The annotator may be about to name the host of a new Node.
		left := r.memory.arrived(u, s.owner.UID, now).Add(newcomerPeriod).Sub(now)
		report.silent = left > 0
		r.record(ctx, u, s, []problem{report})
		return outcomeWaiting, reconcile.Result{RequeueAfter: max(left, 0)}, nil
	}
	until := r.memory.lost(u, s.owner.UID, now).Add(r.gracePeriod)
	if left := until.Sub(now); left > 0 {
		report.Message += fmt.Sprintf("; its %d translations, and the network of its pods with them, stay until %s",
			kept, until.UTC().Format(time.RFC3339))
		r.record(ctx, u, s, []problem{report})
		return outcomeWaiting, reconcile.Result{RequeueAfter: left}, nil
	}
	if err := r.confirmLoss(ctx, s); err != nil {
		return "", reconcile.Result{}, err
	}
	if err := r.carryOut(ctx, s.owner, &p); err != nil {
		return r.failed(ctx, u, s, []problem{report}, err)
	}
	r.memory.keeps(u)
	log.FromContext(ctx).Info("Deleted the translations of a node that lost its host-id", "translations", kept,
		"gracePeriod", r.gracePeriod.String())
	r.warn(s.object, convert.Problem{Reason: eventRemoved,
		Message: fmt.Sprintf("the node has no host-id for %s: its %d translations are deleted", r.gracePeriod, kept)})
	return outcomeWaiting, reconcile.Result{}, nil
}
