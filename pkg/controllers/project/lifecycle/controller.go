// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the main controller of Projects: it manages the namespace of each Project, the roles and bindings of its
// members and its quota, and deletes or releases the namespace when the Project is deleted.
//
// A reconciliation reads from caches, decides with pure functions (decide.go, rbac.go, quota.go, objects.go, status.go) and writes only
// differences. A new Project causes 14 requests including its event, 15 with a quota; a reconciled one causes none. Where the API server
// decides by the members (desiredNamespacedRBAC), a new Project causes 6.
package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

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
	ControllerName = "project"
	// fieldOwner is the field manager of the controller's writes, and the source of its events.
	fieldOwner = "project-controller"
)

// reconciler reconciles Projects with their spec.
type reconciler struct {
	// client reads from the caches and writes to the API server.
	client client.Client
	// live reads from the API server. It is used before anything is deleted.
	live     client.Reader
	contents contents
	holders  holders
	quotas   []quotaRule
	// byMembership is set if the API server decides about Projects by their members, so that they need no ClusterRoles.
	byMembership bool
	// servers are the API servers, which have to decide in the same way.
	servers  authorization
	recorder events.EventRecorder
	meters
	now func() time.Time
}

// AddToManager adds the controller to a manager, whose scheme has to include Projects and the kinds of Kubernetes. The
// manager's cache should be built with CacheOptions, and the usage has to be added to the same manager. It returns an error if
// the configuration is invalid, if the controller was added twice, or if the API server of Kubernetes does not respond. The
// server of Projects does not have to be available yet.
func AddToManager(mgr manager.Manager, config configv1alpha1.ProjectControllerConfiguration, usage *usage.Usage) error {
	quotas, err := newQuotaRules(config.Quotas)
	if err != nil {
		return err
	}
	if keys := unguardedKeys(quotas); len(keys) > 0 {
		mgr.GetLogger().Info("Quotas are selected by labels that members are allowed to set, unless the flag of the API server has their keys",
			"flag", "--project-quota-labels", "keys", keys)
	}
	meters, err := newMeters(metrics.Registry, mgr.GetCache())
	if err != nil {
		return err
	}
	// The context would cancel the wait for the cache, but there is no wait before the manager is started.
	err = mgr.GetFieldIndexer().IndexField(context.Background(), &rbacv1.ClusterRole{}, extensionRoleIndex, indexExtensionRole)
	if err != nil {
		return fmt.Errorf("index the cluster roles for controller %s: %w", ControllerName, err)
	}
	holders, err := newHolders(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("controller %s: %w", ControllerName, err)
	}
	byMembership := config.Authorization == configv1alpha1.ProjectAuthorizationMembership
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), contents: contents{usage.Kinds}, holders: holders, quotas: quotas,
		byMembership: byMembership, recorder: mgr.GetEventRecorder(fieldOwner), meters: meters, now: time.Now,
	}
	servers := newServers(r.live, byMembership, clock.RealClock{})
	r.servers = servers
	options := controller.Options{RateLimiter: kit.RateLimiter[reconcile.Request]()}
	if config.ConcurrentSyncs != nil {
		options.MaxConcurrentReconciles = int(*config.ConcurrentSyncs)
	}
	to := mapper{cache: mgr.GetCache()}
	byLabel := handler.EnqueueRequestsFromMapFunc(ofLabel)
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(options).
		For(&gardenerv1beta1.Project{}, builder.WithPredicates(projectChanged())).
		// The objects of a Project, so that manual changes are reverted and a deleted namespace is detected.
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(to.ofNamespace), builder.WithPredicates(changedOrDeleted())).
		Watches(&rbacv1.RoleBinding{}, byLabel, builder.WithPredicates(changedOrDeleted())).
		Watches(&corev1.ResourceQuota{}, byLabel, builder.WithPredicates(changedOrDeleted())).
		Watches(&rbacv1.ClusterRole{}, byLabel, builder.WithPredicates(changedOrDeleted())).
		Watches(&rbacv1.ClusterRoleBinding{}, byLabel, builder.WithPredicates(changedOrDeleted())).
		// Blocking objects, so that a deletion continues when the last of them has been deleted.
		WatchesRawSource(contentSource{r.contents, to}).
		// How the API servers authorize, because roles are deleted only if none of them needs these.
		WatchesRawSource(serverSource{servers, mgr.GetCache()}).
		Complete(instrument.Reconciler(ControllerName, r))
}

// extensionRoleIndex finds the extension roles of a Project in the cache.
const extensionRoleIndex = ControllerName + "/extension-role"

func indexExtensionRole(object client.Object) []string {
	labels := object.GetLabels()
	if labels[gardenerv1beta1.LabelRole] != gardenerv1beta1.RoleExtensionProject {
		return nil
	}
	return []string{labels[gardenerv1beta1.LabelProjectName]}
}

// CacheOptions restricts a manager's cache to the roles, bindings and quotas of Projects. They all have the label
// project.gardener.cloud/name, so that the cache does not contain those of the whole cluster. An object of these kinds without
// the label is not in the cache: read it from the API server.
func CacheOptions() (map[client.Object]cache.ByObject, error) {
	labelled, err := labels.Parse(gardenerv1beta1.LabelProjectName)
	if err != nil {
		return nil, fmt.Errorf("select the objects of Projects: %w", err)
	}
	own := cache.ByObject{Label: labelled}
	return map[client.Object]cache.ByObject{
		&rbacv1.ClusterRole{}:        own,
		&rbacv1.ClusterRoleBinding{}: own,
		&rbacv1.RoleBinding{}:        own,
		&corev1.ResourceQuota{}:      own,
	}, nil
}

// ofLabel returns the Project in the label of an object. If the label was removed, the event has the previous state, too.
func ofLabel(_ context.Context, object client.Object) []reconcile.Request {
	if name := object.GetLabels()[gardenerv1beta1.LabelProjectName]; name != "" {
		return []reconcile.Request{requestFor(name)}
	}
	return nil
}

// mapper finds the Project of an object that does not name it.
type mapper struct {
	cache client.Reader
}

// ofNamespace returns the Project of a namespace: by its label, or else the one whose spec names the namespace and waits for
// its deletion.
func (m mapper) ofNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	if requests := ofLabel(ctx, object); requests != nil || !isProjectNamespace(object.GetName()) {
		return requests
	}
	projects := &gardenerv1beta1.ProjectList{}
	if err := m.cache.List(ctx, projects, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Failed to find the project of a namespace", "projectNamespace", object.GetName())
		return nil
	}
	for i := range projects.Items {
		if namespaceName(&projects.Items[i]) == object.GetName() {
			return []reconcile.Request{requestFor(projects.Items[i].Name)}
		}
	}
	return nil
}

// ofContent returns the Project of an object in a namespace.
func (m mapper) ofContent(ctx context.Context, name string) []reconcile.Request {
	namespace, err := find(ctx, m.cache, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to find the project of a namespace", "projectNamespace", name)
	}
	if namespace == nil {
		return nil
	}
	return ofLabel(ctx, namespace)
}

func requestFor(project string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: project}}
}

// projectChanged admits changes that can affect a decision. Status writes cannot.
func projectChanged() predicate.Predicate {
	return predicates.Changed(func(before, after client.Object) bool {
		return before.GetGeneration() != after.GetGeneration() ||
			before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
			kit.IsPaused(before) != kit.IsPaused(after) ||
			before.GetAnnotations()[gardenerv1beta1.AnnotationForceDeletion] != after.GetAnnotations()[gardenerv1beta1.AnnotationForceDeletion] ||
			// The finalizer of this controller is removed last.
			!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
			// Quotas are selected by the labels of a Project.
			!maps.Equal(before.GetLabels(), after.GetLabels())
	})
}

// changedOrDeleted drops creations: the controller makes them, or its own creation fails because of them and reads the existing
// object.
func changedOrDeleted() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}
}

// contentSource is the source of events of the blocking kinds that the API server serves. It is synced when each kind is either
// watched or known to be absent; an absent kind is watched once it is served.
type contentSource struct {
	contents
	mapper
}

// Start enqueues the Projects of created and deleted objects. Their contents do not matter.
func (s contentSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.Subscribe(func(e resourcewatch.Event) {
		if e.Old != nil && e.New != nil {
			return
		}
		for _, request := range s.ofContent(ctx, e.Object().Namespace) {
			queue.Add(request)
		}
	}, blockingResources()...)
	return nil
}

// WaitForSync waits until the state of every kind is known. The end of the process is not an error, a timeout is.
func (s contentSource) WaitForSync(ctx context.Context) error {
	if err := s.Settled(ctx, blockingResources()...); err != nil {
		return fmt.Errorf("find the objects that block the deletion of project namespaces: %w", err)
	}
	return nil
}

// String returns the name of the source for logs.
func (s contentSource) String() string { return "contents of project namespaces" }
