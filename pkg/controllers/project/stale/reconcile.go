// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// unknownPeriod is the delay after a check in which the use of a project was unknown.
const unknownPeriod = 10 * time.Second

// Reconcile checks one Project, and marks it, removes its marks, or deletes it.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o, err := r.observe(ctx, r.client, r.watchedUse, request.NamespacedName)
	switch {
	case o == nil:
		return reconcile.Result{}, err
	case !isConcerned(o.project, o.namespace):
		return reconcile.Result{RequeueAfter: r.policy.syncPeriod}, nil
	case o.useErr != nil:
		return r.unknown(ctx, o.useErr)
	}
	d := r.policy.decide(o.project, o.namespace, o.use, o.at)
	if err := r.mark(ctx, o.project, &d); err != nil {
		return reconcile.Result{}, err
	}
	if d.delete {
		return r.remove(ctx, o.project)
	}
	r.passes.WithLabelValues(outcomeOf(&d)).Inc()
	return reconcile.Result{RequeueAfter: d.after}, nil
}

// remove deletes a Project whose date has passed. That cannot be reverted, so the basis of the decision is read again from the
// API server: the Project with its marks, the annotation of its namespace, and what uses it.
func (r *reconciler) remove(ctx context.Context, seen *gardenerv1beta1.Project) (reconcile.Result, error) {
	o, err := r.observe(ctx, r.live, r.liveUse, client.ObjectKeyFromObject(seen))
	switch {
	case o == nil:
		return reconcile.Result{}, err
	case o.project.UID != seen.UID || !isConcerned(o.project, o.namespace):
		return reconcile.Result{RequeueAfter: soon}, nil
	case o.useErr != nil:
		return r.unknown(ctx, o.useErr)
	}
	d := r.policy.decide(o.project, o.namespace, o.use, o.at)
	if !d.delete {
		log.FromContext(ctx).Info("Retained a project that is no longer stale", "reason", d.reason)
		return reconcile.Result{}, r.mark(ctx, o.project, &d)
	}
	if err := r.delete(ctx, o.project); err != nil {
		return reconcile.Result{}, err
	}
	r.deletions.Inc()
	r.passes.WithLabelValues(outcomeDeleted).Inc()
	log.FromContext(ctx).Info("Deleted a stale project", "since", inWords(d.since), "autoDelete", inWords(d.autoDelete))
	r.recorder.Eventf(o.project, nil, corev1.EventTypeWarning, eventStale, actionDelete,
		"the project is being deleted: nothing uses it since %s, and its date was %s", inWords(d.since), inWords(d.autoDelete))
	return reconcile.Result{}, nil
}

// unknown ends a reconciliation in which the use of a Project is unknown: nothing is written, and it is retried. The cause is
// logged once where the kinds are watched.
func (r *reconciler) unknown(ctx context.Context, err error) (reconcile.Result, error) {
	r.passes.WithLabelValues(outcomeUnknown).Inc()
	log.FromContext(ctx).V(1).Info("Retrying because the use of the project is unknown", "err", err.Error())
	return reconcile.Result{RequeueAfter: unknownPeriod}, nil
}

// mark writes the marks of a Project if they change, and records an event.
func (r *reconciler) mark(ctx context.Context, project *gardenerv1beta1.Project, d *decision) error {
	now := r.clock.Now()
	if withdraws(project, d, now) {
		if err := r.confirm(ctx, project, false); err != nil {
			return err
		}
	}
	next := nextStatus(&project.Status, d, now)
	wrote, err := r.writeStatus(ctx, project, next)
	if err != nil || !wrote {
		return err
	}
	log.FromContext(ctx).Info("Changed the marks of a project", "stale", d.stale, "reason", d.reason,
		"since", inWords(d.since), "autoDelete", inWords(d.autoDelete))
	if event := announce(&project.Status, &next); event != nil {
		r.recorder.Eventf(project, nil, event.kind, event.reason, event.action, "%s", event.message)
	}
	return nil
}
