// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// rbacProject has a member in every role.
func rbacProject() *gardenerv1beta1.Project {
	project := inNamespace("garden-dev")
	project.Spec.Owner = new(user("owner"))
	project.Spec.Members = []gardenerv1beta1.ProjectMember{
		member("owner", "admin", "owner"),
		member("admin", "admin"),
		member("boss", "uam"),
		member("guest", "viewer"),
		member("robots", "serviceaccountmanager", "viewer"),
		{Subject: rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "garden-dev", Name: "bot"}, Role: "viewer", Roles: []string{"extension:a", "extension:b"}},
		member("guest", "extension:a"),
	}
	return project
}

// rulesOf returns the rules of a role, as "group/resources[names] verbs".
func rulesOf(role *rbacv1.ClusterRole) []string {
	var all []string
	for _, r := range role.Rules {
		all = append(all, fmt.Sprintf("%s/%s%s %s", strings.Join(r.APIGroups, ","), strings.Join(r.Resources, ","), r.ResourceNames, strings.Join(r.Verbs, ",")))
	}
	return all
}

func namesOf(subjects []rbacv1.Subject) []string {
	var all []string
	for _, s := range subjects {
		all = append(all, s.Name)
	}
	return all
}

func TestDesiredRBAC(t *testing.T) {
	type row struct {
		Kind, Namespace, Name, Binds string
		Rules, Subjects              []string
	}
	var got []row
	for _, object := range desiredRBAC(rbacProject()) {
		r := row{Namespace: object.GetNamespace(), Name: object.GetName()}
		switch object := object.(type) {
		case *rbacv1.ClusterRole:
			r.Kind, r.Rules = "ClusterRole", rulesOf(object)
			if object.AggregationRule != nil {
				r.Rules = append(r.Rules, "from "+metav1.FormatLabelSelector(&object.AggregationRule.ClusterRoleSelectors[0]))
			}
		case *rbacv1.ClusterRoleBinding:
			r.Kind, r.Binds, r.Subjects = "ClusterRoleBinding", object.RoleRef.Kind+" "+object.RoleRef.Name, namesOf(object.Subjects)
		case *rbacv1.RoleBinding:
			r.Kind, r.Binds, r.Subjects = "RoleBinding", object.RoleRef.Kind+" "+object.RoleRef.Name, namesOf(object.Subjects)
		}
		got = append(got, r)
	}
	const system, extension = "gardener.cloud:system:project", "gardener.cloud:extension:project:dev:"
	readNamespace := "/namespaces[garden-dev] get,list,watch"
	want := []row{
		{Kind: "ClusterRole", Name: system + ":dev", Rules: []string{readNamespace, "core.gardener.cloud/projects[dev] get,list,watch,patch,manage-members,update,delete"}},
		{Kind: "ClusterRole", Name: system + "-uam:dev", Rules: []string{"core.gardener.cloud/projects[dev] get,list,watch,manage-members,patch,update"}},
		{Kind: "ClusterRole", Name: system + "-member:dev", Rules: []string{readNamespace, "core.gardener.cloud/projects[dev] get,list,watch,patch,update,delete"}},
		{Kind: "ClusterRole", Name: system + "-viewer:dev", Rules: []string{readNamespace, "core.gardener.cloud/projects[dev] get,list,watch"}},
		{Kind: "ClusterRoleBinding", Name: system + ":dev", Binds: "ClusterRole " + system + ":dev", Subjects: []string{"owner"}},
		{Kind: "ClusterRoleBinding", Name: system + "-uam:dev", Binds: "ClusterRole " + system + "-uam:dev", Subjects: []string{"boss"}},
		{Kind: "ClusterRoleBinding", Name: system + "-member:dev", Binds: "ClusterRole " + system + "-member:dev", Subjects: []string{"owner", "admin"}},
		{Kind: "ClusterRoleBinding", Name: system + "-viewer:dev", Binds: "ClusterRole " + system + "-viewer:dev", Subjects: []string{"guest", "robots", "bot"}},
		{Kind: "RoleBinding", Namespace: "garden-dev", Name: system + "-member", Binds: "ClusterRole " + system + "-member", Subjects: []string{"owner", "admin"}},
		{Kind: "RoleBinding", Namespace: "garden-dev", Name: system + "-viewer", Binds: "ClusterRole " + system + "-viewer", Subjects: []string{"guest", "robots", "bot"}},
		{Kind: "RoleBinding", Namespace: "garden-dev", Name: system + "-serviceaccountmanager", Binds: "ClusterRole " + system + "-serviceaccountmanager", Subjects: []string{"owner", "robots"}},
		{Kind: "ClusterRole", Name: extension + "a", Rules: []string{"from rbac.gardener.cloud/aggregate-to-extension-role=a"}},
		{Kind: "RoleBinding", Namespace: "garden-dev", Name: extension + "a", Binds: "ClusterRole " + extension + "a", Subjects: []string{"bot", "guest"}},
		{Kind: "ClusterRole", Name: extension + "b", Rules: []string{"from rbac.gardener.cloud/aggregate-to-extension-role=b"}},
		{Kind: "RoleBinding", Namespace: "garden-dev", Name: extension + "b", Binds: "ClusterRole " + extension + "b", Subjects: []string{"bot"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRBACMetadata(t *testing.T) {
	for _, object := range desiredRBAC(rbacProject()) {
		labels := map[string]string{"project.gardener.cloud/name": "dev"}
		if strings.HasPrefix(object.GetName(), "gardener.cloud:extension:") {
			labels["gardener.cloud/role"] = "extension-project-role"
		}
		if diff := cmp.Diff(labels, object.GetLabels()); diff != "" {
			t.Errorf("labels of %s:\n%s", describe(object), diff)
		}
		if diff := cmp.Diff(map[string]string{"groundskeeper.io/project-uid": "project-dev"}, object.GetAnnotations()); diff != "" {
			t.Errorf("annotations of %s:\n%s", describe(object), diff)
		}
		if owners := object.GetOwnerReferences(); len(owners) > 0 {
			t.Errorf("owners of %s = %v, want none", describe(object), owners)
		}
	}
}

func TestAlwaysElevenObjects(t *testing.T) {
	project := testProject("dev")
	project.Spec.Owner, project.Spec.Members = nil, nil
	count := map[string]int{}
	for _, object := range desiredRBAC(project) {
		count[fmt.Sprintf("%T", object)]++
	}
	want := map[string]int{"*v1.ClusterRole": 4, "*v1.ClusterRoleBinding": 4, "*v1.RoleBinding": 3}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
}

func TestSubjects(t *testing.T) {
	const member, sam, own = "gardener.cloud:system:project-member:dev", "gardener.cloud:system:project-serviceaccountmanager", "gardener.cloud:system:project:dev"
	subjects := func(project *gardenerv1beta1.Project, name string) []rbacv1.Subject {
		objects := desiredRBAC(project)
		i := slices.IndexFunc(objects, func(object client.Object) bool {
			_, role := object.(*rbacv1.ClusterRole)
			return object.GetName() == name && !role
		})
		switch object := objects[i].(type) {
		case *rbacv1.ClusterRoleBinding:
			return object.Subjects
		case *rbacv1.RoleBinding:
			return object.Subjects
		}
		return nil
	}
	for name, test := range map[string]struct {
		change  func(*gardenerv1beta1.ProjectSpec)
		binding string
		want    []rbacv1.Subject
	}{
		"an owner who is no member is one": {
			func(s *gardenerv1beta1.ProjectSpec) { s.Members = nil }, member, []rbacv1.Subject{user("alice")}},
		"an owner who is no member manages service accounts": {
			func(s *gardenerv1beta1.ProjectSpec) { s.Members = nil }, sam, []rbacv1.Subject{user("alice")}},
		"no duplicates": {
			func(s *gardenerv1beta1.ProjectSpec) { s.Members = append(s.Members, s.Members...) }, member, []rbacv1.Subject{user("alice")}},
		"a member with the role owner that is not the owner cannot manage members": {
			func(s *gardenerv1beta1.ProjectSpec) { s.Owner = new(user("bob")) }, own, []rbacv1.Subject{user("bob")}},
		"no owner, no members": {
			func(s *gardenerv1beta1.ProjectSpec) { s.Owner = nil }, own, nil},
		"the API group that Kubernetes would add": {
			func(s *gardenerv1beta1.ProjectSpec) {
				s.Owner = &rbacv1.Subject{Kind: "Group", Name: "team"}
				s.Members = []gardenerv1beta1.ProjectMember{
					{Subject: rbacv1.Subject{Kind: "User", Name: "x"}, Role: "admin"},
					{Subject: rbacv1.Subject{Kind: "ServiceAccount", Namespace: "n", Name: "y"}, Role: "admin"},
				}
			}, member, []rbacv1.Subject{
				{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "team"},
				{APIGroup: rbacv1.GroupName, Kind: "User", Name: "x"},
				{Kind: "ServiceAccount", Namespace: "n", Name: "y"},
			}},
	} {
		t.Run(name, func(t *testing.T) {
			project := testProject("dev")
			test.change(&project.Spec)
			if diff := cmp.Diff(test.want, subjects(project, test.binding)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIsExtensionRoleOf(t *testing.T) {
	project := testProject("dev")
	for name, want := range map[string]bool{
		"gardener.cloud:extension:project:dev:a":     true,
		"gardener.cloud:extension:project:dev-2:a":   false,
		"gardener.cloud:extension:project:prod:a":    false,
		"gardener.cloud:system:project-member:dev:a": false,
		"cluster-admin": false,
	} {
		if got := isExtensionRoleOf(project, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
