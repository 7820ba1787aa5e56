// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package stale detects unused Projects, marks them, and finally deletes them.
//
// The decision about a Project depends only on its status, its namespace, the objects that use it, the configuration and the
// time (decide.go), so that a change of the configuration applies to all Projects with the next reconciliation. The
// reconciliation of an unchanged Project writes nothing and sends no request to the API server.
package stale

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "project-stale"
	// fieldOwner is the field manager of the controller's writes.
	fieldOwner = "project-stale-controller"
	// eventSource is the source of the events of Projects, shared by all their controllers.
	eventSource = "project-controller"
)

// reconciler detects stale Projects.
type reconciler struct {
	// client reads from the caches and writes to the API server.
	client client.Client
	// live reads from the API server, before a Project is deleted.
	live client.Reader
	// watchedUse and liveUse return what uses the project of a namespace, from the watches and from the API server: "" if it is
	// unused; an error if that is unknown.
	watchedUse, liveUse func(ctx context.Context, namespace string) (string, error)

	policy   policy
	clock    clock.PassiveClock
	recorder events.EventRecorder
	meters
}

// patience is how long nothing is deleted after a kind is no longer served: an API server that is being replaced removes its
// kinds temporarily.
const patience = day

// AddToManager adds the controller to a manager, whose scheme has to include Projects and the kinds of Kubernetes. The usage
// has to be added to the same manager.
func AddToManager(mgr manager.Manager, config configv1alpha1.ProjectControllerConfiguration, usage *usage.Usage, clock clock.PassiveClock) error {
	meters, err := newMeters(metrics.Registry, mgr.GetCache())
	if err != nil {
		return err
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(),
		watchedUse: func(ctx context.Context, namespace string) (string, error) {
			return usage.Of(ctx, usage.Kinds.Watched(), namespace)
		},
		liveUse: func(ctx context.Context, namespace string) (string, error) {
			return usage.Of(ctx, usage.Kinds.Live(patience), namespace)
		},
		policy: newPolicy(config), clock: clock, recorder: mgr.GetEventRecorder(eventSource), meters: meters,
	}
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{MaxConcurrentReconciles: int(*config.ConcurrentSyncs)}).
		For(&gardenerv1beta1.Project{}, builder.WithPredicates(projectChanged())).
		// For the annotation that exempts a project.
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(ofNamespace), builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		WatchesRawSource(r.wake(usage)).
		Complete(instrument.Reconciler(ControllerName, r))
}

// wake enqueues the Projects whose use may have changed, so that the marks of Projects that are used again are removed immediately.
func (r *reconciler) wake(usage *usage.Usage) source.Func {
	return func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		usage.Kinds.Subscribe(func(e resourcewatch.Event) {
			namespaces, err := usage.Touched(ctx, usage.Kinds.Watched(), e)
			if err != nil {
				// The next check of those Projects detects it.
				log.FromContext(ctx).V(1).Info("Failed to determine the projects whose use has changed", "err", err.Error())
			}
			var delay time.Duration
			if e.Old != nil {
				delay = soon // the end of a use is activity, which is recorded first
			}
			for _, name := range namespaces {
				namespace := &corev1.Namespace{}
				if r.client.Get(ctx, client.ObjectKey{Name: name}, namespace) != nil {
					continue
				}
				for _, request := range ofNamespace(ctx, namespace) {
					queue.AddAfter(request, delay)
				}
			}
		}, usage.Resources()...)
		return nil
	}
}

// ofNamespace returns the Project of a namespace.
func ofNamespace(_ context.Context, namespace client.Object) []reconcile.Request {
	if project := namespace.GetLabels()[gardenerv1beta1.LabelProjectName]; project != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: project}}}
	}
	return nil
}

// projectChanged admits changes that can affect a decision, which includes the last activity in the status. The controller's
// own writes do not require a reconciliation.
func projectChanged() predicate.Predicate {
	changed := predicates.Changed(func(before, after *gardenerv1beta1.Project) bool {
		return before.Generation != after.Generation || kit.IsPaused(before) != kit.IsPaused(after) ||
			!before.Status.LastActivityTimestamp.Equal(after.Status.LastActivityTimestamp)
	})
	changed.DeleteFunc = func(event.DeleteEvent) bool { return false }
	return changed
}
