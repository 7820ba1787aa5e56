// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// gatherPeriod is how long events are gathered: those of routes before their backends are checked, and those of Services and their
// endpoints before their routes are. A route may refer to 1000 Services, all of which change within seconds in maintenance.
// A check of a route costs as much as it has Services, so that the events of a larger one are gathered for longer: for another
// gatherPeriod per gatherServices Services.
const (
	gatherPeriod    = 200 * time.Millisecond
	gatherServices  = 100
	maxGatherPeriod = 2 * time.Second
)

// gatherPeriodOf is how long events of the Services of a route are gathered, and of their endpoints.
func gatherPeriodOf(object *resourcewatch.Object) time.Duration {
	kept := valueOf[route](object)
	if kept == nil {
		return gatherPeriod
	}
	return min(gatherPeriod*time.Duration(1+len(kept.targets)/gatherServices), maxGatherPeriod)
}

// immediately is no pause.
func immediately(*resourcewatch.Object) time.Duration { return 0 }

// watches turn events of what is followed into requests.
type watches struct {
	cluster *cluster
	// The queues are there once the controllers have started.
	routes   atomic.Pointer[workqueue.TypedRateLimitingInterface[routeKey]]
	backends atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
}

func (w *watches) routeResources() []schema.GroupResource {
	var all []schema.GroupResource
	for _, kind := range w.cluster.kinds {
		all = append(all, routeResource(kind))
	}
	return all
}

// followRoutes is the source of the requests about routes.
func (w *watches) followRoutes(ctx context.Context, queue workqueue.TypedRateLimitingInterface[routeKey]) error {
	w.routes.Store(&queue)
	w.cluster.memory.start()
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		key := routeKey{e.Resource, nameOf(e.Object())}
		w.cluster.memory.follow(key, e)
		queue.Add(key)
	}, w.routeResources()...)
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		if targetChanged(e) {
			w.addRoutes(ctx, byTarget, targetIn(e.Resource, e.Object()).String(), gatherPeriodOf)
		}
	}, servicesResource, importsResource)
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		// Before the first list is complete nothing was decided.
		if e.Initial || !sliceChanged(valueOf[slice](e.Old), valueOf[slice](e.New)) {
			return
		}
		keys := sets.Set[string]{}
		for _, object := range statesOf(e) {
			keys.Insert(targetsOfSlice(object)...)
		}
		for key := range keys {
			w.addRoutes(ctx, byTarget, key, gatherPeriodOf)
		}
	}, slicesResource)
	w.cluster.set.Subscribe(func(e resourcewatch.Event) { w.addRoutesInto(ctx, e.Object().Namespace) }, grantsResource)
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		before, after := valueOf[gimbalv1.DiscoveryBackend](e.Old), valueOf[gimbalv1.DiscoveryBackend](e.New)
		if before == nil || after == nil || drainChanged(before, after) {
			w.addRoutesOf(ctx, e.Object().Name)
		}
	}, backendsResource)
	return nil
}

// followBackends is the source of the requests about backends.
func (w *watches) followBackends(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.backends.Store(&queue)
	w.cluster.memory.start()
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		queue.Add(reconcile.Request{NamespacedName: nameOf(e.Object())})
		w.notifyBackends(ctx, w.affected(ctx, e)...)
	}, backendsResource)
	w.cluster.set.Subscribe(func(e resourcewatch.Event) { w.notifyBackends(ctx, w.copiesOf(ctx, e)...) }, klustersResource)
	referring := append(w.routeResources(), servicesResource)
	for _, kind := range w.cluster.others {
		referring = append(referring, kind.GroupResource)
	}
	w.cluster.set.Subscribe(func(e resourcewatch.Event) { w.notifyBackends(ctx, w.concerned(ctx, e)...) }, referring...)
	// Creating or deleting a CustomResourceDefinition adds or removes a kind of route, ServiceImports or ReferenceGrants.
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		resource := schema.ParseGroupResource(e.Object().Name)
		if !e.Initial && (resource == importsResource || resource == grantsResource || slices.Contains(w.routeResources(), resource)) {
			w.cluster.set.Recheck()
		}
	}, definitionsResource)
	return nil
}

// statesOf returns the states of an object before and after an event, as far as there are.
func statesOf(e resourcewatch.Event) []*resourcewatch.Object {
	return slices.DeleteFunc([]*resourcewatch.Object{e.Old, e.New}, func(object *resourcewatch.Object) bool { return object == nil })
}

// affected returns the backends that a change of another one matters to: those whose automatic maintenance it may begin or end, and those
// of its cluster.
func (w *watches) affected(ctx context.Context, e resourcewatch.Event) []string {
	all, err := w.cluster.backends(ctx)
	if err != nil {
		return nil // all backends are still to come, and are checked then
	}
	var names []string
	for name, backend := range all {
		c := automaticOf(backend)
		waits := c != nil && (c.Reason == reasonHeld || c.Status == metav1.ConditionTrue)
		if waits || name != e.Object().Name && slices.ContainsFunc(statesOf(e), func(object *resourcewatch.Object) bool {
			other := valueOf[gimbalv1.DiscoveryBackend](object)
			return other != nil && clusterid.Compare(backend.Status.Identity, other.Status.Identity) == clusterid.Same
		}) {
			names = append(names, name)
		}
	}
	return names
}

// concerned returns the backends that an object belongs or refers to, or did.
func (w *watches) concerned(ctx context.Context, e resourcewatch.Event) []string {
	names := sets.Set[string]{}
	for _, object := range statesOf(e) {
		var targets []drain.Object
		switch kept := object.Value.(type) {
		case *service:
			names.Insert(kept.backend)
		case *other:
			targets = kept.services
		case *route:
			targets = kept.targets
			names.Insert(kept.recorded...)
		}
		for _, target := range targets {
			// An unknown object causes a separate event later.
			if !target.Import {
				found, _ := w.cluster.find(ctx, servicesResource, target.NamespacedName)
				if kept := valueOf[service](found); kept != nil {
					names.Insert(kept.backend)
				}
			} else if found, _ := w.cluster.target(ctx, target); found != nil {
				names.Insert(found.backendOf(target))
			}
		}
	}
	return names.UnsortedList()
}

// notifyBackends requests a check of backends soon: one check for many events.
func (w *watches) notifyBackends(ctx context.Context, names ...string) {
	queue := w.backends.Load()
	if queue == nil || len(names) == 0 {
		return
	}
	all, err := w.cluster.backends(ctx)
	if err != nil {
		return // all backends are still to come, and are checked then
	}
	for _, name := range names {
		if backend := all[name]; backend != nil {
			key := types.NamespacedName{Namespace: backend.Namespace, Name: name}
			(*queue).AddAfter(reconcile.Request{NamespacedName: key}, gatherPeriod)
		}
	}
}

// endpointsChanged handles a change of EndpointSlices of a backend, which matters while they are withheld.
func (w *watches) endpointsChanged(name string) {
	ctx := context.Background()
	all, err := w.cluster.backends(ctx)
	if err == nil && all[name] != nil && all[name].Status.EndpointsDrained {
		w.notifyBackends(ctx, name)
	}
}

// addRoutesOf requests a check of all routes of a backend.
func (w *watches) addRoutesOf(ctx context.Context, backend string) {
	w.addRoutes(ctx, byBackend, backend, immediately)
	targets, err := w.cluster.targetsOf(ctx, backend)
	if err != nil { // each new one enqueues its routes
		log.FromContext(ctx).V(1).Info("Waiting for the caches of Services and ServiceImports", "err", err)
	}
	for _, target := range targets {
		w.addRoutes(ctx, byTarget, target.String(), immediately)
	}
}

// addRoutesInto requests a check of all routes that refer to a Service or a ServiceImport in a namespace, where a ReferenceGrant changed.
func (w *watches) addRoutesInto(ctx context.Context, namespace string) {
	for _, resource := range []schema.GroupResource{servicesResource, importsResource} {
		found, err := w.cluster.reader.Find(ctx, resource, resourcewatch.Query{Namespace: namespace})
		if err != nil {
			continue // each object that is still to come requests a check of its routes
		}
		for _, object := range found {
			w.addRoutes(ctx, byTarget, targetIn(resource, object).String(), gatherPeriodOf)
		}
	}
}

// addRoutes requests a check of the routes that an index finds, after a pause, in which it gathers further requests for the same
// route. Those of a kind that is not known yet come with it.
func (w *watches) addRoutes(ctx context.Context, index, value string, pause func(*resourcewatch.Object) time.Duration) {
	queue := w.routes.Load()
	if queue == nil {
		return
	}
	for _, resource := range w.routeResources() {
		found, err := w.cluster.reader.Find(ctx, resource, resourcewatch.Query{Index: index, Value: value})
		if err != nil {
			log.FromContext(ctx).V(1).Info("Waiting for the caches of routes", "err", err)
		}
		for _, object := range found {
			(*queue).AddAfter(routeKey{resource, nameOf(object)}, pause(object))
		}
	}
}

// drainChanged reports whether routes may have to be written after a change of a backend.
func drainChanged(before, after *gimbalv1.DiscoveryBackend) bool {
	return before.UID != after.UID || before.Cluster.ClusterStatus != after.Cluster.ClusterStatus ||
		!slices.Equal(before.Status.Identity, after.Status.Identity) || status.IsAutomatic(before) != status.IsAutomatic(after) ||
		!equality.Semantic.DeepEqual(before.Cluster.Maintenance.Services, after.Cluster.Maintenance.Services) ||
		before.Cluster.DrainPolicy != after.Cluster.DrainPolicy || before.Status.EndpointsDrained != after.Status.EndpointsDrained ||
		percentOf(before) != percentOf(after) || (before.Status.Ramp == nil) != (after.Status.Ramp == nil)
}
