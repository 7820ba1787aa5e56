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

// unknownPeriod is the pause after it could not be found out what uses a project.
const unknownPeriod = 10 * time.Second

// Reconcile looks at one Project, marks it, takes its marks back, or deletes it.
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
	d, err := r.look(ctx, r.watchedUse, project, namespace)
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

// look decides about a Project. What uses one that is spared anyway is not asked, so that one kind which cannot be listed
// does not keep marks on a project that came back.
func (r *reconciler) look(ctx context.Context, uses func(context.Context, string) (string, error), project *gardenerv1beta1.Project, namespace *corev1.Namespace) (decision, error) {
	now := r.clock.Now()
	if spared := r.policy.spare(project, namespace, now); spared != nil {
		return *spared, nil
	}
	use, err := uses(ctx, namespace.Name)
	if err != nil {
		return decision{}, fmt.Errorf("find out what uses project %q: %w", project.Name, err)
	}
	return r.policy.decide(project, namespace, use, now), nil
}

// unknown ends a pass that cannot tell what uses a Project: nothing is written, and it is tried again. Why, the log says
// once, where the kinds are followed.
func (r *reconciler) unknown(ctx context.Context, err error) (reconcile.Result, error) {
	r.passes.WithLabelValues(outcomeUnknown).Inc()
	log.FromContext(ctx).V(1).Info("cannot tell whether the project is in use, trying again", "reason", err.Error())
	return reconcile.Result{RequeueAfter: unknownPeriod}, nil
}

// mark writes the status when it changes, and tells it by an event. The write fails when somebody else was quicker: the
// decision was about the Project as it was read.
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
	// A patch and not server-side apply: that one would leave timestamps in place that came another way, by an import
	// or from Gardener's own controller.
	changes := client.MergeFromWithOptions(project, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, next.DeepCopy(), changes, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("mark project %q: %w", project.Name, err)
	}
	log.FromContext(ctx).Info("the marks of a project have changed", "stale", d.stale, "reason", d.reason, "since", inWords(d.since), "autoDelete", inWords(d.autoDelete))
	if event != nil {
		r.recorder.Eventf(project, nil, event.kind, event.reason, event.action, "%s", event.message)
	}
	return nil
}

// retried ends a pass that came too late: another one follows, with the Project as it is now.
func retried(ctx context.Context, err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		log.FromContext(ctx).V(1).Info("something changed meanwhile, trying again", "reason", err.Error())
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	return reconcile.Result{}, err
}

// namespaceOf reads the namespace of a Project, nil when there is none.
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
