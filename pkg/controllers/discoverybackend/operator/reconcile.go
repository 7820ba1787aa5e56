// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

const (
	// retryPeriod is the pause after something changed under a reconciliation. The change itself mostly comes sooner.
	retryPeriod = time.Second
	// conflictPeriod is how often another client's object, which no watch reports of, is rechecked.
	conflictPeriod = 30 * time.Second
)

// Reconcile brings the discoverer of one backend to the state that the backend requests, and reports in its status how far that is.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	backend := &gimbalv1.DiscoveryBackend{}
	if err := r.cache.Get(ctx, request.NamespacedName, backend); err != nil {
		if apierrors.IsNotFound(err) {
			r.secrets.discard(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var result reconcile.Result
	var err error
	var outcome outcome
	switch {
	case backend.DeletionTimestamp.IsZero() && r.image == "":
		outcome, err = r.reportNoImage(ctx, backend)
	case backend.DeletionTimestamp.IsZero():
		outcome, result, err = r.provide(ctx, backend)
	case controllerutil.ContainsFinalizer(backend, gimbalv1.FinalizerName):
		outcome, result, err = r.release(ctx, backend)
	default:
		return reconcile.Result{}, nil
	}
	if apierrors.IsConflict(err) {
		log.FromContext(ctx).V(1).Info("An object changed meanwhile, retrying", "err", err)
		outcome, result, err = outcomeRetried, reconcile.Result{RequeueAfter: retryPeriod}, nil
	}
	r.meters.reconciles.WithLabelValues(string(outcome)).Inc()
	return result, err
}

// provide gives a backend that lives its discoverer. Permissions go before they come. Without usable credentials the Deployment is
// not touched: what runs continues, and what could not start is not started.
func (r *reconciler) provide(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (outcome, reconcile.Result, error) {
	if err := r.complete(ctx, backend); err != nil {
		return outcomeFailed, reconcile.Result{}, err
	}
	var found findings
	found.credentials, found.unread = r.secrets.credentialsOf(ctx, r.cache, backend)
	wanted := desiredGrants(backend, r.admins)
	parts := partsOf(wanted, nil)
	if found.unread == nil && found.credentials.usable() {
		denied, err := r.apiServer.networksOf(ctx, r.live, r.clock.Now())
		if err != nil {
			return outcomeFailed, reconcile.Result{}, err
		}
		parts = partsOf(wanted, desiredDeployment(backend, found.credentials, r.image, r.admins, denied))
	}
	// The generation is not observed while the discoverer has a permission too many.
	if err := r.withdraw(ctx, r.cache, backend, wanted); err != nil {
		return outcomeFailed, reconcile.Result{}, err
	}
	wrote, err := r.ensureAll(ctx, backend, parts)
	r.announceWrites(ctx, backend, wrote)
	// A conflict that another client has to resolve is reported in the status, and checked again later.
	if conflict := (conflictError{}); errors.As(err, &conflict) {
		found.conflict, err = conflict.Error(), nil
	}
	deployment, readErr := r.deploymentOf(ctx, r.cache, backend)
	if readErr != nil {
		return outcomeFailed, reconcile.Result{}, errors.Join(err, found.unread, readErr)
	}
	found.deployment = deployment
	if err := errors.Join(err, found.unread, r.writeStatus(ctx, backend, found)); err != nil {
		return outcomeFailed, reconcile.Result{}, err
	}
	switch {
	case found.conflict != "":
		return outcomeConflict, reconcile.Result{RequeueAfter: conflictPeriod}, nil
	case !found.credentials.usable():
		return outcomeWithoutCredentials, reconcile.Result{}, nil
	}
	return outcomeProvided, reconcile.Result{RequeueAfter: recheckPeriod}, nil
}

// complete adds the finalizer to a backend that came another way than by Groundskeeper's API server: without it, what it copied
// here would stay.
func (r *reconciler) complete(ctx context.Context, backend *gimbalv1.DiscoveryBackend) error {
	before := backend.DeepCopy()
	if !controllerutil.AddFinalizer(backend, gimbalv1.FinalizerName) {
		return nil
	}
	return r.patchFinalizers(ctx, before, backend)
}

func (r *reconciler) patchFinalizers(ctx context.Context, before, after *gimbalv1.DiscoveryBackend) error {
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, after, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("update the finalizers of %s: %w", describe(before), err)
	}
	return nil
}

// deploymentOf reads the Deployment of a backend, nil when there is none that belongs to it.
func (r *reconciler) deploymentOf(ctx context.Context, from client.Reader, backend *gimbalv1.DiscoveryBackend) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	err := from.Get(ctx, client.ObjectKey{Namespace: backend.Namespace, Name: partName(backend)}, deployment)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the Deployment of DiscoveryBackend %s/%s: %w", backend.Namespace, backend.Name, err)
	}
	if !isPartOf(backend, deployment) {
		return nil, nil
	}
	return deployment, nil
}

// writeStatus writes what was found if it is new, and reports it by events.
func (r *reconciler) writeStatus(ctx context.Context, backend *gimbalv1.DiscoveryBackend, found findings) error {
	own, err := status.OwnErrors(backend, fieldOwner)
	if err != nil {
		return err
	}
	next, changed := nextStatus(backend, found, own, r.clock.Now())
	if !changed {
		return nil
	}
	err = r.client.Status().Apply(ctx, statusApplied(backend, &next), client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("apply the status of %s: %w", describe(backend), err)
	}
	r.announceConditions(ctx, backend, next.Conditions)
	// A step may write the status before the reconcile does.
	for _, c := range next.Conditions {
		meta.SetStatusCondition(&backend.Status.Conditions, c)
	}
	return nil
}

// announceWrites reports that parts were written.
func (r *reconciler) announceWrites(ctx context.Context, backend *gimbalv1.DiscoveryBackend, wrote []string) {
	if len(wrote) == 0 {
		return
	}
	r.meters.writes.Add(float64(len(wrote)))
	log.FromContext(ctx).Info("Applied the discoverer of a backend", "objects", wrote)
	r.report(backend, eventApplied, actionReconcile, "applied "+strings.Join(wrote, ", "))
}

// announceConditions sends an event for each change of a condition, once.
func (r *reconciler) announceConditions(ctx context.Context, backend *gimbalv1.DiscoveryBackend, conditions []metav1.Condition) {
	for _, c := range conditions {
		last := meta.FindStatusCondition(backend.Status.Conditions, c.Type)
		if last != nil && last.Status == c.Status && last.Reason == c.Reason {
			continue
		}
		log.FromContext(ctx).Info("The state of a backend changed", "condition", c.Type, "status", c.Status, "reason", c.Reason, "message", c.Message)
		switch {
		case c.Type == gimbalv1.ConditionCredentialsValid && c.Status == metav1.ConditionFalse, c.Reason == reasonRolloutStuck:
			r.warn(backend, c.Reason, actionReconcile, c.Message)
		case c.Type == gimbalv1.ConditionAvailable && c.Status == metav1.ConditionTrue && (last == nil || last.Status != metav1.ConditionTrue):
			r.report(backend, c.Reason, actionReconcile, c.Message)
		}
	}
}
