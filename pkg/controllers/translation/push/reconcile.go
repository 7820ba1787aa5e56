// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

const (
	// conflictPause is the delay of a retry after a conflict with another client. The watch mostly reports it sooner.
	conflictPause = 50 * time.Millisecond
	// fencedPause is the pause after a write that was not allowed. Meanwhile either the Lease is renewed, or this process exits, unless
	// the database records another leader: then a user has to act.
	fencedPause = time.Second
	// leaveTime is the time that a Translation that is being deleted may wait for others before its status reports it. Most are
	// deleted within it, which saves a write.
	leaveTime = 2 * time.Second
)

// Reconcile pushes one Translation and records the result.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if queue := r.queue.Load(); queue != nil {
		defer r.memory.moveBacklog(*queue)
	}
	// Read before the push, so that the outcome is never older than the Translation it is written to; the API server detects the
	// opposite case.
	kept := r.latest(request.NamespacedName)
	if kept == nil {
		r.find(ctx, request.NamespacedName, nil, "")
		return reconcile.Result{}, nil
	}
	outcome, err := r.engine.Push(ctx, request.NamespacedName)
	switch {
	case errors.Is(err, engine.ErrUnknownClaim):
		r.find(ctx, request.NamespacedName, nil, "")
		return reconcile.Result{}, nil // it was deleted meanwhile
	case err != nil && backend.ReasonOf(err) == backend.Fenced:
		log.FromContext(ctx).V(1).Info("Deferred the push of a Translation", "err", err)
		r.find(ctx, request.NamespacedName, kept, err.Error())
		return reconcile.Result{RequeueAfter: fencedPause}, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return reconcile.Result{}, nil // the process exits
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("push translation %s: %w", request.NamespacedName, err)
	}
	r.find(ctx, request.NamespacedName, kept, "")
	translation, again := kept.Unpack(), reconcile.Result{RequeueAfter: outcome.RetryAfter}
	switch {
	case !translation.DeletionTimestamp.IsZero() && outcome.Deleted:
		again, err = reconcile.Result{}, r.release(ctx, translation)
	case outcome.Settling:
		return again, nil
	case r.isLeaving(translation, outcome):
		return reconcile.Result{RequeueAfter: leaveTime}, nil
	default:
		var delay time.Duration
		delay, err = r.report(ctx, kept, translation, outcome)
		if delay > 0 && (again.RequeueAfter == 0 || delay < again.RequeueAfter) {
			again.RequeueAfter = delay
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	return again, nil
}

// isLeaving reports whether a Translation was deleted recently and waits only for others that are being deleted, too.
func (r *reconciler) isLeaving(translation *midonetv1.Translation, outcome engine.Outcome) bool {
	if translation.DeletionTimestamp.IsZero() || outcome.Reason != engine.ReasonWaiting {
		return false
	}
	age := r.now().Sub(translation.DeletionTimestamp.Time)
	return age >= 0 && age < leaveTime // the API server's clock may be ahead
}

// report writes the status if it changed, or returns for how long that is delayed.
func (r *reconciler) report(
	ctx context.Context, kept *packed.Translation, before *midonetv1.Translation, outcome engine.Outcome,
) (time.Duration, error) {
	status := nextStatus(before, outcome, r.now())
	delay := r.realization.set(before, &status, outcome, r.now())
	if delay > 0 || equality.Semantic.DeepEqual(before.Status, status) {
		return delay, nil
	}
	after, err := r.updateStatus(ctx, before, status)
	if err != nil {
		return 0, err
	}
	r.announce(ctx, before, after, outcome)
	written, err := packed.Pack(after)
	if err != nil {
		return 0, err
	}
	r.wrote(kept, written)
	return 0, nil
}
