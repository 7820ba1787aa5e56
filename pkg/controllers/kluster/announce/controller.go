// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package announce announces workload clusters: for a Kluster with spec.discovery.enabled, it creates a DiscoveryBackend of type
// kubernetes and a Secret with the kubeconfig of the cluster, so that its services are discovered.
//
// Both can be in another namespace than the Kluster, so owner references cannot be used. Labels with the namespace, name and UID of the
// Kluster identify them, and the finalizer of Deorbit ensures their deletion. Objects without these labels are never changed. An
// announcement that is no longer enabled is withdrawn after its traffic was moved away (withdraw.go). Deorbit withdraws the announcement
// of a Kluster that is being deleted.
//
// A reconcile reads from the API server, decides with pure functions and writes only differences. The condition
// Announced is set before the first object is created, and removed after the last one is deleted: a Kluster without the condition has no
// objects.
package announce

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
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
	live       client.Reader
	allowProxy bool
	clock      clock.PassiveClock
	recorder   events.EventRecorder
}

// AddToManager adds the controller to a manager, whose scheme has to know Klusters, DiscoveryBackends and Kubernetes' own kinds. It
// does not require that the cluster serves DiscoveryBackends: it waits for them. An error means that the controller was added twice, or
// that no client can be made.
func AddToManager(mgr manager.Manager, config configv1alpha1.KlusterConfiguration, allowProxy bool, clock clock.PassiveClock) error {
	set, err := resourcewatch.AddTo(mgr, ControllerName, clock, backendKind())
	if err != nil {
		return err
	}
	// The context would end a wait for the cache, but before the start of the manager there is none.
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &kubernikusv1.Kluster{}, byName, nameKeys); err != nil {
		return fmt.Errorf("index the klusters for controller %s: %w", ControllerName, err)
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), allowProxy: allowProxy, clock: clock, recorder: mgr.GetEventRecorder(fieldOwner),
	}
	b := kluster.Builder(mgr, ControllerName, config, changed(), r.usersOf).
		WatchesRawSource(set.Requests(r.concernedBy, backendKind().GroupResource))
	return kluster.Complete(b, ControllerName, r)
}

// changed drops updates that change nothing here, such as those of the status.
func changed() predicate.Predicate {
	return predicates.Changed(func(before, after *kubernikusv1.Kluster) bool {
		return before.Generation != after.Generation || !equality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
			before.HasDeorbiter() != after.HasDeorbiter() || before.Status.Apiserver != after.Status.Apiserver
	})
}

// byName finds Klusters with an announcement, to be made or there, in the cache: their backends have their names, in any namespace.
const byName = ControllerName + "/name"

func nameKeys(object client.Object) []string {
	if k, ok := object.(*kubernikusv1.Kluster); ok && concerned(k) {
		return []string{k.Name}
	}
	return nil
}

// usersOf returns the Klusters whose credentials are in a Secret, and those whose announcement it belongs to.
func (r *reconciler) usersOf(ctx context.Context, secret client.Object) []reconcile.Request {
	requests := kluster.UsersOf(r.client, concerned)(ctx, secret)
	name, is := strings.CutSuffix(secret.GetName(), secretSuffix)
	if !is {
		return requests
	}
	return append(requests, r.find(ctx, name, func(k *kubernikusv1.Kluster) bool {
		return wanted(k) && k.Spec.Discovery.Namespace == secret.GetNamespace()
	})...)
}

// find returns the Klusters of a name with an announcement for which something is true.
func (r *reconciler) find(ctx context.Context, name string, is func(*kubernikusv1.Kluster) bool) []reconcile.Request {
	klusters := &kubernikusv1.KlusterList{}
	// Objects of a cache are read only here, so that they need not be copied.
	if err := r.client.List(ctx, klusters, client.MatchingFields{byName: name}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Could not find the Klusters of a name", "name", name)
		return nil
	}
	return kluster.Requests(klusters.Items, is)
}

// backendKind is DiscoveryBackends, of which only metadata is kept: a reconciliation reads the backend itself.
func backendKind() resourcewatch.Kind {
	return resourcewatch.Kind{
		GroupResource: gimbalv1.Resource("discoverybackends"), Versions: []string{gimbalv1.SchemeGroupVersion.Version},
		Metadata: func(object metav1.Object) any { return object.GetLabels()[clusterid.LabelUID] },
	}
}

// concernedBy returns the Klusters that an event of a backend concerns: theirs was changed, or another client's has been deleted,
// for whose name they wait. Every Kluster is checked when this process begins, and what a status reports matters to none.
func (r *reconciler) concernedBy(ctx context.Context, e resourcewatch.Event) []reconcile.Request {
	if e.Initial || e.Old != nil && e.New != nil && e.Old.Generation == e.New.Generation && e.Old.Value == e.New.Value {
		return nil
	}
	return r.find(ctx, e.Object().Name, nil)
}
