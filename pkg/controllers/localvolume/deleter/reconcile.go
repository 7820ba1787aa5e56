// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deleter

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
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
	subjects, err := r.site.Survey(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.report(subjects)
	if err := r.deletions.Act(ctx, subjects); err != nil {
		return reconcile.Result{}, err
	}
	next, ok := r.deletions.Next(subjects)
	if !ok {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

// report reports to volumes why they stay.
func (r *reconciler) report(subjects []localvolume.Subject) {
	stale := make(map[types.UID]bool, len(subjects))
	for i := range subjects {
		volume, decision := subjects[i].Volume, subjects[i].VolumeDecision
		stale[volume.UID] = true
		if decision.Skipped != "" && !r.deletions.Has(volume.UID) {
			r.deletions.Skip(&subjects[i], decision.Skipped)
		}
	}
	r.deletions.Keep(stale)
}
