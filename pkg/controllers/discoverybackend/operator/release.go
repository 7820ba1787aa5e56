// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// waitPeriod is the polling interval of a deletion that waits.
const waitPeriod = 2 * time.Second

// releaseStep is a step of the deletion of a backend. It returns the reason to wait, "" if it is complete. Steps are idempotent:
// each reconciliation starts with the first one.
type releaseStep func(context.Context, *gimbalv1.DiscoveryBackend) (waiting string, err error)

// releaseSteps returns the steps in their order. Nothing copies any more before the copies go, or they would come back; and no
// route refers to them any more, or it would refer to nothing.
func (r *reconciler) releaseSteps() []releaseStep {
	return []releaseStep{r.stopDiscoverer, r.awaitDiscoverer, r.removeReferences, r.withdrawAll, r.removeCopies}
}

// release deletes everything that was created for a backend, and then removes its finalizer. It reads from the API server, not from the
// cache.
func (r *reconciler) release(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (outcome, reconcile.Result, error) {
	for _, step := range r.releaseSteps() {
		waiting, err := step(ctx, backend)
		if err != nil {
			return outcomeFailed, reconcile.Result{}, err
		}
		if waiting != "" {
			// The Deployment is not in the status any more: it is deleted.
			return outcomeReleasing, reconcile.Result{RequeueAfter: waitPeriod}, r.writeStatus(ctx, backend, findings{terminating: waiting})
		}
	}
	after := backend.DeepCopy()
	controllerutil.RemoveFinalizer(after, gimbalv1.FinalizerName)
	if err := client.IgnoreNotFound(r.patchFinalizers(ctx, backend, after)); err != nil {
		return outcomeFailed, reconcile.Result{}, err
	}
	log.FromContext(ctx).Info("Released a backend: its discoverer and its copies have been deleted")
	r.secrets.discard(client.ObjectKeyFromObject(backend))
	r.leases.discard(backend.UID)
	return outcomeReleased, reconcile.Result{}, nil
}

// stopDiscoverer deletes the Deployment, and waits until its last pod has been deleted.
func (r *reconciler) stopDiscoverer(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	deployment, err := r.deploymentOf(ctx, r.live, backend)
	if err != nil {
		return "", err
	}
	if deployment != nil && deployment.DeletionTimestamp.IsZero() {
		if err := r.remove(ctx, deployment, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			return "", err
		}
		log.FromContext(ctx).Info("Stopped the discoverer of a backend that is being deleted", "object", describe(deployment))
		r.report(backend, eventStopped, actionDelete, "deleted "+describe(deployment))
	}
	if deployment != nil {
		return "the discoverer stops", nil
	}
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := r.live.List(ctx, pods, client.InNamespace(backend.Namespace), client.MatchingLabels(selectorLabels(backend.Name))); err != nil {
		return "", fmt.Errorf("list the pods of DiscoveryBackend %s/%s: %w", backend.Namespace, backend.Name, err)
	}
	if count := len(pods.Items); count > 0 {
		return fmt.Sprintf("%s of the discoverer still there, first %q", status.Plural(count, "pod"), pods.Items[0].Name), nil
	}
	return "", nil
}

// withdrawAll removes the permissions that the garbage collector does not delete with the backend. The cache may not have those of a
// backend that was created a moment ago, and no later reconciliation would find them.
func (r *reconciler) withdrawAll(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	return "", r.withdraw(ctx, lists.Complete(r.live), backend, grants{})
}

// removeCopies deletes the Services and EndpointSlices of the backend. It deletes nothing before all of them are
// listed, and is done when a listing has none.
func (r *reconciler) removeCopies(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	namespace := backend.Namespace
	if reachesAll(backend, r.admins) {
		namespace = metav1.NamespaceAll
	}
	var plan []*metav1.PartialObjectMetadata
	for _, kind := range copyKinds() {
		objects, err := listCopies(ctx, r.live, kind, backend.Name, namespace)
		if err != nil {
			return "", err
		}
		plan = append(plan, deletionPlan(backend.Name, objects)...)
	}
	if len(plan) == 0 {
		return "", nil
	}
	left := len(plan)
	deleted, err := r.deleteCopies(ctx, plan[:min(left, maxDeletions)])
	r.meters.removed.WithLabelValues(whyReleased).Add(float64(deleted))
	if deleted > 0 {
		log.FromContext(ctx).Info("Deleted copies of a backend that is being deleted", "deleted", deleted, "found", left)
		r.report(backend, eventCopiesDeleted, actionDelete, "deleted "+status.Plural(deleted, "copied object"))
	}
	return "the copied Services and EndpointSlices are deleted", err
}
