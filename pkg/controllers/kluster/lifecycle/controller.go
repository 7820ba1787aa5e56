// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the main controller of Klusters. It probes the API server and the OpenStack project of each workload cluster,
// determines the router, the network and the subnet if the spec does not set them, reports the results in the status, and protects the
// Secret with a finalizer while it is needed. Package deorbit tears down clusters.
//
// A reconcile reads from caches and the Secret, decides with pure functions and writes only differences. Probes of other systems
// (cloud.go, workload.go, preflight.go) run asynchronously, so that an unresponsive one does not block others.
package lifecycle

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "kluster"
	// fieldOwner is the manager of the fields Groundskeeper writes, and the source of Groundskeeper's events.
	fieldOwner = "kluster-controller"

	// cloudTimeouts is how long a check of a cloud may take with its preflight, in timeouts of a single attempt at a request.
	// probeTimeout limits a probe of a workload cluster including its preflight, workloadTimeout each of its requests.
	cloudTimeouts   = 15
	probeTimeout    = time.Minute
	workloadTimeout = 10 * time.Second
)

// reconciler keeps the statuses of Klusters true.
type reconciler struct {
	// client reads from the cache and writes to the API server.
	client client.Client
	// live reads Secrets, and has the last word before the finalizer of one is removed.
	live       client.Reader
	allowProxy bool
	clients    *openstack.Clients
	clock      clock.PassiveClock
	recorder   events.EventRecorder
	meters     *meters
	clouds     *kluster.Pool[cloudView]
	workloads  *kluster.Pool[workloadView]
	memory     *memory
	// backends finds the DiscoveryBackends of a cluster. It queries nothing.
	backends resourcewatch.Reader
	// here is the cluster that Groundskeeper runs in.
	here *self.Cluster
}

// AddToManager adds the controller to a manager, whose scheme has to know Klusters and Kubernetes' own kinds, and whose
// cache should be built with CacheOptions. An error means that the controller was added twice, that the metrics have names that are taken,
// or that no client can be made.
func AddToManager(
	mgr manager.Manager, config configv1alpha1.KlusterConfiguration, allowProxy bool, clients *openstack.Clients, clock clock.PassiveClock,
) error {
	meters, err := NewMeters(metrics.Registry)
	if err != nil {
		return err
	}
	set, err := resourcewatch.AddTo(mgr, ControllerName, clock, backendKind())
	if err != nil {
		return err
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), clients: clients, allowProxy: allowProxy, clock: clock,
		recorder: mgr.GetEventRecorder(fieldOwner), meters: meters,
		clouds:    kluster.CloudPool[cloudView](cloudTimeouts * config.OpenStack.Timeout.Duration),
		workloads: kluster.ClusterPool[workloadView](probeTimeout),
		memory:    newMemory(),
		backends:  set.Watched(),
		here:      &self.Cluster{Reader: mgr.GetAPIReader()},
	}
	b := kluster.Builder(mgr, ControllerName, config, kluster.Changed(), r.usersOf).
		WatchesRawSource(r.clouds).
		WatchesRawSource(r.workloads).
		WatchesRawSource(set.Requests(r.concernedBy, backendKind().GroupResource)).
		// The condition ClusterUnique of one depends on the others of its cluster.
		Watches(&kubernikusv1.Kluster{}, handler.EnqueueRequestsFromMapFunc(r.sharersOf), builder.WithPredicates(clusterChanged())).
		Watches(&kubernikusv1.Kluster{}, handler.Funcs{UpdateFunc: abandoned})
	return kluster.Complete(b, ControllerName, r)
}

// CacheOptions returns what the manager's cache should hold: Klusters with their managed fields, which report who else writes the
// status, and of Secrets the little that is checked.
func CacheOptions() (map[client.Object]cache.ByObject, error) {
	return map[client.Object]cache.ByObject{
		&kubernikusv1.Kluster{}:  {Transform: keepOwners},
		kluster.SecretMetadata(): {Transform: keepHolds},
	}, nil
}

// keepOwners leaves a Kluster unchanged, and drops the managed fields of what is only its metadata.
func keepOwners(object any) (any, error) {
	if _, whole := object.(*kubernikusv1.Kluster); whole {
		return object, nil
	}
	return cache.TransformStripManagedFields()(object)
}

// keepHolds drops all of a Secret's metadata but its version and what holds it.
func keepHolds(object any) (any, error) {
	full, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: full.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: full.Namespace, Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion,
		Finalizers: full.Finalizers, DeletionTimestamp: full.DeletionTimestamp,
	}}, nil
}

// usersOf returns the Klusters that use a Secret. For one that is held and used by none it is a request that manages the namespace.
func (r *reconciler) usersOf(ctx context.Context, secret client.Object) []reconcile.Request {
	requests := kluster.UsersOf(r.client, nil)(ctx, secret)
	if len(requests) == 0 && isHeld(secret) {
		requests = append(requests, namespaceRequest(secret.GetNamespace()))
	}
	return requests
}

// namespaceRequest manages the Secrets of a namespace. No Kluster has its name.
func namespaceRequest(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace}}
}

// abandoned requests that the namespace of a Kluster is managed when that does not use a Secret any more, which has no event then.
func abandoned(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, ok := e.ObjectOld.(*kubernikusv1.Kluster)
	after, both := e.ObjectNew.(*kubernikusv1.Kluster)
	if ok && both && slices.ContainsFunc(before.SecretNames(), func(name string) bool { return !slices.Contains(after.SecretNames(), name) }) {
		queue.Add(namespaceRequest(after.Namespace))
	}
}

// sharersOf returns the Klusters that lead to the cluster of one, if there are several: their condition depends on it. The one itself is one
// of them, because it may have been written before the cache had the others.
func (r *reconciler) sharersOf(ctx context.Context, object client.Object) []reconcile.Request {
	k, ok := object.(*kubernikusv1.Kluster)
	if !ok {
		return nil
	}
	requests := r.requestsFor(ctx, k.ClusterID())
	if len(requests) == 1 && requests[0].NamespacedName == client.ObjectKeyFromObject(k) {
		return nil
	}
	return requests
}

func (r *reconciler) requestsFor(ctx context.Context, clusterID string) []reconcile.Request {
	all, err := r.twins(ctx, clusterID)
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to find the Klusters of a cluster", "cluster", clusterID)
	}
	return kluster.Requests(all, nil)
}

// clusterChanged admits what changes which Klusters lead to which cluster.
func clusterChanged() predicate.Predicate {
	return predicates.Updates(func(before, after *kubernikusv1.Kluster) bool {
		return before.ClusterID() != after.ClusterID() || clusterid.IsReleased(before) != clusterid.IsReleased(after)
	})
}
