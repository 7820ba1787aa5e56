// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// merged is an object as found with everything in it that is ours as desired. Labels and annotations that others added
// stay. The rules of a role and the subjects of a binding are ours as a whole, so that what was added by hand goes;
// the rules of an aggregated role are Kubernetes' and stay as they are. None has an owner: the garbage collector would
// delete it at the wrong time.
func merged(current, desired client.Object) client.Object {
	next, ok := current.DeepCopyObject().(client.Object)
	if !ok {
		return desired
	}
	set := corev1.ResourceList{}
	if quota, ok := current.(*corev1.ResourceQuota); ok {
		set = limitsSet(quota) // before the annotation says what is set now
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

// bindsAnotherRole says whether a binding has to be made anew: the role it binds cannot be changed.
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

// withAll is a map with the entries of another one added.
func withAll(base, extra map[string]string) map[string]string {
	if base == nil {
		return maps.Clone(extra)
	}
	maps.Copy(base, extra)
	return base
}
