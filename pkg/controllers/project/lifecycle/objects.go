// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// merged returns an object as found with the fields of the controller as desired. Labels and annotations of other clients are
// retained. The rules of a role and the subjects of a binding are owned as a whole, so that manual additions are removed; the
// rules of an aggregated role belong to Kubernetes and are not changed. No object has an owner, because the garbage collector
// would delete it at the wrong time.
func merged(current, desired client.Object) client.Object {
	next := copyOf(current)
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
	case *rbacv1.ClusterRoleBinding, *rbacv1.RoleBinding:
		if _, subjects := binding(next); subjects != nil {
			_, wanted := binding(desired)
			*subjects = *wanted
		}
	case *corev1.ResourceQuota:
		found, ok := current.(*corev1.ResourceQuota)
		if next, isQuota := next.(*corev1.ResourceQuota); ok && isQuota {
			next.Spec.Hard = raisedLimits(found.Spec.Hard, limitsSet(found), desired.Spec.Hard)
		}
	}
	return next
}

func copyOf(object client.Object) client.Object {
	next, _ := object.DeepCopyObject().(client.Object)
	return next
}

// binding returns the role and the subjects of a binding, nil of another object.
func binding(object client.Object) (*rbacv1.RoleRef, *[]rbacv1.Subject) {
	switch binding := object.(type) {
	case *rbacv1.ClusterRoleBinding:
		return &binding.RoleRef, &binding.Subjects
	case *rbacv1.RoleBinding:
		return &binding.RoleRef, &binding.Subjects
	default:
		return nil, nil
	}
}

func isBinding(object client.Object) bool {
	role, _ := binding(object)
	return role != nil
}

// bindsAnotherRole reports whether a binding has to be recreated: its role reference is immutable.
func bindsAnotherRole(current, desired client.Object) bool {
	found, _ := binding(current)
	wanted, _ := binding(desired)
	return found != nil && wanted != nil && *found != *wanted
}

// withoutSubjects returns an object without subjects, if it is a binding. One of a Role is returned unchanged: the controller binds
// ClusterRoles only, and is not allowed to change others.
func withoutSubjects(object client.Object) client.Object {
	next := copyOf(object)
	if role, subjects := binding(next); role != nil && role.Kind == clusterRoleRef("").Kind {
		*subjects = nil
	}
	return next
}

// withoutUID returns a copy of an object that a merge patch has to give its UID.
func withoutUID(object client.Object) client.Object {
	next := copyOf(object)
	next.SetUID("")
	return next
}

// withAll returns a map with the entries of another one added.
func withAll(base, extra map[string]string) map[string]string {
	if base == nil {
		return maps.Clone(extra)
	}
	maps.Copy(base, extra)
	return base
}

// isAmong reports whether an object has the kind and name of one of others.
func isAmong(others []client.Object, object client.Object) bool {
	return slices.ContainsFunc(others, func(other client.Object) bool { return describe(other) == describe(object) })
}

// describe names an object in messages.
func describe(object client.Object) string {
	kind := "object"
	switch object.(type) {
	case *corev1.Namespace:
		kind = "namespace"
	case *corev1.ResourceQuota:
		kind = "resource quota"
	case *rbacv1.ClusterRole:
		kind = "cluster role"
	case *rbacv1.ClusterRoleBinding:
		kind = "cluster role binding"
	case *rbacv1.RoleBinding:
		kind = "role binding"
	case *gardenerv1beta1.Project:
		kind = "project"
	}
	if namespace := object.GetNamespace(); namespace != "" {
		return fmt.Sprintf("%s %q in namespace %q", kind, object.GetName(), namespace)
	}
	return fmt.Sprintf("%s %q", kind, object.GetName())
}
