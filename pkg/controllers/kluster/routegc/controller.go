// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package routegc removes orphaned routes from the router of a cluster. A cloud controller leaves them behind if a node is deleted
// while it does not run. A route is removed only if all of these conditions are met:
//
//   - its destination is within a range of the cluster's pods and in none of a sibling (Scope);
//   - Nova returned a complete list of servers, and none of them has the next hop as an address (candidates);
//   - Neutron has no port and no floating IP at the next hop that could be in use (evidence);
//   - two reconciles at a minimum interval observed this, or a complete interval if the fraction of removed routes is suspicious (History).
//
// A reconcile reads the router once, and removes routes one by one, so that concurrent changes of the router are retained.
package routegc

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "kluster-routegc"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "kluster-routegc-controller"

	// passTimeouts is how long a reconciliation may take, in timeouts of a single attempt at a request.
	passTimeouts = 5
)

// reconciler keeps the routers of Klusters clean. Passes run beside its workers.
type reconciler struct {
	// client reads Klusters from the cache and writes to the API server.
	client client.Client
	// live reads Secrets, and has the last word before routes are removed.
	live    client.Reader
	clients *openstack.Clients
	config  configv1alpha1.RouteGCConfiguration
	// fence reports whether this process may write to a cloud.
	fence    func() error
	clock    clock.PassiveClock
	recorder events.EventRecorder
	meters   *meters
	passes   *kluster.Pool[passed]
	wakes    *Wakes
	memory   *memory
}

// AddToManager adds the controller to a manager, whose scheme has to know Klusters and Kubernetes' own kinds. The fence reports
// whether this process may write to a cloud; the watch of nodes calls the wakes. An error means that the controller was added
// twice, or that the metrics have names that are taken.
func AddToManager(
	mgr manager.Manager, config configv1alpha1.KlusterConfiguration, clients *openstack.Clients, fence func() error, wakes *Wakes,
	clock clock.PassiveClock,
) error {
	meters, err := NewMeters(metrics.Registry)
	if err != nil {
		return err
	}
	// The context would end a wait for the cache, but before the start of the manager there is none.
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &kubernikusv1.Kluster{}, byRouter, routerKeys); err != nil {
		return fmt.Errorf("index the klusters for controller %s: %w", ControllerName, err)
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), clients: clients, config: config.RouteGC, fence: fence, clock: clock,
		recorder: mgr.GetEventRecorder(fieldOwner), meters: meters,
		passes: kluster.CloudPool[passed](passTimeouts * config.OpenStack.Timeout.Duration),
		wakes:  wakes,
		memory: newMemory(),
	}
	// A Secret that comes or is repaired ends the pause after a reconciliation that failed.
	b := kluster.Builder(mgr, ControllerName, config, changed(), r.wakes.secretChanged(r.client)).
		WatchesRawSource(r.passes).
		WatchesRawSource(r.wakes).
		// A sibling that is created, deleted or moved may end a conflict, or begin one.
		Watches(&kubernikusv1.Kluster{}, handler.EnqueueRequestsFromMapFunc(r.siblingsOf), builder.WithPredicates(rangeChanged()))
	return kluster.Complete(b, ControllerName, r)
}

// siblingsOf returns the other Klusters on the router of one.
func (r *reconciler) siblingsOf(ctx context.Context, object client.Object) []reconcile.Request {
	k, ok := object.(*kubernikusv1.Kluster)
	if !ok {
		return nil
	}
	neighbours, err := r.neighbours(ctx, k)
	if err != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, s := range siblings(k, neighbours) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
	}
	return requests
}

// changed drops updates that change nothing here, such as the controller's own of the status.
func changed() predicate.Predicate {
	return predicates.Changed(func(before, after *kubernikusv1.Kluster) bool {
		return basisOf(before) != basisOf(after) ||
			!equality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
	})
}

// rangeChanged admits what changes which addresses of which router are whose.
func rangeChanged() predicate.Predicate {
	return predicates.Updates(func(before, after *kubernikusv1.Kluster) bool {
		return before.RouterID() != after.RouterID() || before.PodRanges() != after.PodRanges() || before.UsesRouter() != after.UsesRouter()
	})
}

// basis is what reconciles once worth making before its time.
type basis struct {
	generation int64
	router     string
	// reachable is whether OpenStack is, in the words of the condition: credentials may have been repaired.
	reachable string
}

func basisOf(k *kubernikusv1.Kluster) basis {
	b := basis{generation: k.Generation, router: k.RouterID()}
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionOpenStackReachable); c != nil {
		b.reachable = string(c.Status)
	}
	return b
}
