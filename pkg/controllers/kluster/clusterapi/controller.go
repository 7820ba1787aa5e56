// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi is the controller that registers the clusters of Cluster API on OpenStack as Klusters, and deorbits them when their
// Cluster is deleted.
//
// The deletion has two phases. While the machines still exist, Deorbit empties the cluster; hooks of the Machines, or the Runtime
// Extension of this package, delay their deletion for that long. When the last Machine has been deleted, Deorbit checks OpenStack, and
// a finalizer and a pause of the OpenStackCluster keep its provider from deleting the network and the router before that is over.
//
// A Kluster has no owner reference: the garbage collector would delete it with a Cluster that was only moved to another management
// cluster. It is bound to its Cluster by the uid in an annotation. A Cluster that disappears without its Deorbit was moved, or removed by
// force, so its Kluster is detached.
//
// A reconcile decides with a pure function (decide.go) about the cached objects. If there is anything to write, it decides again about
// the objects of the API server, and each write requires that its object did not change since.
package clusterapi

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "kluster-capi"
	// fieldOwner is the manager of the fields that it writes, and the source of its events.
	fieldOwner = "kluster-capi-controller"
)

// Resources of Cluster API and of its provider for OpenStack.
var (
	clusters        = schema.GroupResource{Group: desired.Group, Resource: "clusters"}
	machines        = schema.GroupResource{Group: desired.Group, Resource: "machines"}
	infrastructures = schema.GroupResource{Group: desired.InfrastructureGroup, Resource: "openstackclusters"}
	resourceSets    = schema.GroupResource{Group: desired.AddonsGroup, Resource: "clusterresourcesets"}
	extensions      = schema.GroupResource{Group: desired.RuntimeGroup, Resource: "extensionconfigs"}
)

// clusterIndex finds Machines and OpenStackClusters by the namespace and the name of their Cluster.
const clusterIndex = "cluster"

// kinds returns those to watch. The versions are those whose fields package desired knows.
func kinds() []resourcewatch.Kind {
	versions := []string{"v1beta2", "v1beta1"}
	return []resourcewatch.Kind{
		{GroupResource: clusters, Versions: versions, OnlyVersions: true, Value: func(content map[string]any) any { return desired.ClusterOf(content) }},
		{
			GroupResource: infrastructures, Versions: versions, OnlyVersions: true, Value: func(content map[string]any) any { return desired.InfrastructureOf(content) },
			Indexes: map[string]func(*resourcewatch.Object) []string{clusterIndex: clusterNameOf},
		},
		{
			GroupResource: machines, Versions: versions, OnlyVersions: true, Metadata: func(object metav1.Object) any { return desired.MachineOf(object) },
			Indexes: map[string]func(*resourcewatch.Object) []string{clusterIndex: clusterNameOf},
		},
		{
			GroupResource: resourceSets, Versions: versions, While: []schema.GroupResource{clusters},
			Value: func(content map[string]any) any { return desired.ResourceSetOf(content) },
		},
		{
			GroupResource: extensions, Versions: []string{"v1beta2", "v1alpha1"}, While: []schema.GroupResource{clusters},
			Value: func(content map[string]any) any { return desired.ExtensionOf(content) },
		},
	}
}

func clusterNameOf(object *resourcewatch.Object) []string {
	request, ok := requestOf(object)
	if !ok {
		return nil
	}
	return []string{request.String()}
}

type reconciler struct {
	// client reads Klusters from the cache and writes to the API server, from which live reads.
	client client.Client
	live   client.Reader
	// watched and current read the objects of Cluster API from the watches, and from the API server.
	watched    resourcewatch.Reader
	current    func() resourcewatch.Reader
	served     func(schema.GroupResource) (*schema.GroupVersionResource, error)
	settings   settings
	clock      clock.PassiveClock
	recorder   events.EventRecorder
	rejections rejections
}

// AddToManager adds the controller to a manager, whose scheme has to know Klusters and Kubernetes' own kinds. It does not require that
// the cluster serves Cluster API: it waits for it. An error means that the controller was added twice, or that no client can be made.
func AddToManager(mgr manager.Manager, config configv1alpha1.KlusterConfiguration, clock clock.PassiveClock) error {
	set, err := resourcewatch.AddTo(mgr, ControllerName, clock, kinds()...)
	if err != nil {
		return err
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), watched: set.Watched(), served: set.Served,
		current:  func() resourcewatch.Reader { return set.Live(0) },
		settings: settingsOf(config.ClusterAPI), clock: clock, recorder: mgr.GetEventRecorder(fieldOwner),
	}
	b := builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{MaxConcurrentReconciles: int(*config.ConcurrentSyncs), RateLimiter: kit.RateLimiter[reconcile.Request]()}).
		For(&kubernikusv1.Kluster{}).
		WatchesRawSource(set.Requests(func(_ context.Context, e resourcewatch.Event) []reconcile.Request { return requestsOf(e) },
			clusters, infrastructures, machines)).
		WatchesRawSource(set.Requests(func(context.Context, resourcewatch.Event) []reconcile.Request {
			return knownClusters(set, metav1.NamespaceAll, func(c *desired.Cluster) bool { return c != nil && c.HasTopology })
		}, extensions)).
		// The names of cloud controllers may be in it. A Cluster that is not known yet comes with its own event.
		WatchesRawSource(set.Requests(func(_ context.Context, e resourcewatch.Event) []reconcile.Request {
			return knownClusters(set, e.Object().Namespace, func(*desired.Cluster) bool { return true })
		}, resourceSets))
	return kluster.Complete(b, ControllerName, r)
}

func settingsOf(config configv1alpha1.ClusterAPIConfiguration) settings {
	return settings{namespaces: config.Namespaces, drainTimeout: config.DrainTimeout.Duration, extension: *config.RuntimeExtension}
}

// knownClusters returns the Clusters of a namespace for which something is true, as far as they are known.
func knownClusters(set *resourcewatch.Set, namespace string, is func(*desired.Cluster) bool) (requests []reconcile.Request) {
	known, _ := set.Known(clusters, namespace)
	for _, object := range known {
		if c, _ := object.Value.(*desired.Cluster); is(c) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: object.Namespace, Name: object.Name}})
		}
	}
	return requests
}

// requestsOf returns the Clusters that an event concerns.
func requestsOf(e resourcewatch.Event) []reconcile.Request {
	var requests []reconcile.Request
	for _, object := range []*resourcewatch.Object{e.Old, e.New} {
		if object == nil {
			continue
		}
		if request, ok := requestOf(object); ok && (len(requests) == 0 || requests[0] != request) {
			requests = append(requests, request)
		}
	}
	return requests
}

func requestOf(object *resourcewatch.Object) (request reconcile.Request, ok bool) {
	name := ""
	switch value := object.Value.(type) {
	case *desired.Cluster:
		name = object.Name
	case *desired.Infrastructure:
		name = value.Cluster
	case *desired.Machine:
		name = value.Cluster
	}
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: object.Namespace, Name: name}}, name != ""
}
