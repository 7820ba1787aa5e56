// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the main controller of Klusters: it looks at the API server of each workload cluster and at its
// OpenStack project, finds the router, the network and the subnet that the spec leaves open, says all that in the status,
// and keeps the Secret from being deleted too early. Taking a cluster down is for package deorbit.
//
// A pass reads from caches and the Secret, decides by pure functions (phase.go, status.go) and writes only what differs.
// Looks at other systems run beside the workers, one that does not answer holds up no other.
package lifecycle

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/access"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/background"
	"groundskeeper.io/groundskeeper/pkg/controllers/observe"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "kluster"
	// fieldOwner is the manager of the fields we write, and the source of our events.
	fieldOwner = "kluster-controller"

	// looksPerCloud is how many looks run at a time at one cloud, and cloudTimeouts how long one may take, in timeouts of
	// a single attempt at a request. workloadTimeout is how long an API server may take to answer.
	looksPerCloud   = 8
	cloudTimeouts   = 5
	workloadTimeout = 10 * time.Second

	// A write to the API server that failed is tried again after a pause that doubles.
	minBackoff = 50 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// reconciler keeps the statuses of Klusters true.
type reconciler struct {
	// client reads from the cache and writes to the API server.
	client client.Client
	// live reads Secrets, and has the last word before the finalizer of one goes.
	live      client.Reader
	clients   *openstack.Clients
	clock     clock.PassiveClock
	recorder  events.EventRecorder
	meters    *meters
	clouds    *background.Pool[cloudView]
	workloads *background.Pool[workloadView]

	mu     sync.Mutex
	states map[types.NamespacedName]*state
}

// AddToManager adds the controller to a manager, whose scheme has to know Klusters and Kubernetes' own kinds, and whose
// cache should be built with CacheOptions. An error means that the controller was added twice, or that the metrics have
// names that are taken.
func AddToManager(mgr manager.Manager, config configv1alpha1.KlusterConfiguration, clients *openstack.Clients, clock clock.PassiveClock) error {
	meters, err := newMeters(metrics.Registry)
	if err != nil {
		return err
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), clients: clients, clock: clock,
		recorder: mgr.GetEventRecorder(fieldOwner), meters: meters,
		clouds: &background.Pool[cloudView]{Limit: looksPerCloud, Timeout: cloudTimeouts * config.OpenStack.Timeout.Duration},
		// Each workload cluster is a place of its own.
		workloads: &background.Pool[workloadView]{Limit: 1, Timeout: workloadTimeout},
		states:    map[types.NamespacedName]*state{},
	}
	err = builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: int(*config.ConcurrentSyncs),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
		}).
		WatchesRawSource(r.clouds).
		WatchesRawSource(r.workloads).
		For(&kubernikusv1.Kluster{}, builder.WithPredicates(changed())).
		Watches(access.SecretMetadata(), handler.EnqueueRequestsFromMapFunc(r.usersOf), builder.OnlyMetadata).
		Complete(observe.Reconciler(ControllerName, r))
	if err != nil {
		return fmt.Errorf("make controller %s: %w", ControllerName, err)
	}
	return nil
}
