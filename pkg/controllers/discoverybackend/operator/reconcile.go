// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// Pauses after which a backend is reconciled again without an event.
const (
	// recheckPeriod is how often a discoverer is compared with the addresses of the API server.
	recheckPeriod = 10 * time.Minute
	// conflictPeriod is how often another client's object, which no watch reports, is rechecked.
	conflictPeriod = 30 * time.Second
	// waitPeriod is the polling interval of a deletion that waits.
	waitPeriod = 2 * time.Second
)

// pause is how long the next reconcile waits, 0 for an event.
func (o outcome) pause() time.Duration {
	switch o {
	case outcomeProvided:
		return recheckPeriod
	case outcomeConflict:
		return conflictPeriod
	case outcomeReleasing:
		return waitPeriod
	default:
		return 0
	}
}

// Reconcile brings the discoverer of one backend to the state that the backend requests, and reports in its status how far that is.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	backend, err := r.backendNamed(ctx, request.NamespacedName)
	if backend == nil || err != nil {
		return reconcile.Result{}, err
	}
	var o outcome
	switch {
	case !backend.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(backend, gimbalv1.FinalizerName):
		return reconcile.Result{}, nil
	case !backend.DeletionTimestamp.IsZero():
		o, err = r.release(ctx, backend)
	case r.image == "":
		o, err = outcomeWithoutImage, r.writeStatus(ctx, backend, findings{noImage: true})
	default:
		o, err = r.provide(ctx, backend)
	}
	if err != nil {
		o = outcomeFailed
	}
	if apierrors.IsConflict(err) {
		o = outcomeRetried
	}
	r.meters.reconciles.WithLabelValues(string(o)).Inc()
	return reconcile.Result{RequeueAfter: o.pause()}, err
}

// provide gives a backend its discoverer. Permissions are removed before others are added. Without usable credentials the Deployment is
// not changed: what runs continues, and what could not start is not started.
func (r *reconciler) provide(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (outcome, error) {
	// A backend that was not created by Groundskeeper's API server may lack the finalizer: without it, what is copied here would stay.
	before := backend.DeepCopy()
	if controllerutil.AddFinalizer(backend, gimbalv1.FinalizerName) {
		if err := r.patchFinalizers(ctx, before, backend); err != nil {
			return outcomeFailed, err
		}
	}
	found, err := r.observe(ctx, backend)
	if err != nil {
		return outcomeFailed, err
	}
	parts := permissions(backend, r.admins)
	// The generation is not observed while the discoverer has a permission too many.
	if err := r.withdraw(ctx, r.cache, backend, parts); err != nil {
		return outcomeFailed, err
	}
	if found.unread == nil && found.credentials.usable() {
		parts = append(parts, deployed(backend, found, r.image, r.admins))
	}
	wrote, err := r.ensure(ctx, backend, parts)
	r.announceWrites(ctx, backend, wrote)
	// A conflict that another client has to resolve is reported in the status, and checked again later.
	if conflict := (conflictError{}); errors.As(err, &conflict) {
		found.conflict, err = conflict.Error(), nil
	}
	var unread error
	if found.deployment, unread = r.deploymentOf(ctx, r.cache, backend); unread != nil {
		return outcomeFailed, errors.Join(err, found.unread, unread)
	}
	if err := errors.Join(err, found.unread, r.writeStatus(ctx, backend, found)); err != nil {
		return outcomeFailed, err
	}
	switch {
	case found.conflict != "":
		return outcomeConflict, nil
	case !found.credentials.usable():
		return outcomeWithoutCredentials, nil
	}
	return outcomeProvided, nil
}

// withdraw removes the permissions of a backend that it is not to have.
func (r *reconciler) withdraw(ctx context.Context, from client.Reader, backend *gimbalv1.DiscoveryBackend, wanted []part) error {
	surplus, unread := r.surplus(ctx, from, backend, wanted)
	return errors.Join(r.revoke(ctx, surplus), unread)
}

// ensure brings the parts to the desired state, in their order, and returns those that it wrote. An error ends it.
func (r *reconciler) ensure(ctx context.Context, backend *gimbalv1.DiscoveryBackend, parts []part) (wrote []string, err error) {
	for _, wanted := range parts {
		current, err := r.current(ctx, wanted)
		if err != nil {
			return wrote, err
		}
		changed, err := differs(backend, wanted, current)
		if err != nil {
			return wrote, err
		}
		if !changed {
			continue
		}
		if err := r.apply(ctx, wanted); err != nil {
			return wrote, err
		}
		wrote = append(wrote, describe(wanted.object))
	}
	return wrote, nil
}
