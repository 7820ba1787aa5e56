// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the main controller of Klusters: it checks the API server and the OpenStack project of each workload
// cluster, finds the router, the network and the subnet that the spec leaves open, reports all that in the status, and keeps the
// Secret from being deleted too early. Package deorbit tears down clusters.
//
// A reconciliation reads from caches and the Secret, decides by pure functions (phase.go, status.go) and writes only what differs.
// Checks of other systems run beside the workers, so that one that does not respond blocks no other.
package lifecycle

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "kluster"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "kluster-controller"

	// cloudTimeouts is how long a check of a cloud may take with its preflight, in timeouts of a single attempt at a request.
	// lookTimeout is how long one at an API server may take with its preflight, workloadTimeout how long that may take to respond.
	cloudTimeouts   = 15
	lookTimeout     = time.Minute
	workloadTimeout = 10 * time.Second
)

// reconciler keeps the statuses of Klusters true.
type reconciler struct {
	// client reads from the cache and writes to the API server.
	client client.Client
	// live reads Secrets, and has the last word before the finalizer of one is removed.
	live      client.Reader
	clients   *openstack.Clients
	clock     clock.PassiveClock
	recorder  events.EventRecorder
	meters    *meters
	clouds    *kluster.Pool[cloudView]
	workloads *kluster.Pool[workloadView]

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
		clouds:    kluster.CloudPool[cloudView](cloudTimeouts * config.OpenStack.Timeout.Duration),
		workloads: kluster.ClusterPool[workloadView](lookTimeout),
		states:    map[types.NamespacedName]*state{},
	}
	b := kluster.Builder(mgr, ControllerName, config, changed(), r.usersOf).
		WatchesRawSource(r.clouds).
		WatchesRawSource(r.workloads)
	return kluster.Complete(b, ControllerName, r)
}
