// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Binding is a ClusterRoleBinding of a role that lets its subjects manage the members of every Project, and not of those of others
// (projects/any). Such a role is meant for a server that restricts its subjects to their own Projects.
type Binding struct {
	Name, Role string
	Subjects   []rbacv1.Subject
}

// String returns the binding with its role and its subjects.
func (b Binding) String() string {
	subjects := make([]string, 0, len(b.Subjects))
	for _, subject := range b.Subjects {
		subjects = append(subjects, subject.Kind+" "+subject.Name)
	}
	return fmt.Sprintf("ClusterRoleBinding %s (ClusterRole %s, %s)", b.Name, b.Role, strings.Join(subjects, ", "))
}

func (b Binding) binds(who user.Info) bool {
	return who != nil && slices.ContainsFunc(b.Subjects, func(subject rbacv1.Subject) bool { return is(who, &subject) })
}

// Bindings reads the bindings, whatever their names are. An error is no decision.
type Bindings func(ctx context.Context) ([]Binding, error)

// BindingsOf reads the bindings of a cluster. Those of a single Project, of which there are thousands, are not read: their roles have
// resourceNames.
func BindingsOf(client rbacclient.RbacV1Interface) Bindings {
	options := metav1.ListOptions{LabelSelector: "!" + gardenerv1beta1.LabelProjectName}
	return func(ctx context.Context) ([]Binding, error) {
		roles, err := client.ClusterRoles().List(ctx, options)
		if apierrors.IsNotFound(err) { // no RBAC
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the ClusterRoles, for which artifacts/rbac has the permission: %w", err)
		}
		bindings, err := client.ClusterRoleBindings().List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list the ClusterRoleBindings, for which artifacts/rbac has the permission: %w", err)
		}
		return unrestricted(roles.Items, bindings.Items), nil
	}
}

// unrestricted returns the bindings with subjects whose role opens Projects, in the order of their names.
func unrestricted(roles []rbacv1.ClusterRole, bindings []rbacv1.ClusterRoleBinding) []Binding {
	var found []Binding
	for i := range bindings {
		binding := &bindings[i]
		role := slices.IndexFunc(roles, func(role rbacv1.ClusterRole) bool { return role.Name == binding.RoleRef.Name })
		if role >= 0 && len(binding.Subjects) > 0 && opens(roles[role].Rules) {
			found = append(found, Binding{binding.Name, binding.RoleRef.Name, binding.Subjects})
		}
	}
	slices.SortFunc(found, func(a, b Binding) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// opens reports whether rules allow the verb that only managers of members have for every Project, and not for projects/any. A role for
// administrators has both, as one with all resources does.
func opens(rules []rbacv1.PolicyRule) bool {
	own, others := false, false
	for i := range rules {
		rule := &rules[i]
		if len(rule.ResourceNames) > 0 || !covers(rule.APIGroups, gardenerv1beta1.GroupName) || !covers(rule.Verbs, gardenerv1beta1.VerbManageMembers) {
			continue
		}
		own = own || covers(rule.Resources, resource)
		others = others || covers(rule.Resources, resource+"/"+Any) || slices.Contains(rule.Resources, "*/"+Any)
	}
	return own && !others
}

func covers(values []string, value string) bool {
	return slices.Contains(values, value) || slices.Contains(values, rbacv1.ResourceAll)
}
