// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// CacheOptions restricts a manager's cache to the roles, bindings and quotas of Projects. They all have the label
// project.gardener.cloud/name, so that the cache does not contain those of the whole cluster. An object of these kinds without
// the label is not in the cache: read it from the API server.
func CacheOptions() (map[client.Object]cache.ByObject, error) {
	labelled, err := labels.NewRequirement(gardenerv1beta1.LabelProjectName, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("select the objects of Projects: %w", err)
	}
	own := cache.ByObject{Label: labels.NewSelector().Add(*labelled)}
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
	namespace := &corev1.Namespace{}
	if err := m.cache.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		if !apierrors.IsNotFound(err) {
			log.FromContext(ctx).Error(err, "Failed to find the project of a namespace", "projectNamespace", name)
		}
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
