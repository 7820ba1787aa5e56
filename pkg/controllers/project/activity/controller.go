// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package activity records the time of the last activity in a project: when an object that uses it was created, changed or deleted, or
// what credentials and Quotas in it are used by. It writes at most once per minute and Project.
package activity

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "project-activity"
	// fieldOwner is the field manager of the controller's writes.
	fieldOwner = "project-activity-controller"
)

// reconciler records the time of the last activity. Its requests are names of namespaces.
type reconciler struct {
	client client.Client
	usage  *usage.Usage
	clock  clock.PassiveClock
	memory memory
}

// AddToManager adds the controller to a manager, whose scheme has to include Projects and the kinds of Kubernetes. The usage
// has to be added to the same manager.
func AddToManager(mgr manager.Manager, config configv1alpha1.ProjectControllerConfiguration, usage *usage.Usage, clock clock.PassiveClock) error {
	r := &reconciler{client: mgr.GetClient(), usage: usage, clock: clock}
	// Namespaces and Projects are only read from the cache: their changes are not activity.
	never := builder.WithPredicates(predicate.NewPredicateFuncs(func(client.Object) bool { return false }))
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{MaxConcurrentReconciles: int(*config.ConcurrentSyncs)}).
		Watches(&corev1.Namespace{}, &handler.EnqueueRequestForObject{}, never).
		Watches(&gardenerv1beta1.Project{}, &handler.EnqueueRequestForObject{}, never).
		WatchesRawSource(source.Func(r.follow)).
		Complete(instrument.Reconciler(ControllerName, r))
}

// follow records the events of objects that count as use, and of those that make others count.
func (r *reconciler) follow(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.usage.Kinds.Subscribe(func(e resourcewatch.Event) {
		for namespace, at := range r.activities(ctx, r.usage.Kinds.Cached(), e) {
			r.memory.note(namespace, at)
			queue.Add(requestFor(namespace))
		}
	}, r.usage.Resources()...)
	return nil
}

func requestFor(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: namespace}}
}
