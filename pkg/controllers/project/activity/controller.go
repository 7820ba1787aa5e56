// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package activity records the time of the last activity in a project: when an object that uses it was created, changed or deleted, or
// what credentials and Quotas in it are used by. It writes at most once per minute and Project.
package activity

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "project-activity"
	// fieldOwner is the field manager of the controller's writes.
	fieldOwner = "project-activity-controller"
)

// reconciler records the time of the last activity. Its requests are names of namespaces.
type reconciler struct {
	client  client.Client
	usage   *usage.Usage
	clock   clock.PassiveClock
	pending pending
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
			r.pending.note(namespace, at)
			queue.Add(requestFor(namespace))
		}
	}, r.usage.Resources()...)
	return nil
}

// activities returns the namespaces in which an event is activity, with its time. The spec of an object that uses its own namespace
// counts. Every change of credentials, a Quota or a binding does, because not all of them have a generation.
func (r *reconciler) activities(ctx context.Context, reader resourcewatch.Reader, e resourcewatch.Event) map[string]time.Time {
	now, found := r.clock.Now(), map[string]time.Time{}
	note := func(event resourcewatch.Event, namespaces ...string) {
		at, active := happened(event, now)
		for _, namespace := range namespaces {
			if active && at.After(found[namespace]) {
				found[namespace] = at
			}
		}
	}
	if r.usage.IsDirect(e.Resource) && isSpecChanged(e) {
		note(e, e.Object().Namespace)
	}
	related, err := r.usage.Related(ctx, reader, e)
	note(e, related...)
	if err == nil && e.Initial {
		var around map[*resourcewatch.Object][]string
		around, err = r.usage.Around(ctx, reader, e.Resource, e.New)
		for object, namespaces := range around {
			note(resourcewatch.Event{New: object, Initial: true}, namespaces...)
		}
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to determine the projects in which an event is activity", "resource", e.Resource.String())
	}
	return found
}

// Reconcile writes the last activity in a namespace to its Project, unless it is recorded already.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	at := r.pending.last(request.Name)
	if at.IsZero() {
		return reconcile.Result{}, nil
	}
	project, err := r.projectOf(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if project != nil {
		if err := r.write(ctx, project, at); err != nil {
			return reconcile.Result{}, err
		}
	}
	r.pending.done(request.Name, at)
	return reconcile.Result{}, nil
}

// projectOf returns the Project of a namespace, or nil if there is none, or if it is being deleted or paused.
func (r *reconciler) projectOf(ctx context.Context, name string) (*gardenerv1beta1.Project, error) {
	namespace, project := &corev1.Namespace{}, &gardenerv1beta1.Project{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	key := client.ObjectKey{Name: namespace.Labels[gardenerv1beta1.LabelProjectName]}
	if key.Name == "" {
		return nil, nil
	}
	if err := r.client.Get(ctx, key, project); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	// The label alone could name the Project of another user.
	if namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] != string(project.UID) || !project.DeletionTimestamp.IsZero() ||
		kit.IsPaused(project) {
		return nil, nil
	}
	return project, nil
}

// write records the time of an activity, unless a later one, or one shortly before, is recorded.
func (r *reconciler) write(ctx context.Context, project *gardenerv1beta1.Project, at time.Time) error {
	var last *time.Time
	if known := project.Status.LastActivityTimestamp; known != nil {
		last = &known.Time
	}
	if !isNews(at, last) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": project.UID}, // rejects a recreated Project with the same name
		"status":   map[string]any{"lastActivityTimestamp": metav1.NewTime(at)},
	})
	if err != nil {
		return err
	}
	object := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: project.Name}}
	err = r.client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldOwner))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it has been deleted
	}
	if err != nil {
		return fmt.Errorf("write the last activity of project %q: %w", project.Name, err)
	}
	log.FromContext(ctx).V(1).Info("Recorded activity in a project", "project", project.Name, "at", at)
	return nil
}

func requestFor(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: namespace}}
}
