// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package maintenance moves traffic away from backends in maintenance, and restores it afterwards.
//
// It watches DiscoveryBackends, Services and every kind of route that the API server serves, and caches only the parts of a route that
// package drain uses. It has two controllers. One reconciles single routes, and rewrites those whose weights differ from the result of
// the users' weights and the state of the backends (membership.go, execute.go). The other one counts the routes of each
// backend, reports the progress in its status, and withholds endpoints where weights are not sufficient (facts.go, decide.go,
// status.go). A route without a backend in maintenance causes no requests.
//
// Nothing is written until the backends, the Services and the kind of the route are known completely: an object that is missing in a
// cache would be treated as deleted.
package maintenance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/readiness"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "discovery-maintenance"
	// routesName is the name of its loop over routes.
	routesName = ControllerName + "-routes"

	// workers is how many backends are checked in parallel.
	workers = 2
)

type routeKey struct {
	resource schema.GroupResource
	name     types.NamespacedName
}

// String implements fmt.Stringer, for logs.
func (k routeKey) String() string { return k.resource.String() + " " + k.name.String() }

// routes brings routes to the weights that their backends request.
type routes struct {
	cluster *cluster
	client  dynamic.Interface
	clock   clock.PassiveClock
	meters  *meters
	// keep is how long a route keeps its record of removed references.
	keep time.Duration
	// notify requests a check of backends of these names soon.
	notify func(ctx context.Context, names ...string)
}

// describe names a route as users know it.
func (r *routes) describe(key routeKey) string {
	return r.cluster.kind(key.resource).Kind + " " + key.name.String()
}

// backends reports in the status of each backend the progress of its maintenance, and changes its endpoints when weights are of no
// help. Its requests name DiscoveryBackends.
type backends struct {
	cluster   *cluster
	readiness Readiness
	client    client.Client
	// live reads the Leases of discoverers from the API server. Without it all of them count as running.
	live     client.Reader
	here     *self.Cluster
	clock    clock.PassiveClock
	recorder events.EventRecorder
	meters   *meters
	// restored requests a check of all routes of a backend.
	restored func(ctx context.Context, name string)
}

// AddToManager adds the controller to a manager, whose scheme has to know DiscoveryBackends. An error means that the
// controller was added twice, or that no client can be made.
func AddToManager(mgr manager.Manager, config configv1alpha1.DiscoveryConfiguration, clock clock.PassiveClock) error {
	meters, err := NewMeters(metrics.Registry)
	if err != nil {
		return err
	}
	find, source, err := resourcewatch.Connect(mgr)
	if err != nil {
		return err
	}
	kinds := slices.DeleteFunc(drain.Kinds(), func(kind *drain.Kind) bool {
		return kind.Resource == "ingressroutes" && !*config.IngressRoute
	})
	others := otherKinds(config.OtherKinds)
	all := append(followed(kinds, others), klusterKind(), resourcewatch.Kind{
		GroupResource: definitionsResource, While: []schema.GroupResource{backendsResource},
	})
	set := resourcewatch.NewSet(find, source, clock, resourcewatch.DiscoveryPeriod, all...)
	if err := mgr.Add(set); err != nil {
		return fmt.Errorf("add the watches of controller %s: %w", ControllerName, err)
	}
	client, err := kubernetes.NewForConfigAndClient(remote.Protobuf(mgr.GetConfig()), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create a client for EndpointSlices: %w", err)
	}
	endpoints := readiness.New(client, config.AdminNamespaces)
	if err := mgr.Add(endpoints); err != nil {
		return fmt.Errorf("add the watch of EndpointSlices to controller %s: %w", ControllerName, err)
	}
	cluster := newCluster(set, kinds, others, config.AdminNamespaces)
	cluster.limit, cluster.clock = int(*config.MaxAutomaticMaintenance), clock
	watches := &watches{cluster: cluster}
	endpoints.OnChange(watches.endpointsChanged)
	if err := addRoutes(mgr, watches, int(*config.DrainConcurrency), &routes{
		cluster: cluster, client: source.Dynamic, clock: clock, meters: meters,
		keep: config.KeepRemovedReferences.Duration, notify: watches.notifyBackends,
	}); err != nil {
		return err
	}
	return addBackends(mgr, watches, &backends{
		cluster: cluster, readiness: endpoints, client: mgr.GetClient(), live: mgr.GetAPIReader(),
		here: &self.Cluster{Reader: mgr.GetAPIReader()}, clock: clock, recorder: mgr.GetEventRecorder(drain.Manager), meters: meters,
		restored: watches.addRoutesOf,
	})
}

func addRoutes(mgr manager.Manager, watches *watches, concurrency int, routes *routes) error {
	return builder.TypedControllerManagedBy[routeKey](mgr).
		Named(routesName).
		WithOptions(controller.TypedOptions[routeKey]{
			MaxConcurrentReconciles: concurrency,
			RateLimiter:             kit.RateLimiter[routeKey](),
		}).
		WithLogConstructor(func(key *routeKey) logr.Logger {
			logger := mgr.GetLogger().WithValues("controller", routesName)
			if key == nil {
				return logger
			}
			return logger.WithValues("route", key.String())
		}).
		WatchesRawSource(source.TypedFunc[routeKey](watches.followRoutes)).
		Complete(instrument.Reconciler(routesName, routes))
}

func addBackends(mgr manager.Manager, watches *watches, backends *backends) error {
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             kit.RateLimiter[reconcile.Request](),
		}).
		WatchesRawSource(source.Func(watches.followBackends)).
		Complete(instrument.Reconciler(ControllerName, backends))
}
