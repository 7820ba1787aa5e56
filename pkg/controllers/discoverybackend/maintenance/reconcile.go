// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

const (
	// unknownPeriod is the pause while not everything is known that a decision needs.
	unknownPeriod = time.Second
	// rejectedPeriod is the pause after the API server rejected a route. A change of the route comes sooner.
	rejectedPeriod = 30 * time.Second
	// statusPeriod is the least time between two writes of one status.
	statusPeriod = time.Second
	// minPeriod is the pause after a check that took longer than statusPeriod, because it wrote many EndpointSlices.
	minPeriod = time.Millisecond
	// checkPeriod is how often a backend is checked when nothing is heard: a kind that appears or disappears with its objects is no
	// event of an object.
	checkPeriod = resourcewatch.DiscoveryPeriod
)

// Reconcile checks one route in the cache, and rewrites it when it is not as it should be.
func (r *routes) Reconcile(ctx context.Context, key routeKey) (reconcile.Result, error) {
	memory := r.cluster.memory
	cached, err := r.cluster.find(ctx, key.resource, key.name)
	if err != nil {
		return unknown(ctx, err), nil
	}
	served, err := r.cluster.set.Served(key.resource)
	if err != nil {
		return unknown(ctx, err), nil
	}
	if cached == nil || served == nil {
		memory.discardRoute(key)
		return reconcile.Result{}, nil
	}
	if memory.ahead(key, cached, r.clock.Now()) {
		return reconcile.Result{RequeueAfter: quietPeriod}, nil
	}
	kept := valueOf[route](cached)
	if kept == nil {
		return reconcile.Result{}, fmt.Errorf("%T is not what is kept of a route", cached.Value)
	}
	backends, err := r.cluster.backends(ctx)
	if err != nil {
		return unknown(ctx, err), nil
	}
	fleet := r.cluster.fleetOf(backends)
	membership, err := r.cluster.membership(ctx, fleet, cached.Namespace, kept)
	if err != nil {
		return unknown(ctx, err), nil
	}
	membership.removed = memory.hadRecord(key, cached.UID, backends)
	decision := kept.view.Decide(membership)
	client := r.client.Resource(*served).Namespace(key.name.Namespace)
	if !decision.Write && !decision.HandBack && memory.missing(key, cached.UID, kept.record, backends) == "" {
		memory.agrees(key, cached, kept)
		// The receivers may have changed, although there is nothing to write.
		r.notify(ctx, slices.Collect(maps.Keys(decision.Backends))...)
		result, err := r.discardRemovals(ctx, client, key, kept.removed)
		return sooner(result, membership.due), err
	}
	if pause := memory.pause(key, cached.UID, r.clock.Now()); pause > 0 {
		return reconcile.Result{RequeueAfter: pause}, nil
	}
	result, err := r.correct(ctx, client, key, fleet)
	return sooner(result, membership.due), err
}

// sooner returns a result that tries again after a time at the latest, 0 for none.
func sooner(result reconcile.Result, due time.Duration) reconcile.Result {
	if due > 0 && (result.RequeueAfter == 0 || due < result.RequeueAfter) {
		result.RequeueAfter = due
	}
	return result
}

// unknown tries again soon: nothing is decided by what is not known completely.
func unknown(ctx context.Context, err error) reconcile.Result {
	log.FromContext(ctx).V(1).Info("Waiting for the caches", "err", err)
	return reconcile.Result{RequeueAfter: unknownPeriod}
}

// correct reads a route from the API server and writes it as it should be: values and record first, and then, without a change of
// values, the ownership of its fields back to their previous owners.
func (r *routes) correct(ctx context.Context, client dynamic.ResourceInterface, key routeKey, f fleet) (reconcile.Result, error) {
	object, err := r.get(ctx, client, key)
	if err != nil || object == nil {
		return reconcile.Result{}, err
	}
	decision, put, err := r.rewrite(ctx, key, object, f)
	concerned := slices.Collect(maps.Keys(decision.Backends))
	if err == nil && put {
		if object, err = r.update(ctx, client, key, object, writeValues); err == nil {
			r.report(ctx, key, object, decision, concerned)
		}
	}
	if err == nil {
		object, err = r.handBack(ctx, client, key, object)
	}
	defer r.notify(ctx, concerned...)
	return r.settle(ctx, key, object, err)
}

// rewrite makes an object what it should be, and reports whether that has to be written.
func (r *routes) rewrite(ctx context.Context, key routeKey, object *unstructured.Unstructured, f fleet) (drain.Decision, bool, error) {
	memory, kind, annotations := r.cluster.memory, r.cluster.kind(key.resource), object.GetAnnotations()
	record := annotations[gimbalv1.AnnotationSavedWeights]
	missing := memory.missing(key, object.GetUID(), record, f.all)
	if missing != "" {
		// Another client deleted or damaged the record. Its content is still true of the weights that stayed as Groundskeeper set
		// them.
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[gimbalv1.AnnotationSavedWeights], record = missing, missing
		object.SetAnnotations(annotations)
	}
	membership, err := r.cluster.membership(ctx, f, object.GetNamespace(), newRoute(kind.View(object.Object), record))
	if err != nil {
		return drain.Decision{}, false, err
	}
	membership.removed = memory.hadRecord(key, object.GetUID(), f.all)
	decision, err := kind.Rewrite(object, membership)
	if err != nil {
		return decision, false, rejection{err}
	}
	return decision, decision.Write || missing != "", nil
}

// discardRemovals drops from a route the record of references that were removed too long ago, and comes back when more of it
// becomes that old. Without a record it does nothing.
func (r *routes) discardRemovals(
	ctx context.Context, client dynamic.ResourceInterface, key routeKey, since *time.Time,
) (reconcile.Result, error) {
	if since == nil {
		return reconcile.Result{}, nil
	}
	now := r.clock.Now()
	if left := r.keep - now.Sub(*since); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	object, err := r.get(ctx, client, key)
	if err != nil || object == nil {
		return reconcile.Result{}, err
	}
	// References that were removed exactly that long ago are old enough.
	if !r.cluster.kind(key.resource).DiscardRemovals(object, now.Add(time.Nanosecond-r.keep)) {
		return reconcile.Result{}, nil
	}
	if _, err = r.update(ctx, client, key, object, writeValues); err == nil {
		log.FromContext(ctx).V(1).Info("Dropped the record of references that were removed from a route", "route", r.describe(key))
	}
	return r.settle(ctx, key, object, err)
}

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
	if r.cluster.memory.reject(key, object.GetUID(), reason(err)) {
		log.FromContext(ctx).Info("A route cannot be rewritten", "route", r.describe(key), "reason", reason(err))
	}
	return reconcile.Result{RequeueAfter: rejectedPeriod}, nil
}

// Reconcile checks one backend: its endpoints are restored before any weight, and withheld after all of them.
func (b *backends) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	memory, began := b.cluster.memory, b.clock.Now()
	all, err := b.cluster.backends(ctx)
	if err != nil {
		return unknown(ctx, err), nil
	}
	memory.discard(all)
	backend := all[request.Name]
	if backend == nil || backend.Namespace != request.Namespace {
		b.meters.remove(request.Name)
		return reconcile.Result{}, nil
	}
	if wait := memory.wait(backend, began); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	withheld, err := b.restoreEndpoints(ctx, backend)
	if err != nil {
		return reconcile.Result{}, err
	}
	phase, now, fleet := memory.phaseOf(backend), b.clock.Now(), b.cluster.fleetOf(all)
	fleet.heard = b.hear(ctx, backend, fleet, now)
	condition, due := memory.decideAutomatic(backend, fleet, now)
	found, err := b.cluster.observe(ctx, backend)
	if err != nil {
		return b.reportUnknown(ctx, backend, err)
	}
	found.twins, found.alone = twinsOf(backend, fleet, identityOf(ctx, b.here)), fleet.alone(backend, now)
	if found.twins.klusters, err = b.cluster.klustersOf(ctx, backend); err != nil {
		log.FromContext(ctx).V(1).Info("Waiting for the cache of Klusters", "err", err)
		found.twins.unknown = true
	}
	if isWithholding(backend) {
		if withheld, err = b.withholdEndpoints(ctx, backend, found); err != nil {
			return reconcile.Result{}, err
		}
	}
	next := planFor(backend, phase, found, withheld, memory.since(backend, now), now)
	next.automatic = condition
	memory.plan(backend.UID, next.ramp, next.rampSince)
	b.meters.set(backend, found, next, shareOf(backend, phase, true))
	if next.withhold {
		// From here on the weights wait for the endpoints, even if this process does not live to write the status.
		memory.setRestored(backend.UID, false)
	}
	wait, err := b.write(ctx, backend, next)
	if err != nil {
		return reconcile.Result{}, err
	}
	after := checkPeriod
	for _, sooner := range []time.Duration{next.after, wait, due} {
		if sooner > 0 {
			after = min(after, sooner)
		}
	}
	if withheld.pending > 0 || found.unsettled > 0 || phase == phaseHeld {
		after = min(after, max(statusPeriod-b.clock.Since(began), minPeriod))
	}
	return reconcile.Result{RequeueAfter: after}, nil
}
