// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	rbacv1 "k8s.io/api/rbac/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// grants are what a discoverer is allowed to do, and as whom.
type grants struct {
	account  *coreapply.ServiceAccountApplyConfiguration
	bindings []*rbacapply.RoleBindingApplyConfiguration
	// clusterBindings cannot have an owner in a namespace: Groundskeeper deletes them explicitly.
	clusterBindings []*rbacapply.ClusterRoleBindingApplyConfiguration
}

// desiredGrants gives a discoverer its Lease and the status of its backend in the namespace of that, and Services: everywhere when
// the backend is in an admin namespace, else in its own namespace. It creates namespaces only when its policy requires that.
//
// The name of a binding has that of its role in it, so that the role of a binding never has to change, which it cannot.
func desiredGrants(backend *gimbalv1.DiscoveryBackend, adminNamespaces []string) grants {
	g := grants{
		account: coreapply.ServiceAccount(partName(backend), backend.Namespace).
			WithLabels(partLabels(backend)).
			WithOwnerReferences(ownerReference(backend)).
			WithAutomountServiceAccountToken(false),
		bindings: []*rbacapply.RoleBindingApplyConfiguration{binding(backend, roleBackend)},
	}
	if !reachesAll(backend, adminNamespaces) {
		g.bindings = append(g.bindings, binding(backend, roleServices))
		return g
	}
	g.clusterBindings = append(g.clusterBindings, clusterBinding(backend, roleServices))
	if backend.Cluster.Namespaces.Missing == gimbalv1.MissingNamespaceCreate {
		g.clusterBindings = append(g.clusterBindings, clusterBinding(backend, roleNamespaces))
	}
	return g
}

func binding(backend *gimbalv1.DiscoveryBackend, role string) *rbacapply.RoleBindingApplyConfiguration {
	return rbacapply.RoleBinding(role+"-"+backend.Name, backend.Namespace).
		WithLabels(partLabels(backend)).
		WithOwnerReferences(ownerReference(backend)).
		WithRoleRef(roleRef(role)).
		WithSubjects(subject(backend))
}

// clusterBinding has a dedicated name: no other backend, of any namespace, has the name of this one.
func clusterBinding(backend *gimbalv1.DiscoveryBackend, role string) *rbacapply.ClusterRoleBindingApplyConfiguration {
	return rbacapply.ClusterRoleBinding(role + "-" + backend.Name).
		WithLabels(partLabels(backend)).
		WithRoleRef(roleRef(role)).
		WithSubjects(subject(backend))
}

func roleRef(role string) *rbacapply.RoleRefApplyConfiguration {
	return rbacapply.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(role)
}

func subject(backend *gimbalv1.DiscoveryBackend) *rbacapply.SubjectApplyConfiguration {
	return rbacapply.Subject().WithKind(rbacv1.ServiceAccountKind).WithNamespace(backend.Namespace).WithName(partName(backend))
}
