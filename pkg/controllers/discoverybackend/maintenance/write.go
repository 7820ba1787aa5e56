// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// correct reads a route from the API server and writes it as it should be: values and record first, and then, without a change of
// values, the ownership of its fields back to their previous owners.
func (r *routes) correct(ctx context.Context, key routeKey, backends map[string]*gimbalv1.DiscoveryBackend) (reconcile.Result, error) {
	served, err := r.cluster.set.Served(key.resource)
	if err != nil {
		return unknown(ctx, err), nil
	}
	if served == nil {
		return reconcile.Result{}, nil
	}
	client := r.client.Resource(*served).Namespace(key.name.Namespace)
	object, err := client.Get(ctx, key.name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("get %s: %w", r.describe(key), err)
	}
	decision, put, err := r.rewrite(ctx, key, object, backends)
	concerned := slices.Collect(maps.Keys(decision.Backends))
	if err == nil && put {
		object, err = r.update(ctx, client, key, object, writeValues)
	}
	if err == nil && put {
		r.note(ctx, key, object, decision)
	}
	if err == nil {
		err = r.handBack(ctx, client, key, object)
	}
	defer r.notify(concerned...)
	return r.settle(ctx, key, object, err)
}

// rewrite makes an object what it should be, and reports whether that has to be written.
func (r *routes) rewrite(ctx context.Context, key routeKey, object *unstructured.Unstructured, backends map[string]*gimbalv1.DiscoveryBackend) (drain.Decision, bool, error) {
	annotations := object.GetAnnotations()
	record := annotations[gimbalv1.AnnotationSavedWeights]
	missing := r.ledger.missing(key, object.GetUID(), record, staying(backends))
	if missing != "" {
		// Another client deleted or damaged the record. Its content is still true of the weights that stayed as Groundskeeper set
		// them.
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[gimbalv1.AnnotationSavedWeights], record = missing, missing
		object.SetAnnotations(annotations)
	}
	kind := r.kinds[key.resource]
	live := &resourcewatch.Object{Identity: resourcewatch.Identity{Namespace: object.GetNamespace()}, Value: newRoute(kind.View(object.Object), record)}
	membership, err := r.cluster.membership(ctx, backends, clustersOf(backends), live)
	if err != nil {
		return drain.Decision{}, false, err
	}
	membership.removed = r.cluster.start.recorded(key, object.GetUID(), backends)
	decision, err := kind.Rewrite(object, membership)
	if err != nil {
		return decision, false, rejection{err}
	}
	return decision, decision.Write || missing != "", nil
}

// staying reports about backends whether they are there and not about to go.
func staying(backends map[string]*gimbalv1.DiscoveryBackend) func(string) bool {
	return func(name string) bool {
		backend := backends[name]
		return backend != nil && backend.DeletionTimestamp.IsZero()
	}
}

// update writes an object in the state that was read, or nothing.
func (r *routes) update(ctx context.Context, client dynamic.ResourceInterface, key routeKey, object *unstructured.Unstructured, what string) (*unstructured.Unstructured, error) {
	updated, err := client.Update(ctx, object, metav1.UpdateOptions{FieldManager: drain.Manager})
	if err != nil {
		return object, fmt.Errorf("update %s: %w", r.describe(key), err)
	}
	r.meters.writes.WithLabelValues(what).Inc()
	record := updated.GetAnnotations()[gimbalv1.AnnotationSavedWeights]
	r.ledger.wrote(key, &resourcewatch.Object{
		Identity: resourcewatch.Identity{UID: updated.GetUID(), ResourceVersion: updated.GetResourceVersion()},
		Value:    routeOf(r.kinds[key.resource], updated.Object),
	}, record, r.clock.Now())
	return updated, nil
}

// handBack gives fields back to their owners before Groundskeeper's last write, if they had any.
func (r *routes) handBack(ctx context.Context, client dynamic.ResourceInterface, key routeKey, object *unstructured.Unstructured) error {
	changed, err := drain.HandBack(object)
	if err != nil {
		return rejection{err}
	}
	if changed {
		_, err = r.update(ctx, client, key, object, writeOwners)
	}
	return err
}

// note logs the result of a rewrite.
func (r *routes) note(ctx context.Context, key routeKey, object *unstructured.Unstructured, decision drain.Decision) {
	r.cluster.start.settled(key)
	r.ledger.rewrote(key, object.GetUID(), r.clock.Now())
	r.meters.forced.Add(float64(decision.Forced))
	log.FromContext(ctx).V(1).Info("Rewrote a route", "route", r.describe(key), "forcedBack", decision.Forced)
	if len(decision.Lost) > 0 {
		r.ledger.lose(key, object.GetUID(), object.GetGeneration(), decision.Lost, slices.Collect(maps.Keys(decision.Backends)))
		log.FromContext(ctx).Info("The saved weights of a route were lost: its traffic is spread evenly", "route", r.describe(key), "rules", decision.Lost)
	}
}

// An error that an immediate retry does not fix.
type rejection struct{ error }

func (r rejection) Unwrap() error { return r.error }

// settle decides when to check a route again.
func (r *routes) settle(ctx context.Context, key routeKey, object *unstructured.Unstructured, err error) (reconcile.Result, error) {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		log.FromContext(ctx).V(1).Info("A route changed meanwhile, trying again", "route", r.describe(key))
		return reconcile.Result{RequeueAfter: minPause}, nil
	case !isRejected(err):
		return reconcile.Result{}, err
	}
	r.meters.rejected.Inc()
	if r.ledger.reject(key, object.GetUID(), reason(err)) {
		log.FromContext(ctx).Info("A route cannot be rewritten", "route", r.describe(key), "reason", reason(err))
	}
	return reconcile.Result{RequeueAfter: rejectedPeriod}, nil
}

// isRejected reports whether an error is a response that will be the same the next time: of validation, of admission, of the
// authorizer. A webhook that does not respond counts too, since it blocks the maintenance for as long.
func isRejected(err error) bool {
	if rejected := (rejection{}); errors.As(err, &rejected) {
		return true
	}
	if apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err) {
		return false
	}
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status)
}

// reason returns what the API server responded.
func reason(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Message != "" {
		return status.Status().Message
	}
	return err.Error()
}
