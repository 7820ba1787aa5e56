// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

const (
	// unknownPeriod is the pause while not everything is known that a decision needs.
	unknownPeriod = time.Second
	// rejectedPeriod is the pause after the API server rejected a route. A change of the route comes sooner.
	rejectedPeriod = 30 * time.Second
)

// routeKey names a route.
type routeKey struct {
	resource schema.GroupResource
	name     types.NamespacedName
}

// String implements fmt.Stringer, for logs.
func (k routeKey) String() string { return k.resource.String() + " " + k.name.String() }

// routes brings routes to the weights that their backends request.
type routes struct {
	cluster *cluster
	kinds   map[schema.GroupResource]*drain.Kind
	client  dynamic.Interface
	ledger  *ledger
	clock   clock.PassiveClock
	meters  *meters
	// keep is how long a route keeps its record of removed references.
	keep time.Duration
	// It requests a check of backends of these names soon.
	notify func(names ...string)
}

// describe names a route as users know it.
func (r *routes) describe(key routeKey) string { return describe(r.kinds[key.resource], key.name) }

func describe(kind *drain.Kind, name types.NamespacedName) string {
	return fmt.Sprintf("%s %s", kind.Kind, name)
}

// Reconcile checks one route in the cache, and rewrites it when it is not as it should be.
func (r *routes) Reconcile(ctx context.Context, key routeKey) (reconcile.Result, error) {
	cached, err := r.find(ctx, key)
	if err != nil {
		return unknown(ctx, err), nil
	}
	if cached == nil {
		r.ledger.discard(key)
		return reconcile.Result{}, nil
	}
	if r.ledger.ahead(key, cached, r.clock.Now()) {
		return reconcile.Result{RequeueAfter: quietPeriod}, nil
	}
	kept, ok := cached.Value.(*route)
	if !ok {
		return reconcile.Result{}, fmt.Errorf("%T is not what is kept of a route", cached.Value)
	}
	backends, err := r.cluster.backends(ctx)
	if err != nil {
		return unknown(ctx, err), nil
	}
	membership, err := r.cluster.membership(ctx, backends, clustersOf(backends), cached)
	if err != nil {
		return unknown(ctx, err), nil
	}
	membership.removed = r.cluster.start.recorded(key, cached.UID, backends)
	decision := kept.view.Decide(membership)
	if !decision.Write && !decision.HandBack && r.ledger.missing(key, cached.UID, kept.record, staying(backends)) == "" {
		r.cluster.start.settled(key)
		r.ledger.agrees(key, cached, kept.record)
		// The receivers may have changed, although there is nothing to write.
		r.notify(slices.Collect(maps.Keys(decision.Backends))...)
		return r.discardRemovals(ctx, key, kept.removed)
	}
	if pause := r.ledger.pause(key, cached.UID, r.clock.Now()); pause > 0 {
		return reconcile.Result{RequeueAfter: pause}, nil
	}
	return r.correct(ctx, key, backends)
}

// find returns a route from the cache, nil when there is none.
func (r *routes) find(ctx context.Context, key routeKey) (*resourcewatch.Object, error) {
	found, err := r.cluster.reader.Find(ctx, key.resource, resourcewatch.Query{Namespace: key.name.Namespace, Name: key.name.Name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// unknown tries again soon: nothing is decided by what is not known completely.
func unknown(ctx context.Context, err error) reconcile.Result {
	log.FromContext(ctx).V(1).Info("Waiting for the caches", "err", err)
	return reconcile.Result{RequeueAfter: unknownPeriod}
}
