// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package workload maintains connections to workload clusters, for two purposes: to notify Route GC of deleted nodes immediately, instead
// of after its interval, and to clean up local volumes if spec.localVolumeCleanup is set.
//
// A reconcile reads the Secret of a Kluster, and a pure function decides which connection it needs. A session has all goroutines of one
// Kluster. It is replaced when the Kluster, its Secret or the plan changes. Sessions run asynchronously, so that an unresponsive cluster
// does not block others.
package workload

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "kluster-workload"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "kluster-workload-controller"
)

// NodeDeleted is called when a node disappeared from the workload cluster of a Kluster. It must not block.
type NodeDeleted func(kluster types.NamespacedName, uid types.UID)

// Options specify how the controller fits into a process.
type Options struct {
	// NodeDeleted may be nil: then no nodes are watched for it.
	NodeDeleted NodeDeleted
	// Fence reports whether this process may write to a workload cluster.
	Fence func() error
	Clock clock.PassiveClock
	// ClusterID returns the identity of the management cluster, by which others distinguish its Klusters from theirs.
	ClusterID func(context.Context) (types.UID, error)
}

type reconciler struct {
	// client reads Klusters from the cache and writes to the API server. live reads Secrets.
	client   client.Client
	live     client.Reader
	config   *configv1alpha1.ControllersConfiguration
	options  Options
	recorder events.EventRecorder
	*memory
}

// AddToManager adds the controller to a manager, whose scheme has to know Klusters and Kubernetes' own kinds. An error
// means that the controller was added twice, or that the metrics have names that are taken.
func AddToManager(mgr manager.Manager, config *configv1alpha1.ControllersConfiguration, options Options) error {
	meters, err := NewMeters(metrics.Registry)
	if err != nil {
		return err
	}
	volumes, err := localvolume.NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), config: config, options: options, recorder: mgr.GetEventRecorder(fieldOwner),
		memory: &memory{sessions: map[types.NamespacedName]*session{},
			open: connector{options: options, meters: meters, volumes: volumes, pauses: realPauses()}.open},
	}
	b := kluster.Builder(mgr, ControllerName, config.Kluster, kluster.Changed(), kluster.UsersOf(r.client, nil)).
		WatchesRawSource(r.memory)
	if err := kluster.Complete(b, ControllerName, r); err != nil {
		return err
	}
	// The manager does not end before the sessions have sent their last events.
	return mgr.Add(manager.RunnableFunc(r.wait))
}
