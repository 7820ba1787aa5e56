// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package deorbit is the controller that tears down a cluster without leaving resources behind: it deletes the resources that a workload
// cluster created in OpenStack, and then removes the finalizer of the Kluster.
//
// A Deorbit is a sequence of stages. The checks of a stage (check.go) run asynchronously, so that an unresponsive cluster or cloud does not
// block others. A pure function (decide.go) computes the next step from what a check observed. The step is written to the status before any
// action of its stage, so that nothing is lost if the process exits in between. The stages are implemented in the packages cluster and
// cloud.
package deorbit

import (
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/announce"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "kluster-deorbit"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "kluster-deorbit-controller"

	// cloudTimeouts is how long a check of a cloud may take, in timeouts of a single attempt at a request, and quietTimeouts after how many
	// of them without the end of any check the condition reports that the cloud does not respond. clusterTimeout is how
	// long a check of a workload cluster may take, identifyTimeout the question which cluster it is.
	cloudTimeouts   = 10
	quietTimeouts   = 4
	clusterTimeout  = time.Minute
	identifyTimeout = 10 * time.Second
)

type reconciler struct {
	// client reads from the cache and writes to the API server.
	client client.Client
	// live reads Secrets, and has the last word before anything is done.
	live       client.Reader
	allowProxy bool
	systems    systems
	config     configv1alpha1.KlusterConfiguration
	// fence reports whether this process may still change anything.
	fence            func() error
	clock            clock.PassiveClock
	recorder         events.EventRecorder
	meters           *meters
	clusters, clouds *kluster.Pool[observed]
	// all and unidentified are lists of Klusters, and backends DiscoveryBackends, which the checks share.
	all, unidentified lists.Shared[[]kubernikusv1.Kluster]
	backends          announce.Backends
	// self is the cluster that Groundskeeper runs in.
	self   self.Cluster
	memory memory
}

func (r *reconciler) pools() []*kluster.Pool[observed] {
	return []*kluster.Pool[observed]{r.clusters, r.clouds}
}

// AddToManager adds the controller to a manager, whose scheme has to know Klusters and Kubernetes' own kinds. The fence reports
// whether this process may still change anything in a workload cluster or a cloud. An error means that the controller was added
// twice, or that the metrics have names that are taken.
func AddToManager(mgr manager.Manager, config configv1alpha1.KlusterConfiguration, allowProxy bool, clients *openstack.Clients,
	fence func() error, clock clock.PassiveClock) error {
	meters, err := NewMeters(metrics.Registry)
	if err != nil {
		return err
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), config: config, allowProxy: allowProxy, fence: fence,
		clock:    clock,
		systems:  realSystems(mgr.GetClient(), mgr.GetAPIReader(), clients, config.RouteGC, fence),
		recorder: mgr.GetEventRecorder(fieldOwner), meters: meters,
		clusters: kluster.ClusterPool[observed](clusterTimeout),
		clouds:   kluster.CloudPool[observed](cloudTimeouts * config.OpenStack.Timeout.Duration),
		self:     self.Cluster{Reader: mgr.GetAPIReader()},
	}
	r.clouds.Clock = clock
	b := kluster.Builder(mgr, ControllerName, config, kluster.Changed(), kluster.UsersOf(r.client, isGoing)).
		WatchesRawSource(r.clusters).
		WatchesRawSource(r.clouds)
	return kluster.Complete(b, ControllerName, r)
}

// isGoing reports whether a Kluster is being deleted: the others are no business of Deorbit.
func isGoing(k *kubernikusv1.Kluster) bool { return !k.DeletionTimestamp.IsZero() }
