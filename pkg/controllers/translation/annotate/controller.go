// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package annotate maps Nodes to MidoNet hosts, or to chassis of OVN: it fills in the annotations that a Node is converted by, where they
// are absent. One that is there is never changed, whatever it holds, except for what the annotator itself wrote: the address of the
// tunnels, which follows the Node's, and the chassis of OVN, which follows the Southbound database.
//
// One list of the hosts serves all Nodes. A Node gets its annotations with one request, and one that has them takes none.
package annotate

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	"groundskeeper.io/groundskeeper/pkg/ovn"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "translation-annotate"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "translation-annotate-controller"
	// Retries for a host that does not exist have longer intervals: its agent has to create it.
	minPatience = listingPause
	maxPatience = 5 * time.Minute
)

// Hosts knows the hosts of the backend. A *midonet.Client does.
type Hosts interface {
	// Hosts lists all of them, or fails.
	Hosts(ctx context.Context) ([]midonet.Host, error)
}

// Southbound knows the chassis of OVN.
type Southbound interface {
	// Chassis lists all of them, or fails.
	Chassis(ctx context.Context) ([]ovn.Chassis, error)
}

// reconciler annotates Nodes. One reconcile runs at a time.
type reconciler struct {
	network *network
	// client reads from the cache and writes to the API server.
	client   client.Client
	hosts    Hosts
	clock    clock.PassiveClock
	recorder events.EventRecorder
	// patience spaces the tries of what a Node waits for.
	patience workqueue.TypedRateLimiter[reconcile.Request]
	memory   *memory
	meters   *meters
}

// AddToManager adds the controller for MidoNet to a manager, whose scheme has to know Kubernetes' own kinds.
func AddToManager(mgr manager.Manager, hosts Hosts, clock clock.PassiveClock) error {
	return addToManager(mgr, midoNet(), hosts, clock)
}

// AddOVNToManager is AddToManager for OVN.
func AddOVNToManager(mgr manager.Manager, southbound Southbound, clock clock.PassiveClock) error {
	return addToManager(mgr, chassis(), hostsOf{southbound}, clock)
}

func addToManager(mgr manager.Manager, n *network, hosts Hosts, clock clock.PassiveClock) error {
	meters, err := NewMeters(metrics.Registry)
	if err != nil {
		return err
	}
	r := newReconciler(n, hosts, clock, meters)
	r.client, r.recorder = mgr.GetClient(), mgr.GetEventRecorder(fieldOwner)
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1, // the list takes time, and is shared by all Nodes
			RateLimiter:             kit.RateLimiter[reconcile.Request](),
		}).
		For(&corev1.Node{}, builder.WithPredicates(changed())).
		Complete(instrument.Reconciler(ControllerName, r))
}

func newReconciler(n *network, hosts Hosts, clock clock.PassiveClock, meters *meters) *reconciler {
	return &reconciler{
		network: n, hosts: hosts, clock: clock, memory: newMemory(meters), meters: meters,
		patience: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minPatience, maxPatience),
	}
}

// changed drops updates that change nothing here, such as the heartbeats of a Node.
func changed() predicate.Predicate {
	return predicates.Changed(func(before, after *corev1.Node) bool {
		return slices.ContainsFunc([]string{midonetv1.AnnotationHostID, midonetv1.AnnotationTunnelZoneID, midonetv1.AnnotationTunnelEndpointIP,
			midonetv1.AnnotationWrittenTunnelEndpointIP, midonetv1.AnnotationOVNChassis}, func(name string) bool {
			old, had := before.Annotations[name]
			now, has := after.Annotations[name]
			return had != has || old != now
		}) || !equality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses)
	})
}
