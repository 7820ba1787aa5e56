// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// recordRetry is when a record that could not be written is written again at the latest.
const recordRetry = 10 * time.Second

var errNotSynced = errors.New("the volumes, claims and nodes of the cluster are not loaded yet")

// Reconcile reconciles the claims of everything that is stale.
func (r *reconciler) Reconcile(ctx context.Context, _ localvolume.Pass) (reconcile.Result, error) {
	if rest := r.pace.Begin(); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	defer r.pace.End()
	if !r.site.Inventory.Synced() {
		return reconcile.Result{}, errNotSynced
	}
	if err := r.site.LoadRecord(ctx); err != nil {
		return reconcile.Result{}, err
	}
	renewal := r.site.Hold(ctx)
	subjects, err := r.site.Survey(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.site.WatchLife(ctx, subjects)
	r.reportNodes(ctx, subjects)
	r.reportClaims(subjects)
	r.reportUntouched()
	unrecorded := r.site.SaveRecord(ctx, subjects) // it is reported, and must not delay the next deletion
	if err := errors.Join(r.deletions.act(ctx, subjects), r.waiters.release(ctx, subjects)); err != nil {
		return reconcile.Result{}, err
	}
	next := r.deletions.next(subjects)
	if unrecorded != nil {
		next = sooner(next, recordRetry)
	}
	return reconcile.Result{RequeueAfter: sooner(sooner(next, renewal), r.site.Inventory.ReviewOutages())}, nil
}

// Reconcile reconciles all stale volumes.
func (r *volumeDeleter) Reconcile(ctx context.Context, _ localvolume.Pass) (reconcile.Result, error) {
	if rest := r.pace.Begin(); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	defer r.pace.End()
	if !r.site.Inventory.Synced() {
		return reconcile.Result{}, errNotSynced
	}
	subjects, err := r.site.Survey(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.reportVolumes(subjects)
	if err := r.deletions.act(ctx, subjects); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.deletions.next(subjects)}, nil
}

// sooner returns the shorter of two pauses, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
