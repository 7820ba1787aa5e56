// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// merged returns an object as found with the fields of the controller as desired. Labels and annotations of other clients are
// retained. The rules of a role and the subjects of a binding are owned as a whole, so that manual additions are removed; the
// rules of an aggregated role belong to Kubernetes and are not changed. No object has an owner, because the garbage collector
// would delete it at the wrong time.
func merged(current, desired client.Object) client.Object {
	next, ok := current.DeepCopyObject().(client.Object)
	if !ok {
		return desired
	}
	set := corev1.ResourceList{}
	if quota, ok := current.(*corev1.ResourceQuota); ok {
		set = limitsSet(quota) // before the annotation is updated
	}
	next.SetLabels(withAll(next.GetLabels(), desired.GetLabels()))
	next.SetAnnotations(withAll(next.GetAnnotations(), desired.GetAnnotations()))
	next.SetOwnerReferences(nil)
	switch desired := desired.(type) {
	case *rbacv1.ClusterRole:
		if next, ok := next.(*rbacv1.ClusterRole); ok {
			next.AggregationRule = desired.AggregationRule
			if desired.AggregationRule == nil {
				next.Rules = desired.Rules
			}
		}
	case *rbacv1.ClusterRoleBinding:
		if next, ok := next.(*rbacv1.ClusterRoleBinding); ok {
			next.Subjects = desired.Subjects
		}
	case *rbacv1.RoleBinding:
		if next, ok := next.(*rbacv1.RoleBinding); ok {
			next.Subjects = desired.Subjects
		}
	case *corev1.ResourceQuota:
		if next, ok := next.(*corev1.ResourceQuota); ok {
			next.Spec.Hard = raisedLimits(next.Spec.Hard, set, desired.Spec.Hard)
		}
	}
	return next
}

// bindsAnotherRole reports whether a binding has to be recreated: its role reference is immutable.
func bindsAnotherRole(current, desired client.Object) bool {
	switch current := current.(type) {
	case *rbacv1.ClusterRoleBinding:
		desired, ok := desired.(*rbacv1.ClusterRoleBinding)
		return ok && current.RoleRef != desired.RoleRef
	case *rbacv1.RoleBinding:
		desired, ok := desired.(*rbacv1.RoleBinding)
		return ok && current.RoleRef != desired.RoleRef
	default:
		return false
	}
}

// withAll returns a map with the entries of another one added.
func withAll(base, extra map[string]string) map[string]string {
	if base == nil {
		return maps.Clone(extra)
	}
	maps.Copy(base, extra)
	return base
}
