// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	kept, ok := object.Value.(*route)
	if !ok {
		return gatherPeriod
	}
	return min(gatherPeriod*time.Duration(1+len(kept.services)/gatherServices), maxGatherPeriod)
}

// watches turn events of what is followed into requests.
type watches struct {
	cluster *cluster
	kinds   []*drain.Kind
	others  []*otherKind

	mu       sync.Mutex
	routes   workqueue.TypedRateLimitingInterface[routeKey]
	backends workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func (w *watches) routeResources() []schema.GroupResource {
	var all []schema.GroupResource
	for _, kind := range w.kinds {
		all = append(all, routeResource(kind))
	}
	return all
}

// followRoutes is the source of the requests about routes.
func (w *watches) followRoutes(ctx context.Context, queue workqueue.TypedRateLimitingInterface[routeKey]) error {
	w.mu.Lock()
	w.routes = queue
	w.mu.Unlock()
	w.cluster.start.begin()
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		object := e.Object()
		key := routeKey{e.Resource, types.NamespacedName{Namespace: object.Namespace, Name: object.Name}}
		w.cluster.start.follow(key, e)
		queue.Add(key)
	}, w.routeResources()...)
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		if targetChanged(e) {
			w.addRoutes(ctx, byService, e.Object().Namespace+"/"+e.Object().Name, gatherPeriodOf)
		}
	}, servicesResource())
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		if targetChanged(e) {
			w.addRoutes(ctx, byImport, e.Object().Namespace+"/"+e.Object().Name, gatherPeriodOf)
		}
	}, importsResource())
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		for _, service := range ofSlices(e, serviceOfSlice) {
			w.addRoutes(ctx, byService, service, gatherPeriodOf)
		}
		for _, name := range ofSlices(e, importOfSlice) {
			w.addRoutes(ctx, byImport, name, gatherPeriodOf)
		}
	}, slicesResource())
	w.cluster.set.Subscribe(func(e resourcewatch.Event) { w.addRoutesInto(ctx, e.Object().Namespace) }, grantsResource())
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		before, after := backendIn(e.Old), backendIn(e.New)
		if before == nil || after == nil || drainChanged(before, after) {
			w.addRoutesOf(ctx, e.Object().Name)
		}
	}, backendsResource())
	return nil
}

// followBackends is the source of the requests about backends.
func (w *watches) followBackends(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	w.backends = queue
	w.mu.Unlock()
	w.cluster.start.begin()
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		object := e.Object()
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: object.Namespace, Name: object.Name}})
		w.notifyBackends(ctx, w.affected(ctx, e)...)
	}, backendsResource())
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		names := map[string]bool{}
		for _, object := range []*resourcewatch.Object{e.Old, e.New} {
			if object != nil {
				names[label(object)] = true
			}
		}
		w.notifyBackends(ctx, slices.Collect(maps.Keys(names))...)
	}, servicesResource())
	w.cluster.set.Subscribe(func(e resourcewatch.Event) { w.notifyBackends(ctx, w.concerned(ctx, e)...) }, w.routeResources()...)
	w.followOthers(ctx)
	// Creating or deleting a CustomResourceDefinition adds or removes a kind of route, ServiceImports or ReferenceGrants.
	w.cluster.set.Subscribe(func(e resourcewatch.Event) {
		resource := schema.ParseGroupResource(e.Object().Name)
		if !e.Initial && (resource == importsResource() || resource == grantsResource() || slices.Contains(w.routeResources(), resource)) {
			w.cluster.set.Recheck()
		}
	}, definitionsResource())
	return nil
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
		if waits || name != e.Object().Name && (isTwin(backend, e.Old) || isTwin(backend, e.New)) {
			names = append(names, name)
		}
	}
	return names
}

// isTwin reports whether a backend leads to the cluster of another one, as an event has that one.
func isTwin(backend *gimbalv1.DiscoveryBackend, object *resourcewatch.Object) bool {
	other := backendIn(object)
	return other != nil && clusterid.Compare(backend.Status.Identity, other.Status.Identity) == clusterid.Same
}

// targetChanged reports whether a Service came, went, or changed in what decides who receives.
func targetChanged(e resourcewatch.Event) bool {
	before, after := serviceIn(e.Old), serviceIn(e.New)
	return before == nil || after == nil || !sameTarget(before, after)
}

// ofSlices returns the Services or ServiceImports, as namespace/name, for which a change of an EndpointSlice matters. Before the
// first listing is complete nothing was decided.
func ofSlices(e resourcewatch.Event, of func(*resourcewatch.Object) []string) []string {
	if e.Initial || !sliceChanged(sliceIn(e.Old), sliceIn(e.New)) {
		return nil
	}
	var all []string
	for _, object := range []*resourcewatch.Object{e.Old, e.New} {
		if object != nil {
			all = append(all, of(object)...)
		}
	}
	return slices.Compact(all)
}

// concerned returns the backends that a route refers to, or did.
func (w *watches) concerned(ctx context.Context, e resourcewatch.Event) []string {
	names := map[string]bool{}
	for _, object := range []*resourcewatch.Object{e.Old, e.New} {
		if object == nil {
			continue
		}
		for _, name := range recordedBackends(object) {
			names[name] = true
		}
		kept, ok := object.Value.(*route)
		if !ok {
			continue
		}
		for _, service := range kept.services {
			// An unknown object causes a separate event later.
			found, _ := w.cluster.reader.Find(ctx, servicesResource(), resourcewatch.Query{Namespace: service.Namespace, Name: service.Name})
			for _, object := range found {
				names[label(object)] = true
			}
		}
		for _, name := range kept.imports {
			if found, _ := w.cluster.importTarget(ctx, name); found != nil {
				names[found.backendOfImport()] = true
			}
		}
	}
	return slices.Collect(maps.Keys(names))
}

// notifyBackends requests a check of backends soon: one check for many events.
func (w *watches) notifyBackends(ctx context.Context, names ...string) {
	w.mu.Lock()
	queue := w.backends
	w.mu.Unlock()
	if queue == nil || len(names) == 0 {
		return
	}
	all, err := w.cluster.backends(ctx)
	if err != nil {
		return // all backends are still to come, and are checked then
	}
	for _, name := range names {
		if backend := all[name]; backend != nil {
			queue.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: backend.Namespace, Name: name}}, gatherPeriod)
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
	services, err := w.cluster.reader.Find(ctx, servicesResource(), resourcewatch.Query{Index: byBackend, Value: backend})
	if err != nil {
		log.FromContext(ctx).V(1).Info("Waiting for the cache of Services", "err", err) // each new Service enqueues its routes
	}
	for _, service := range services {
		w.addRoutes(ctx, byService, service.Namespace+"/"+service.Name, immediately)
	}
	imports, err := w.cluster.importsOfBackend(ctx, backend)
	if err != nil {
		log.FromContext(ctx).V(1).Info("Waiting for the cache of ServiceImports", "err", err) // each new one enqueues its routes
	}
	for _, imported := range imports {
		w.addRoutes(ctx, byImport, imported.Namespace+"/"+imported.Name, immediately)
	}
}

// addRoutes requests a check of the routes that an index finds, after a pause, in which it gathers further requests for the same
// route. Those of a kind that is not known yet come with it.
func (w *watches) addRoutes(ctx context.Context, index, value string, pause func(*resourcewatch.Object) time.Duration) {
	w.mu.Lock()
	queue := w.routes
	w.mu.Unlock()
	if queue == nil {
		return
	}
	for _, resource := range w.routeResources() {
		found, err := w.cluster.reader.Find(ctx, resource, resourcewatch.Query{Index: index, Value: value})
		if err != nil {
			log.FromContext(ctx).V(1).Info("Waiting for the caches of routes", "err", err)
		}
		for _, object := range found {
			queue.AddAfter(routeKey{resource, types.NamespacedName{Namespace: object.Namespace, Name: object.Name}}, pause(object))
		}
	}
}

// immediately is no pause.
func immediately(*resourcewatch.Object) time.Duration { return 0 }

// backendIn returns the backend that was kept, nil when there is none.
func backendIn(object *resourcewatch.Object) *gimbalv1.DiscoveryBackend {
	if object == nil {
		return nil
	}
	backend, _ := object.Value.(*gimbalv1.DiscoveryBackend)
	return backend
}

// percentOf returns the share that the status of a backend has, 100 when it has none.
func percentOf(backend *gimbalv1.DiscoveryBackend) int32 {
	if backend.Status.Ramp == nil {
		return whole
	}
	return backend.Status.Ramp.Percent
}

// drainChanged reports whether routes may have to be written after a change of a backend.
func drainChanged(before, after *gimbalv1.DiscoveryBackend) bool {
	return before.UID != after.UID || before.Cluster.ClusterStatus != after.Cluster.ClusterStatus ||
		!slices.Equal(before.Status.Identity, after.Status.Identity) ||
		status.IsAutomatic(before) != status.IsAutomatic(after) || before.Cluster.DrainPolicy != after.Cluster.DrainPolicy || before.Status.EndpointsDrained != after.Status.EndpointsDrained ||
		percentOf(before) != percentOf(after) || (before.Status.Ramp == nil) != (after.Status.Ramp == nil)
}
