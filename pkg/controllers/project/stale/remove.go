// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// patience is how long nothing is deleted after a kind is no longer served: an API server that is being replaced removes its
// kinds temporarily.
const patience = day

// remove deletes a Project whose date has passed. That cannot be reverted, so the basis of the decision is read again from the
// API server: the Project with its marks, the annotation of its namespace, and what uses it. The UID and resource version of
// the Project are preconditions of the deletion.
func (r *reconciler) remove(ctx context.Context, seen *gardenerv1beta1.Project) (reconcile.Result, error) {
	project := &gardenerv1beta1.Project{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(seen), project); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	namespace, err := namespaceOf(ctx, r.live, project)
	if err != nil {
		return reconcile.Result{}, err
	}
	if project.UID != seen.UID || !isConcerned(project, namespace) {
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	d, err := r.evaluate(ctx, r.liveUse, project, namespace)
	if err != nil {
		return r.unknown(ctx, err)
	}
	if !d.delete {
		log.FromContext(ctx).Info("Retained a project that is no longer stale", "reason", d.reason)
		return retried(ctx, r.mark(ctx, project, &d))
	}
	if err := r.confirm(ctx, project); err != nil {
		return retried(ctx, err)
	}
	if err := r.client.Delete(ctx, project, client.Preconditions(kit.AsRead(project))); err != nil {
		return retried(ctx, fmt.Errorf("delete stale project %q: %w", project.Name, err))
	}
	r.deletions.Inc()
	r.passes.WithLabelValues(outcomeDeleted).Inc()
	log.FromContext(ctx).Info("Deleted a stale project", "since", inWords(d.since), "autoDelete", inWords(d.autoDelete))
	r.recorder.Eventf(project, nil, corev1.EventTypeWarning, eventStale, actionDelete,
		"the project is being deleted: nothing uses it since %s, and its date was %s", inWords(d.since), inWords(d.autoDelete))
	return reconcile.Result{}, nil
}

// confirm sets the annotation without which the deletion of a Project is denied.
func (r *reconciler) confirm(ctx context.Context, project *gardenerv1beta1.Project) error {
	if project.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] == "true" {
		return nil
	}
	before := project.DeepCopy()
	metav1.SetMetaDataAnnotation(&project.ObjectMeta, gardenerv1beta1.AnnotationConfirmDeletion, "true")
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, project, changes, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("confirm the deletion of project %q: %w", project.Name, err)
	}
	return nil
}

// withdraw removes a confirmation that was written for a deletion that failed. Otherwise the next deletion of the Project would
// not require a confirmation.
func (r *reconciler) withdraw(ctx context.Context, project *gardenerv1beta1.Project, d *decision) error {
	date := project.Status.StaleAutoDeleteTimestamp
	if d.stale || date == nil || date.After(r.clock.Now()) || project.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] != "true" {
		return nil
	}
	before := project.DeepCopy()
	delete(project.Annotations, gardenerv1beta1.AnnotationConfirmDeletion)
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, project, changes, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("withdraw the confirmation to delete project %q: %w", project.Name, err)
	}
	return nil
}
