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
	// fencedPause is the pause after a write that was not allowed. Either the Lease is renewed in a moment, or this
	// process ends.
	fencedPause = time.Second
	// leaveTime is how long a Translation that is being deleted may wait for others to go before its status reports so: most have
	// been deleted by then, and a status would be a write for nothing.
	leaveTime = 2 * time.Second
)

// Reconcile pushes one Translation and records the result.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if queue := r.queue.Load(); queue != nil {
		defer r.backlog.moveTo(*queue)
	}
	// Before the push, so that its outcome is never older than the Translation it is written to: the other way round is
	// found out by the API server.
	kept := r.latest(request.NamespacedName)
	if kept == nil {
		return reconcile.Result{}, nil
	}
	outcome, err := r.engine.Push(ctx, request.NamespacedName)
	switch {
	case errors.Is(err, engine.ErrUnknownClaim):
		return reconcile.Result{}, nil // it went meanwhile
	case err != nil && backend.ReasonOf(err) == backend.Fenced:
		log.FromContext(ctx).V(1).Info("Deferred the push of a Translation", "err", err)
		return reconcile.Result{RequeueAfter: fencedPause}, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return reconcile.Result{}, nil // the process ends
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
		err = r.report(ctx, kept, translation, outcome)
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

// isLeaving reports whether a Translation was deleted just now and only waits for others that go, too.
func (r *reconciler) isLeaving(translation *midonetv1.Translation, outcome engine.Outcome) bool {
	if translation.DeletionTimestamp.IsZero() || outcome.Reason != engine.ReasonWaiting {
		return false
	}
	age := r.now().Sub(translation.DeletionTimestamp.Time)
	return age >= 0 && age < leaveTime // the clock of the API server may be ahead owned by Groundskeeper
}

// report writes the status, if it has anything new. It fails with a conflict when the Translation is not the one that was pushed:
// the server itself notes in the status what an update removes, and that must not be lost.
func (r *reconciler) report(ctx context.Context, kept *packed.Translation, translation *midonetv1.Translation, outcome engine.Outcome) error {
	status := nextStatus(translation, outcome, r.now())
	r.realization.set(translation, &status, outcome, r.now())
	if equality.Semantic.DeepEqual(translation.Status, status) {
		return nil
	}
	next := translation.DeepCopy()
	next.Status = status
	// The write is seen through the watch like any other; no read waits for it.
	err := r.client.Status().Update(ctx, next, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("update the status of translation %s: %w", client.ObjectKeyFromObject(translation), err)
	}
	r.announce(ctx, translation, next, outcome)
	written, err := packed.Pack(next)
	if err != nil {
		return err
	}
	r.wrote(kept, written)
	return nil
}

// release removes Groundskeeper's finalizer from the very object that was pushed, in the state in which it was, and leaves those of
// others.
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
