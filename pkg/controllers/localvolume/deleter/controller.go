// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package deleter is the Deleter. It deletes local volumes without a claim whose node has been deleted: Available ones, and Released ones
// with the reclaim policy Delete. CSI volumes are left to their driver, unless their release is enabled. It shares a Site with the
// CleanupController and uses the inventory of that controller.
package deleter

import (
	"context"
	"errors"
	"time"

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
	ControllerName = "local-volume-deleter"

	// patience is how long a reconciliation waits for the last of the claims that go together. Volumes can wait: a user needs a new
	// claim, but no user needs the deletion of a volume on a lost node.
	patience = 10 * time.Second
)

// reconciler deletes volumes. One reconciliation runs at a time.
type reconciler struct {
	site *localvolume.Site

	pace *localvolume.Pace
	// deletions deletes volumes, and notifies them why they stay.
	deletions *localvolume.Deletions
}

// New returns the controller of a Site whose CleanupController runs, too. options may have a name check, warm-up and
// logger; what it reconciles is set here.
func New(site *localvolume.Site, options controller.TypedOptions[localvolume.Pass]) (controller.TypedController[localvolume.Pass], error) {
	options.Reconciler = instrument.Reconciler(ControllerName, newReconciler(site))
	options.MaxConcurrentReconciles = 1 // its deletions are parallel, its decisions are one
	options.RateLimiter = kit.RateLimiterFrom[localvolume.Pass](localvolume.PassInterval)
	c, err := controller.NewTypedUnmanaged(ControllerName, options)
	if err != nil {
		return nil, err
	}
	return c, c.Watch(site.Follow())
}

func newReconciler(site *localvolume.Site) *reconciler {
	phase := func(s *localvolume.Subject) string { return string(s.Volume.Status.Phase) }
	return &reconciler{site: site, pace: site.NewPace(patience), deletions: site.NewDeletions(localvolume.Target{
		Noun:         "volume",
		Object:       func(s *localvolume.Subject) client.Object { return s.Volume },
		Decision:     func(s *localvolume.Subject) localvolume.Decision { return s.VolumeDecision },
		Announcement: func(s *localvolume.Subject) string { return "Deleting the volume in phase " + phase(s) },
		Release: func(ctx context.Context, s *localvolume.Subject) (bool, error) {
			return site.ReleaseExactly(ctx, s.Volume)
		},
		Notice:  localvolume.ReleaseNotice,
		Deleted: func(s *localvolume.Subject) { site.Metrics.VolumesDeleted.WithLabelValues(phase(s)).Inc() },
		Failed:  func(s *localvolume.Subject) { site.Metrics.VolumesFailed.WithLabelValues(phase(s)).Inc() },
	})}
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
	held := 0
	for i := range subjects {
		volume, decision := subjects[i].Volume, subjects[i].VolumeDecision
		stale[volume.UID] = true
		if decision.Held {
			held++
		}
		if decision.Skipped != "" && (decision.Held || !r.deletions.Has(volume.UID)) {
			r.deletions.Skip(&subjects[i], decision.Skipped)
		}
	}
	r.site.Metrics.Held.WithLabelValues(r.site.Name).Set(float64(held))
	r.deletions.Keep(stale)
}
