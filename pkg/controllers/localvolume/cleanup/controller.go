// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package cleanup is the CleanupController: it deletes the claims of local volumes whose node has been deleted and stays absent, so
// that a StatefulSet can make new ones elsewhere. The volumes themselves are left to the Deleter, which runs only while this
// controller does.
package cleanup

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "local-volume-cleanup"

	// patience is how long a reconciliation waits for the last of the nodes that are lost together.
	patience = 2 * time.Second
	// recordRetry is when a record that could not be written is written again at the latest.
	recordRetry = 10 * time.Second
)

// reconciler deletes claims. One reconciliation runs at a time.
type reconciler struct {
	site *localvolume.Site

	pace *localvolume.Pace
	// scheduled are the claims that were notified that they will be deleted.
	scheduled map[types.UID]appointment
	// deletions deletes claims, and notifies them why they stay.
	deletions *localvolume.Deletions
	// missing are the nodes that were reported missing, and since when.
	missing map[string]time.Time
	// untouched is what was last notified of volumes that are not cleaned up.
	untouched localvolume.Reported
	// waiters deletes pods that wait for a claim that has been deleted; nil when that is not wanted.
	waiters *waiters
}

// appointment is what a claim was notified.
type appointment struct {
	claim *corev1.PersistentVolumeClaim
	// since is when its nodes went missing.
	since time.Time
	nodes []string
}

func newReconciler(site *localvolume.Site) *reconciler {
	r := &reconciler{
		site: site, pace: site.NewPace(patience), scheduled: map[types.UID]appointment{}, missing: map[string]time.Time{}, untouched: localvolume.Reported{},
	}
	if *site.Config.DeletePendingPods {
		r.waiters = &waiters{site: site, retries: localvolume.Backoffs{}}
	}
	r.deletions = site.NewDeletions(localvolume.Target{
		Noun:     "claim",
		Object:   func(s *localvolume.Subject) client.Object { return s.Claim },
		Decision: func(s *localvolume.Subject) localvolume.Decision { return s.ClaimDecision },
		Announcement: func(s *localvolume.Subject) string {
			return "Deleting the claim of volume " + s.Volume.Name
		},
		Deleted: func(*localvolume.Subject) { site.Metrics.ClaimsDeleted.Inc() },
		Failed:  func(*localvolume.Subject) { site.Metrics.ClaimsFailed.Inc() },
	})
	return r
}

// New returns the controller of a Site. The caller decides where it runs: the cache of the Site has to be started, too. options may
// have a name check, warm-up and logger; what it reconciles is set here.
func New(site *localvolume.Site, options controller.TypedOptions[localvolume.Pass]) (controller.TypedController[localvolume.Pass], error) {
	r := newReconciler(site)
	options.Reconciler = instrument.Reconciler(ControllerName, r)
	options.MaxConcurrentReconciles = 1 // its deletions are parallel, its decisions are one
	options.RateLimiter = kit.RateLimiterFrom[localvolume.Pass](localvolume.PassInterval)
	c, err := controller.NewTypedUnmanaged(ControllerName, options)
	if err != nil {
		return nil, err
	}
	return c, c.Watch(site.Source())
}

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
	renewal := r.site.Hold(ctx)
	subjects, err := r.site.Survey(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.reportNodes(ctx, subjects)
	r.reportClaims(subjects)
	r.reportUntouched()
	unrecorded := r.site.SaveRecord(ctx, subjects) // it is reported, and must not delay the next deletion
	if err := errors.Join(r.deletions.Act(ctx, subjects), r.waiters.release(ctx, subjects)); err != nil {
		return reconcile.Result{}, err
	}
	next, ok := r.deletions.Next(subjects)
	if unrecorded != nil && (!ok || next > recordRetry) {
		next, ok = recordRetry, true
	}
	if renewal > 0 && (!ok || next > renewal) {
		next, ok = renewal, true
	}
	if !ok {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: next}, nil
}
