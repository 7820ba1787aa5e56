// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the main controller of Projects: it manages the namespace of each Project, the roles and bindings of its
// members and its quota, and deletes or releases the namespace when the Project is deleted.
//
// A reconciliation reads from caches, decides with pure functions (namespace.go, release.go, rbac.go, quota.go, status.go) and
// writes only differences. A new Project causes 14 requests including its event, 15 with a quota; a reconciled one causes none. Where
// the API server decides by the members (membership.go), a new Project causes 6.
package lifecycle

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
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
	quotas   []quotaRule
	// byMembership is set if the API server decides about Projects by their members, so that they need no ClusterRoles.
	byMembership bool
	// servers are the API servers, which have to decide in the same way.
	servers  authorization
	recorder events.EventRecorder
	outcomes *prometheus.CounterVec
	// timeToReady receives the time until a new Project is Ready.
	timeToReady prometheus.Observer
	now         func() time.Time
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
	outcomes, err := registerOutcomes(metrics.Registry)
	if err != nil {
		return err
	}
	timeToReady, err := registerTimeToReady(metrics.Registry)
	if err != nil {
		return err
	}
	if err := registerPhases(metrics.Registry, mgr.GetCache()); err != nil {
		return err
	}
	// The context would cancel the wait for the cache, but there is no wait before the manager is started.
	err = mgr.GetFieldIndexer().IndexField(context.Background(), &rbacv1.ClusterRole{}, extensionRoleIndex, indexExtensionRole)
	if err != nil {
		return fmt.Errorf("index the cluster roles for controller %s: %w", ControllerName, err)
	}
	servers := newServers(mgr.GetAPIReader(), config.Authorization == configv1alpha1.ProjectAuthorizationMembership, clock.RealClock{})
	r := &reconciler{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		contents: contents{usage.Kinds},
		quotas:   quotas,

		byMembership: config.Authorization == configv1alpha1.ProjectAuthorizationMembership,
		servers:      servers,

		recorder: mgr.GetEventRecorder(fieldOwner),
		outcomes: outcomes, timeToReady: timeToReady,
		now: time.Now,
	}
	options := controller.Options{
		RateLimiter: kit.RateLimiter[reconcile.Request](),
	}
	if config.ConcurrentSyncs != nil {
		options.MaxConcurrentReconciles = int(*config.ConcurrentSyncs)
	}
	toProject := mapper{cache: mgr.GetCache()}
	byLabel := handler.EnqueueRequestsFromMapFunc(ofLabel)
	byName := handler.EnqueueRequestsFromMapFunc(toProject.ofNamespace)
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(options).
		For(&gardenerv1beta1.Project{}, builder.WithPredicates(projectChanged())).
		// The objects of a Project, so that manual changes are reverted and a deleted namespace is detected.
		Watches(&corev1.Namespace{}, byName, builder.WithPredicates(changedOrDeleted())).
		Watches(&rbacv1.RoleBinding{}, byLabel, builder.WithPredicates(changedOrDeleted())).
		Watches(&corev1.ResourceQuota{}, byLabel, builder.WithPredicates(changedOrDeleted())).
		Watches(&rbacv1.ClusterRole{}, byLabel, builder.WithPredicates(changedOrDeleted())).
		Watches(&rbacv1.ClusterRoleBinding{}, byLabel, builder.WithPredicates(changedOrDeleted())).
		// Blocking objects, so that a deletion continues when the last of them has been deleted.
		WatchesRawSource(contentSource{contents: r.contents, toProject: toProject}).
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
