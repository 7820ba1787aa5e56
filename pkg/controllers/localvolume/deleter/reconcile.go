// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deleter

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
	subjects, err := r.site.Survey(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.report(subjects)
	if err := r.act(ctx, subjects); err != nil {
		return reconcile.Result{}, err
	}
	next, ok := r.site.Next(subjects, func(s *localvolume.Subject) localvolume.Decision { return s.VolumeDecision })
	if !ok {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

// report tells volumes why they stay.
func (r *reconciler) report(subjects []localvolume.Subject) {
	stale := make(map[types.UID]bool, len(subjects))
	for i := range subjects {
		volume, decision := subjects[i].Volume, subjects[i].VolumeDecision
		stale[volume.UID] = true
		if decision.Skipped == "" || r.deleted[volume.UID] {
			continue
		}
		message := fmt.Sprintf("%s, but the volume is kept: %s.", localvolume.GoneSentence(subjects[i].Nodes), decision.Skipped)
		if r.told.New(volume.UID, message) {
			r.site.Recorder.Event(volume, corev1.EventTypeNormal, localvolume.EventSkipped, message)
		}
	}
	for uid := range r.deleted {
		if !stale[uid] {
			delete(r.deleted, uid)
		}
	}
	r.told.Keep(stale)
}

// act deletes the volumes that nobody has, if anything may be deleted.
func (r *reconciler) act(ctx context.Context, subjects []localvolume.Subject) error {
	permit, allowed, err := r.site.Clear(ctx, subjects, func(s *localvolume.Subject) bool {
		return s.VolumeDecision.Action == localvolume.Delete && !r.deleted[s.Volume.UID]
	})
	if len(allowed) == 0 && r.unreported > 0 { // once for all batches in a row
		log.FromContext(ctx).Info("Deleted volumes of missing nodes", "volumes", r.unreported)
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
		message := fmt.Sprintf("Dry run: this volume would be deleted, because %s.", localvolume.Gone(subjects[i].Nodes))
		if r.told.New(subjects[i].Volume.UID, message) {
			r.site.Recorder.Event(subjects[i].Volume, corev1.EventTypeNormal, localvolume.EventSkipped, message)
			count++
		}
	}
	if count > 0 {
		log.FromContext(ctx).Info("Dry run: volumes would be deleted", "volumes", count)
	}
}

// delete deletes volumes, several at once, after their events.
func (r *reconciler) delete(ctx context.Context, permit *localvolume.Permit, subjects []localvolume.Subject) error {
	for i := range subjects {
		volume := subjects[i].Volume
		message := fmt.Sprintf("Deleting the volume in phase %s, because %s.", volume.Status.Phase, localvolume.Gone(subjects[i].Nodes))
		if r.told.New(volume.UID, message) {
			r.site.Recorder.Event(volume, corev1.EventTypeNormal, localvolume.EventDeleting, message)
		}
	}
	done := make([]bool, len(subjects))
	err := r.site.Each(len(subjects), func(i int) (err error) {
		volume := subjects[i].Volume
		if !permit.Allows(subjects[i].Stale) {
			return nil // a node came back meanwhile
		}
		if done[i], err = r.site.DeleteExactly(ctx, volume); err != nil {
			r.site.Metrics.VolumesFailed.WithLabelValues(string(volume.Status.Phase)).Inc()
			return fmt.Errorf("delete persistent volume %s: %w", volume.Name, err)
		}
		return nil
	})
	count := 0
	for i := range subjects {
		if done[i] {
			count++
			r.deleted[subjects[i].Volume.UID] = true
			r.site.Metrics.VolumesDeleted.WithLabelValues(string(subjects[i].Volume.Status.Phase)).Inc()
		}
	}
	r.unreported += count
	return err
}
