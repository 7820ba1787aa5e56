// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// Reconcile makes one pass over everything that is stale.
func (r *reconciler) Reconcile(ctx context.Context, _ localvolume.Pass) (reconcile.Result, error) {
	now := r.site.Clock.Now()
	if rest := localvolume.PassInterval - now.Sub(r.lastPass); rest > 0 {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	defer func() { r.lastPass = r.site.Clock.Now() }()
	if !r.site.Inventory.Synced() {
		return reconcile.Result{}, errors.New("the volumes, claims and nodes of the cluster are not known yet")
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
	r.reportUnbound()
	err = errors.Join(r.site.SaveRecord(ctx), r.act(ctx, subjects), r.waiters.release(ctx))
	if err != nil {
		return reconcile.Result{}, err
	}
	next, ok := r.site.Next(subjects, func(s *localvolume.Subject) localvolume.Decision { return s.ClaimDecision })
	if !ok {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

// act deletes the claims whose time has come, if anything may be deleted.
func (r *reconciler) act(ctx context.Context, subjects []localvolume.Subject) error {
	permit, allowed, err := r.site.Clear(ctx, subjects, func(s *localvolume.Subject) bool {
		return s.ClaimDecision.Action == localvolume.Delete && !r.deleted[s.Claim.UID]
	})
	if len(allowed) == 0 && r.unreported > 0 { // once for all batches in a row
		log.FromContext(ctx).Info("Deleted claims of missing nodes", "claims", r.unreported)
		r.unreported = 0
	}
	if err != nil || len(allowed) == 0 {
		return err
	}
	if r.site.DryRun() {
		r.pretend(ctx, allowed)
		return nil
	}
	return r.delete(ctx, permit, allowed)
}

// pretend tells what would be deleted, once.
func (r *reconciler) pretend(ctx context.Context, subjects []localvolume.Subject) {
	count := 0
	for i := range subjects {
		message := fmt.Sprintf("Dry run: this claim would be deleted, because %s.", localvolume.Gone(subjects[i].Nodes))
		if r.told.New(subjects[i].Claim.UID, message) {
			r.site.Recorder.Event(subjects[i].Claim, corev1.EventTypeNormal, localvolume.EventSkipped, message)
			count++
		}
	}
	if count > 0 {
		log.FromContext(ctx).Info("Dry run: claims would be deleted", "claims", count)
	}
}

// delete deletes claims, several at once, after their events.
func (r *reconciler) delete(ctx context.Context, permit *localvolume.Permit, subjects []localvolume.Subject) error {
	for i := range subjects {
		message := fmt.Sprintf("Deleting the claim of volume %s, because %s.", subjects[i].Volume.Name, localvolume.Gone(subjects[i].Nodes))
		if r.told.New(subjects[i].Claim.UID, message) {
			r.site.Recorder.Event(subjects[i].Claim, corev1.EventTypeNormal, localvolume.EventDeleting, message)
		}
	}
	done := make([]bool, len(subjects))
	err := r.site.Each(len(subjects), func(i int) (err error) {
		claim := subjects[i].Claim
		if !permit.Allows(subjects[i].Stale) {
			return nil // a node came back meanwhile
		}
		r.waiters.expect(claim)
		if done[i], err = r.site.DeleteExactly(ctx, claim); err != nil {
			r.site.Metrics.ClaimsFailed.Inc()
			return fmt.Errorf("delete persistent volume claim %s/%s: %w", claim.Namespace, claim.Name, err)
		}
		return nil
	})
	count := 0
	for i := range subjects {
		if done[i] {
			count++
			r.deleted[subjects[i].Claim.UID] = true
		}
	}
	r.site.Metrics.ClaimsDeleted.Add(float64(count))
	r.unreported += count
	return err
}
