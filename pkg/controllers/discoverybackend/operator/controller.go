// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package operator runs a discoverer for each DiscoveryBackend: a Deployment with what it is allowed to do, restarted when its
// credentials change, and removed again with everything that it copied here.
//
// A reconciliation reads from caches, decides by pure functions (credentials.go, deployment.go, grants.go, copies.go, status.go)
// and writes only what differs, by server-side apply. A new backend costs ten requests and its events; one that is as it should be
// costs none.
//
// Without an image it runs nothing, and reads no Secret: it reports so in the status of backends, and releases those that are
// deleted (withoutimage.go).
package operator

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "discovery-operator"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "discovery-operator"

	// workers is how many passes there are at the same time.
	workers = 4
)

// reconciler brings the discoverers of backends to the state that the backends request.
type reconciler struct {
	// cache has what is watched (cache.go). Without an image that is nothing, and it reads from the API server.
	cache client.Reader
	// live reads from the API server. It has the last word before something is taken over or destroyed.
	live client.Reader
	// client writes.
	client client.Client
	// image is what discoverers run, "" when none are run.
	image      string
	admins     []string
	clock      clock.PassiveClock
	recorder   events.EventRecorder
	secrets    *secrets
	references references
	leases     observations
	apiServer  apiServer
	meters     *meters
}

// AddToManager adds the controller to a manager, whose scheme has to know DiscoveryBackends and Kubernetes' own kinds. It returns
// the cache with the DiscoveryBackends, nil without an image. An error means that the controller was added twice, or that the API
// server does not respond.
func AddToManager(mgr manager.Manager, config configv1alpha1.DiscoveryConfiguration, clock clock.PassiveClock) (cache.Cache, error) {
	meters, err := newMeters(metrics.Registry)
	if err != nil {
		return nil, err
	}
	references, err := newReferences(mgr, config, clock)
	if err != nil {
		return nil, err
	}
	r := &reconciler{
		cache: mgr.GetAPIReader(), live: mgr.GetAPIReader(), client: mgr.GetClient(),
		image: config.Image, admins: config.AdminNamespaces,
		clock: clock, recorder: mgr.GetEventRecorder(fieldOwner),
		secrets: newSecrets(mgr.GetAPIReader()), references: references, meters: meters,
	}
	if r.image == "" {
		return nil, r.watchWithoutImage(mgr)
	}
	parts, err := newCache(mgr)
	if err != nil {
		return nil, err
	}
	return parts, r.watch(mgr, parts)
}

// watch adds the controller with the cache of all that a discoverer is made of.
func (r *reconciler) watch(mgr manager.Manager, parts cache.Cache) error {
	if err := mgr.Add(parts); err != nil {
		return fmt.Errorf("add the cache of controller %s: %w", ControllerName, err)
	}
	r.cache = parts
	if err := registerConditions(metrics.Registry, parts); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(r.sweepAtStart)); err != nil {
		return fmt.Errorf("add the sweep for orphans to controller %s: %w", ControllerName, err)
	}
	owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &gimbalv1.DiscoveryBackend{}, handler.OnlyControllerOwner())
	to := mapper{cache: parts}
	return newBuilder(mgr).
		WatchesRawSource(source.Kind[client.Object](parts, &gimbalv1.DiscoveryBackend{}, &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Kind[client.Object](parts, secretMetadata(), handler.EnqueueRequestsFromMapFunc(to.ofSecret))).
		// Reconcile changes of the objects that this controller wrote.
		WatchesRawSource(source.Kind[client.Object](parts, &appsv1.Deployment{}, owner)).
		WatchesRawSource(source.Kind[client.Object](parts, &corev1.ServiceAccount{}, owner)).
		WatchesRawSource(source.Kind[client.Object](parts, &rbacv1.RoleBinding{}, owner)).
		WatchesRawSource(source.Kind[client.Object](parts, &rbacv1.ClusterRoleBinding{}, handler.EnqueueRequestsFromMapFunc(to.ofClusterBinding))).
		Complete(instrument.Reconciler(ControllerName, r))
}

func newBuilder(mgr manager.Manager) *builder.Builder {
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             kit.RateLimiter[reconcile.Request](),
		})
}

// sweepAtStart deletes orphaned copies once, when this process becomes the leader.
func (r *reconciler) sweepAtStart(ctx context.Context) error {
	r.sweep(ctx)
	return nil
}
