// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the main controller of Projects: it gives each one its namespace, the roles and bindings of its
// members and its quota, and takes the namespace back when the Project goes.
//
// A pass reads from caches, decides by pure functions (namespace.go, release.go, rbac.go, quota.go, status.go) and
// writes only what differs. A new Project costs 14 requests with its event, 15 with a quota; one that is as it should
// be costs none.
package lifecycle

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/observe"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "project"
	// fieldOwner is the manager of the fields we write, and the source of our events.
	fieldOwner = "project-controller"

	// A pass that failed is tried again after a pause that doubles. The longest is short enough that all goes on soon
	// after an outage.
	minBackoff = 50 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// reconciler brings Projects to the state their spec asks for.
type reconciler struct {
	// client reads from the caches and writes to the API server.
	client client.Client
	// live reads from the API server. It has the last word before something is destroyed.
	live     client.Reader
	contents contents
	quotas   []quotaRule
	recorder events.EventRecorder
	outcomes *prometheus.CounterVec
	// timeToReady is told how long a new Project took.
	timeToReady prometheus.Observer
	now         func() time.Time
}

// AddToManager adds the controller to a manager, whose scheme has to know Projects and Kubernetes' own kinds. The
// manager's cache should be built with CacheOptions, and the usage belongs to it. An error means that the configuration cannot be used, that the
// controller was added twice, or that Kubernetes' API server does not answer. The one that serves Projects need not be
// there yet.
func AddToManager(mgr manager.Manager, config configv1alpha1.ProjectControllerConfiguration, usage *usage.Usage) error {
	quotas, err := newQuotaRules(config.Quotas)
	if err != nil {
		return err
	}
	if keys := unguardedKeys(quotas); len(keys) > 0 {
		mgr.GetLogger().Info("Quotas are selected by labels that members may set, unless the API server is given their keys",
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
	// The context would end a wait for the cache, but before the start of the manager there is none.
	err = mgr.GetFieldIndexer().IndexField(context.Background(), &rbacv1.ClusterRole{}, extensionRoleIndex, indexExtensionRole)
	if err != nil {
		return fmt.Errorf("index the cluster roles for controller %s: %w", ControllerName, err)
	}
	r := &reconciler{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		contents: contents{usage.Kinds},
		quotas:   quotas,
		recorder: mgr.GetEventRecorder(fieldOwner),
		outcomes: outcomes, timeToReady: timeToReady,
		now: time.Now,
	}
	options := controller.Options{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
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
		// What we wrote, so that a manual edit is corrected and a namespace that is gone is noticed.
		Watches(&corev1.Namespace{}, byName, builder.WithPredicates(changedOrGone())).
		Watches(&rbacv1.RoleBinding{}, byLabel, builder.WithPredicates(changedOrGone())).
		Watches(&corev1.ResourceQuota{}, byLabel, builder.WithPredicates(changedOrGone())).
		Watches(&rbacv1.ClusterRole{}, byLabel, builder.WithPredicates(changedOrGone())).
		Watches(&rbacv1.ClusterRoleBinding{}, byLabel, builder.WithPredicates(changedOrGone())).
		// What keeps a namespace, so that a deletion goes on when the last one is gone.
		WatchesRawSource(contentSource{contents: r.contents, toProject: toProject}).
		Complete(observe.Reconciler(ControllerName, r))
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
