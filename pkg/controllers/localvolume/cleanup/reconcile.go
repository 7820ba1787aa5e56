// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// Reconcile reconciles everything that is stale.
func (r *reconciler) Reconcile(ctx context.Context, _ localvolume.Pass) (reconcile.Result, error) {
	if rest := r.pace.Begin(); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	defer r.pace.End()
	if !r.site.Inventory.Synced() {
		return reconcile.Result{}, errors.New("the volumes, claims and nodes of the cluster are not loaded yet")
	}
	if err := r.site.LoadRecord(ctx); err != nil {
		return reconcile.Result{}, err
	}
	subjects, err := r.site.Survey(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.reportNodes(ctx, subjects)
	r.reportClaims(subjects)
	r.reportUntouched()
	err = errors.Join(r.site.SaveRecord(ctx, subjects), r.deletions.Act(ctx, subjects), r.waiters.release(ctx, subjects))
	if err != nil {
		return reconcile.Result{}, err
	}
	next, ok := r.deletions.Next(subjects)
	if !ok {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: next}, nil
}
