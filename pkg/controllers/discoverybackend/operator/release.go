// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// release deletes everything that was created for a backend, and then removes its finalizer. It reads from the API server, not from the
// cache. Each step returns the reason to wait, "" if it is complete. Steps are idempotent: each reconcile starts with the first one.
// Copies are deleted when nothing recreates them any more and no route refers to them.
func (r *reconciler) release(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (outcome, error) {
	for _, step := range []func(context.Context, *gimbalv1.DiscoveryBackend) (string, error){
		r.stopDiscoverer, r.podsOf, r.holderOf, r.removeReferences, r.withdrawAll, r.removeCopies,
	} {
		waiting, err := step(ctx, backend)
		if err != nil {
			return outcomeFailed, err
		}
		if waiting != "" {
			// The Deployment is not in the status any more: it is deleted.
			return outcomeReleasing, r.writeStatus(ctx, backend, findings{terminating: waiting})
		}
	}
	after := backend.DeepCopy()
	controllerutil.RemoveFinalizer(after, gimbalv1.FinalizerName)
	if err := client.IgnoreNotFound(r.patchFinalizers(ctx, backend, after)); err != nil {
		return outcomeFailed, err
	}
	log.FromContext(ctx).Info("Released a backend: its discoverer and its copies have been deleted")
	r.memory.discard(client.ObjectKeyFromObject(backend), backend.UID)
	return outcomeReleased, nil
}

// stopDiscoverer deletes the Deployment, and waits until its last pod has been deleted.
func (r *reconciler) stopDiscoverer(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	deployment, err := r.deploymentOf(ctx, r.live, backend)
	if err != nil || deployment == nil {
		return "", err
	}
	if deployment.DeletionTimestamp.IsZero() {
		if err := r.remove(ctx, deployment, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			return "", err
		}
		log.FromContext(ctx).Info("Stopped the discoverer of a backend that is being deleted", "object", describe(deployment))
		r.report(backend, eventStopped, actionDelete, "deleted "+describe(deployment))
	}
	return "the discoverer stops", nil
}

// withdrawAll removes the permissions that the garbage collector does not delete with the backend. The cache may not have those of a
// backend that was created a moment ago, and no later reconcile would find them.
func (r *reconciler) withdrawAll(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	return "", r.withdraw(ctx, lists.Complete(r.live), backend, nil)
}

// removeCopies deletes the Services and EndpointSlices of the backend. It deletes nothing before all of them are listed, and is complete
// when the list is empty.
func (r *reconciler) removeCopies(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	objects, err := r.copies(ctx, backend.Name, status.Reach(backend, r.admins))
	if err != nil {
		return "", err
	}
	plan := deletionPlan(backend.Name, objects)
	if len(plan) == 0 {
		return "", nil
	}
	deleted, err := r.deleteCopies(ctx, plan[:min(len(plan), maxDeletions)])
	r.meters.removed.WithLabelValues(whyReleased).Add(float64(deleted))
	if deleted > 0 {
		log.FromContext(ctx).Info("Deleted copies of a backend that is being deleted", "deleted", deleted, "found", len(plan))
		r.report(backend, eventCopiesDeleted, actionDelete, "deleted "+status.Plural(deleted, "copied object"))
	}
	return "the copied Services and EndpointSlices are deleted", err
}
