// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package maintenance moves traffic away from backends in maintenance, and restores it afterwards.
//
// It watches DiscoveryBackends, Services and every kind of route that the API server serves, and caches only the parts of a route that
// package drain uses. It has two controllers. One reconciles single routes, and rewrites those whose weights differ from the result of
// the users' weights and the state of the backends (membership.go, route.go, write.go). The other one counts the routes of each
// backend, reports the progress in its status, and withholds endpoints where weights are not sufficient (observe.go, plan.go,
// status.go). A route without a backend in maintenance causes no requests.
//
// Nothing is written until the backends, the Services and the kind of the route are known completely: an object that is missing in a
// cache would be treated as deleted.
package maintenance

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
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

	// ingressRouteResource is the kind of route that the configuration can leave out.
	ingressRouteResource = "ingressroutes"
)

// AddToManager adds the controller to a manager, whose scheme has to know DiscoveryBackends. An error means that the
// controller was added twice, or that no client can be made.
func AddToManager(mgr manager.Manager, config configv1alpha1.DiscoveryConfiguration, clock clock.PassiveClock) error {
	meters, err := newMeters(metrics.Registry)
	if err != nil {
		return err
	}
	find, source, err := resourcewatch.Connect(mgr)
	if err != nil {
		return err
	}
	routeKinds := drain.Kinds()
	if !*config.IngressRoute {
		routeKinds = without(routeKinds, ingressRouteResource)
	}
	others := otherKinds(config.OtherKinds)
	set := resourcewatch.NewSet(find, source, clock, resourcewatch.DiscoveryPeriod, followed(routeKinds, others)...)
	if err := mgr.Add(set); err != nil {
		return fmt.Errorf("add the watches of controller %s: %w", ControllerName, err)
	}
	client, err := kubernetes.NewForConfigAndClient(remote.Protobuf(mgr.GetConfig()), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create a client for EndpointSlices: %w", err)
	}
	endpoints, err := readiness.New(client, config.AdminNamespaces)
	if err != nil {
		return err
	}
	if err := mgr.Add(endpoints); err != nil {
		return fmt.Errorf("add the watch of EndpointSlices to controller %s: %w", ControllerName, err)
	}
	cluster := &cluster{set: set, reader: set.Watched(), admins: config.AdminNamespaces, restored: &marks{}}
	ledger, watches := &ledger{}, &watches{cluster: cluster, kinds: routeKinds, others: others}
	routes := &routes{
		cluster: cluster, kinds: byResource(routeKinds), client: source.Dynamic, ledger: ledger, clock: clock, meters: meters,
		keep:   config.KeepRemovedReferences.Duration,
		notify: func(names ...string) { watches.notifyBackends(context.Background(), names...) },
	}
	backends := &backends{
		cluster: cluster, observer: &observer{cluster: cluster, kinds: routeKinds, others: others, ledger: ledger},
		readiness: endpoints, client: mgr.GetClient(), clock: clock, recorder: mgr.GetEventRecorder(drain.Manager),
		meters: meters, written: &writes{}, checked: &checks{}, steps: &steps{},
		automatic: &automatic{limit: int(*config.MaxAutomaticMaintenance), admins: config.AdminNamespaces}, pulses: &pulses{live: mgr.GetAPIReader()}, here: &self.Cluster{Reader: mgr.GetAPIReader()}, restored: watches.addRoutesOf,
	}
	endpoints.OnChange(watches.endpointsChanged)
	if err := addRoutes(mgr, routes, watches, int(*config.DrainConcurrency)); err != nil {
		return err
	}
	return addBackends(mgr, backends, watches)
}

func addRoutes(mgr manager.Manager, routes *routes, watches *watches, concurrency int) error {
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

func addBackends(mgr manager.Manager, backends *backends, watches *watches) error {
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             kit.RateLimiter[reconcile.Request](),
		}).
		WatchesRawSource(source.Func(watches.followBackends)).
		Complete(instrument.Reconciler(ControllerName, backends))
}

// byResource makes kinds found by their resources.
func byResource(all []*drain.Kind) map[schema.GroupResource]*drain.Kind {
	found := map[schema.GroupResource]*drain.Kind{}
	for _, kind := range all {
		found[routeResource(kind)] = kind
	}
	return found
}

// without leaves a resource out.
func without(all []*drain.Kind, resource string) []*drain.Kind {
	var rest []*drain.Kind
	for _, kind := range all {
		if kind.Resource != resource {
			rest = append(rest, kind)
		}
	}
	return rest
}
