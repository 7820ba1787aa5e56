// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// access is what the roles and bindings of a Project contain, by kind and name, with P for the name of the Project and NS for that
// of its namespace. All of them are checked, those that should not be there too.
type access map[string]string

// accessOf reads the access of a Project of the shared plane.
func accessOf(t *testing.T, project *gardenerv1beta1.Project) access {
	t.Helper()
	found, err := readAccess(t.Context(), admin(t), project)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// hasAccess waits until the access of a Project is as wanted.
func hasAccess(t *testing.T, project *gardenerv1beta1.Project, want access) {
	t.Helper()
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		found, err := readAccess(ctx, c, project)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, found, cmpopts.EquateEmpty()); diff != "" {
			return fmt.Errorf("roles and bindings of project %s (-want +got):\n%s", project.Name, diff)
		}
		return nil
	})
}

func readAccess(ctx context.Context, c client.Client, project *gardenerv1beta1.Project) (access, error) {
	roles, clusterBindings, bindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	for _, list := range []client.ObjectList{roles, clusterBindings} {
		if err := c.List(ctx, list); err != nil {
			return nil, err
		}
	}
	if err := c.List(ctx, bindings, client.InNamespace(project.NamespaceName())); err != nil {
		return nil, err
	}
	found, short := access{}, strings.NewReplacer(project.NamespaceName(), "NS", project.Name, "P")
	add := func(kind string, object client.Object, message string) {
		if slices.Contains(strings.Split(object.GetName(), ":"), project.Name) || object.GetNamespace() != "" {
			found[short.Replace(kind+" "+object.GetName())] = short.Replace(message + strangeOwners(project, object))
		}
	}
	for i := range roles.Items {
		role := &roles.Items[i]
		add("ClusterRole", role, rulesOf(role))
	}
	for i := range clusterBindings.Items {
		binding := &clusterBindings.Items[i]
		add("ClusterRoleBinding", binding, bindingOf(binding.RoleRef, binding.Subjects))
	}
	for i := range bindings.Items {
		binding := &bindings.Items[i]
		add("RoleBinding", binding, bindingOf(binding.RoleRef, binding.Subjects))
	}
	return found, nil
}

// rulesOf returns the rules of a role, sorted, and from where Kubernetes collects them.
func rulesOf(role *rbacv1.ClusterRole) string {
	var rules []string
	for _, rule := range role.Rules {
		slices.Sort(rule.Verbs)
		rules = append(rules, fmt.Sprintf("%s/%s%v %s", strings.Join(rule.APIGroups, ","), strings.Join(rule.Resources, ","),
			rule.ResourceNames, strings.Join(rule.Verbs, ",")))
	}
	slices.Sort(rules)
	slices.Reverse(rules)
	if role.AggregationRule != nil {
		for _, selector := range role.AggregationRule.ClusterRoleSelectors {
			rules = append(rules, "aggregated "+metav1.FormatLabelSelector(&selector))
		}
	}
	return strings.Join(rules, "; ")
}

// bindingOf returns the role and the subjects of a binding, sorted.
func bindingOf(role rbacv1.RoleRef, subjects []rbacv1.Subject) string {
	var names []string
	for _, subject := range subjects {
		who := subject.Kind + " " + subject.Name
		if subject.Namespace != "" {
			who = subject.Kind + " " + subject.Namespace + "/" + subject.Name
		}
		names = append(names, who)
	}
	slices.Sort(names)
	return role.Kind + " " + role.Name + ": " + strings.Join(names, ", ")
}

// strangeOwners is empty when an object names its Project, and has no owner that would have it deleted at the wrong time.
func strangeOwners(project *gardenerv1beta1.Project, object client.Object) string {
	if object.GetAnnotations()["groundskeeper.io/project-uid"] == string(project.UID) && len(object.GetOwnerReferences()) == 0 {
		return ""
	}
	return fmt.Sprintf(" (owned by %+v, annotations %v)", object.GetOwnerReferences(), object.GetAnnotations())
}
