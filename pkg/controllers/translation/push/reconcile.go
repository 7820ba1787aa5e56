// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	// fencedPause is the pause after a write that was not allowed. Meanwhile either the Lease is renewed, or this process exits.
	fencedPause = time.Second
	// leaveTime is the time that a Translation that is being deleted may wait for others before its status reports it. Most are
	// deleted within it, which saves a write.
	leaveTime = 2 * time.Second
)

// Reconcile pushes one Translation and records the result.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if queue := r.queue.Load(); queue != nil {
		defer r.backlog.moveTo(*queue)
	}
	// Read before the push, so that the outcome is never older than the Translation it is written to; the API server detects the
	// opposite case.
	kept := r.latest(request.NamespacedName)
	if kept == nil {
		return reconcile.Result{}, nil
	}
	outcome, err := r.engine.Push(ctx, request.NamespacedName)
	switch {
	case errors.Is(err, engine.ErrUnknownClaim):
		return reconcile.Result{}, nil // it was deleted meanwhile
	case err != nil && backend.ReasonOf(err) == backend.Fenced:
		log.FromContext(ctx).V(1).Info("Deferred the push of a Translation", "err", err)
		return reconcile.Result{RequeueAfter: fencedPause}, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return reconcile.Result{}, nil // the process exits
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("push translation %s: %w", request.NamespacedName, err)
	}
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

// report writes the status if it changed, or returns for how long that is delayed. It fails with a conflict if the Translation is not the
// one that was pushed: the API server records in the status which resources an update removes, and that record must not be overwritten.
func (r *reconciler) report(ctx context.Context, kept *packed.Translation, translation *midonetv1.Translation, outcome engine.Outcome) (delay time.Duration, err error) {
	status := nextStatus(translation, outcome, r.now())
	delay = r.realization.set(translation, &status, outcome, r.now())
	if delay > 0 || equality.Semantic.DeepEqual(translation.Status, status) {
		return delay, nil
	}
	next := translation.DeepCopy()
	next.Status = status
	// The watch delivers the write like any other; no read waits for it.
	err = r.client.Status().Update(ctx, next, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if err != nil {
		return 0, fmt.Errorf("update the status of translation %s: %w", client.ObjectKeyFromObject(translation), err)
	}
	r.announce(ctx, translation, next, outcome)
	written, err := packed.Pack(next)
	if err != nil {
		return 0, err
	}
	r.wrote(kept, written)
	return 0, nil
}

// release removes Groundskeeper's finalizer from exactly the object that was pushed, and leaves other finalizers.
func (r *reconciler) release(ctx context.Context, translation *midonetv1.Translation) error {
	finalizers := slices.DeleteFunc(slices.Clone(translation.Finalizers), func(f string) bool { return f == midonetv1.FinalizerName })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": translation.UID, "resourceVersion": translation.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return fmt.Errorf("release translation %s: %w", client.ObjectKeyFromObject(translation), err)
	}
	err = r.client.Patch(ctx, translation.DeepCopy(), client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("release translation %s: %w", client.ObjectKeyFromObject(translation), err)
	}
	return nil
}
