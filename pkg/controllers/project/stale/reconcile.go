// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// unknownPeriod is the delay after a check in which the use of a project was unknown.
const unknownPeriod = 10 * time.Second

// Reconcile checks one Project, and marks it, removes its marks, or deletes it.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	project := &gardenerv1beta1.Project{}
	if err := r.client.Get(ctx, request.NamespacedName, project); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	namespace, err := namespaceOf(ctx, r.client, project)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !isConcerned(project, namespace) {
		return reconcile.Result{RequeueAfter: r.policy.syncPeriod}, nil
	}
	d, err := r.evaluate(ctx, r.watchedUse, project, namespace)
	if err != nil {
		return r.unknown(ctx, err)
	}
	if err := r.mark(ctx, project, &d); err != nil {
		return retried(ctx, err)
	}
	if d.delete {
		return r.remove(ctx, project)
	}
	r.passes.WithLabelValues(outcomeOf(&d)).Inc()
	return reconcile.Result{RequeueAfter: d.after}, nil
}

// evaluate decides about a Project. The use of a Project that is spared for another reason is not determined, so that a kind that
// cannot be listed does not retain the marks of a Project that is not stale.
func (r *reconciler) evaluate(ctx context.Context, uses func(context.Context, string) (string, error), project *gardenerv1beta1.Project, namespace *corev1.Namespace) (decision, error) {
	now := r.clock.Now()
	if spared := r.policy.spare(project, namespace, now); spared != nil {
		return *spared, nil
	}
	use, err := uses(ctx, namespace.Name)
	if err != nil {
		return decision{}, fmt.Errorf("determine what uses project %q: %w", project.Name, err)
	}
	return r.policy.decide(project, namespace, use, now), nil
}

// unknown ends a reconciliation in which the use of a Project is unknown: nothing is written, and it is retried. The cause is
// logged once where the kinds are watched.
func (r *reconciler) unknown(ctx context.Context, err error) (reconcile.Result, error) {
	r.passes.WithLabelValues(outcomeUnknown).Inc()
	log.FromContext(ctx).V(1).Info("Retrying because the use of the project is unknown", "err", err.Error())
	return reconcile.Result{RequeueAfter: unknownPeriod}, nil
}

// mark writes the status if it changes, and records an event. The write fails if the Project was changed concurrently, because
// the decision is about the Project that was read.
func (r *reconciler) mark(ctx context.Context, project *gardenerv1beta1.Project, d *decision) error {
	if err := r.withdraw(ctx, project, d); err != nil {
		return err
	}
	next := project.DeepCopy()
	next.Status = nextStatus(&project.Status, d, r.clock.Now())
	if sameStatus(&project.Status, &next.Status) {
		return nil
	}
	event := announce(&project.Status, &next.Status)
	// A patch instead of server-side apply, which would retain timestamps of other field managers: of an import or of Gardener's
	// controller.
	changes := client.MergeFromWithOptions(project, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, next.DeepCopy(), changes, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("mark project %q: %w", project.Name, err)
	}
	log.FromContext(ctx).Info("Changed the marks of a project", "stale", d.stale, "reason", d.reason, "since", inWords(d.since), "autoDelete", inWords(d.autoDelete))
	if event != nil {
		r.recorder.Eventf(project, nil, event.kind, event.reason, event.action, "%s", event.message)
	}
	return nil
}

// retried ends a reconciliation with a concurrent change: it is retried with the current state of the Project.
func retried(ctx context.Context, err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		log.FromContext(ctx).V(1).Info("Retrying after a concurrent change", "err", err.Error())
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	return reconcile.Result{}, err
}

// namespaceOf reads the namespace of a Project, and returns nil if it does not exist.
func namespaceOf(ctx context.Context, from client.Reader, project *gardenerv1beta1.Project) (*corev1.Namespace, error) {
	if project.NamespaceName() == "" {
		return nil, nil
	}
	namespace := &corev1.Namespace{}
	if err := from.Get(ctx, client.ObjectKey{Name: project.NamespaceName()}, namespace); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get namespace %q: %w", project.NamespaceName(), err)
	}
	return namespace, nil
}
