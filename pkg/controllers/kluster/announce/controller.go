// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package announce announces workload clusters: for a Kluster with spec.discovery.enabled it keeps a DiscoveryBackend of
// type kubernetes and, next to it, a Secret with the way into the cluster, so that its services are discovered.
//
// Both may be in another namespace than the Kluster, so that no owner reference can bind them: labels with its namespace,
// name and uid do, and the finalizer of Deorbit. What lacks these labels is never touched. What is not wanted any more is
// withdrawn: traffic is moved away first (withdraw.go). Of a Kluster that is being deleted Deorbit does so.
//
// A reconciliation reads from the API server, decides by pure functions (plan.go, step.go) and writes only what differs. Before the
// first object is made the condition Announced is there, and it is deleted after the last one: a Kluster without it has none.
package announce

import (
	"fmt"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kinds"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "kluster-discovery"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "kluster-discovery-controller"
)

// reconciler keeps the announcements of Klusters in sync with them.
type reconciler struct {
	// client reads Klusters from the cache, to know which of them matter, and writes to the API server.
	client client.Client
	// live reads from the API server all that is decided by.
	live     client.Reader
	clock    clock.PassiveClock
	recorder events.EventRecorder
}

// AddToManager adds the controller to a manager, whose scheme has to know Klusters, DiscoveryBackends and Kubernetes' own kinds. It
// waits for DiscoveryBackends automatically: there may be none. An error means that the controller was added twice, or that no
// client can be made.
func AddToManager(mgr manager.Manager, config configv1alpha1.KlusterConfiguration, clock clock.PassiveClock) error {
	find, from, err := kinds.Connect(mgr)
	if err != nil {
		return err
	}
	set := kinds.NewSet(find, from, clock, kinds.DiscoveryPeriod, backendKind())
	if err := mgr.Add(set); err != nil {
		return fmt.Errorf("add the watch of controller %s: %w", ControllerName, err)
	}
	r := &reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(), clock: clock, recorder: mgr.GetEventRecorder(fieldOwner)}
	b := kluster.Builder(mgr, ControllerName, config, changed(), r.usersOf).
		WatchesRawSource(source.Func(r.follow(set)))
	return kluster.Complete(b, ControllerName, r)
}
