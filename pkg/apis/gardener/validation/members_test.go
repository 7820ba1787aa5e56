// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func add(members ...gardenerv1beta1.ProjectMember) func(*gardenerv1beta1.Project) {
	return spec(func(s *gardenerv1beta1.ProjectSpec) { s.Members = append(s.Members, members...) })
}

func TestValidateMembers(t *testing.T) {
	both(t, []change{
		{"none", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Members = nil }), nil},
		{"one of each kind", add(member(user("bob"), "viewer"), member(group("bob"), "uam"), member(account("garden-dev", "bob"), "admin")), nil},
		{"service accounts of two namespaces", add(member(account("a", "robot"), "viewer"), member(account("b", "robot"), "viewer")), nil},
		{"user twice", add(member(user("bob"), "viewer"), member(user("bob"), "admin")), []string{"spec.members[2]: Duplicate value", "bob"}},
		{"the good one again", add(member(user("alice"), "viewer")), []string{"spec.members[1]: Duplicate value", "alice"}},
		{"group twice", add(member(group("ops"), "viewer"), member(group("ops"), "viewer")), []string{"spec.members[2]: Duplicate value", "ops"}},
		{"service account twice", add(member(account("a", "robot"), "viewer"), member(account("a", "robot"), "viewer")), []string{"spec.members[2]: Duplicate value", "robot"}},
		{"service account, then the user of its token", add(member(account("a", "robot"), "viewer"), member(user("system:serviceaccount:a:robot"), "viewer")),
			[]string{"spec.members[2]: Duplicate value", "system:serviceaccount:a:robot"}},
		{"the user of a token, then the service account", add(member(user("system:serviceaccount:a:robot"), "viewer"), member(account("a", "robot"), "viewer")),
			[]string{"spec.members[2]: Duplicate value", "robot"}},
		{"the users of two tokens", add(member(user("system:serviceaccount:a:robot"), "viewer"), member(user("system:serviceaccount:b:robot"), "viewer")), nil},
	})
}

func TestValidateOwner(t *testing.T) {
	oneOwner := "there can only be one owner, the one in spec.owner: to hand the project over, change spec.owner"
	both(t, []change{
		{"second owner", add(member(user("bob"), "owner")), []string{"spec.members[1].roles: Forbidden", oneOwner}},
		{"second owner among other roles", add(member(user("bob"), "viewer", "uam", "owner")), []string{"spec.members[1].roles: Forbidden", oneOwner}},
		{"second owner before the first", spec(func(s *gardenerv1beta1.ProjectSpec) {
			s.Members = append([]gardenerv1beta1.ProjectMember{member(user("bob"), "owner")}, s.Members...)
		}), []string{"spec.members[0].roles: Forbidden", oneOwner}},
		{"role owner of another than the owner", spec(func(s *gardenerv1beta1.ProjectSpec) {
			s.Members = []gardenerv1beta1.ProjectMember{member(user("alice"), "admin"), member(user("bob"), "owner")}
		}), []string{"spec.members[1].roles: Forbidden", oneOwner}},
		{"group called as the owner", add(member(group("alice"), "owner")), []string{"spec.members[1].roles: Forbidden"}},
		{"owner that is a service account, member as the user of its token", spec(func(s *gardenerv1beta1.ProjectSpec) {
			s.Owner, s.Members = new(account("a", "robot")), []gardenerv1beta1.ProjectMember{member(user("system:serviceaccount:a:robot"), "owner")}
		}), nil},
		{"owner that is no member", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Owner, s.Members = new(user("bob")), nil }), nil},
		{"owner without API group", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Owner.APIGroup = "" }), []string{"spec.owner.apiGroup: Unsupported value"}},
		{"owner without name", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Owner.Name, s.Members = "", nil }), []string{"spec.owner.name: Required value"}},
	})
	for _, tc := range []change{
		{"no owner yet", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Owner = nil }), nil},
		{"no owner yet, two members with the role", spec(func(s *gardenerv1beta1.ProjectSpec) {
			s.Owner, s.Members = nil, append(s.Members, member(user("bob"), "owner"))
		}), []string{"spec.members[1].roles: Forbidden", oneOwner}},
		{"creator without API group", spec(func(s *gardenerv1beta1.ProjectSpec) { s.CreatedBy.APIGroup = "" }), []string{"spec.createdBy.apiGroup: Unsupported value"}},
		{"creator that is a service account", spec(func(s *gardenerv1beta1.ProjectSpec) { s.CreatedBy = new(account("a", "robot")) }), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			project := goodProject()
			tc.mutate(project)
			expect(t, ValidateProject(project), tc.want)
		})
	}
}

func TestValidateRoles(t *testing.T) {
	bob := user("bob")
	var all []change
	for _, role := range []string{"admin", "viewer", "uam", "serviceaccountmanager", "extension:x", "extension:" + strings.Repeat("x", 20), "extension:my_role.v1-2"} {
		all = append(all, change{role, add(member(bob, role)), nil}, change{"second " + role, add(member(bob, "viewer", role)), nil})
	}
	both(t, append(all, []change{
		{"unknown", add(member(bob, "king")), []string{"spec.members[1].role: Unsupported value: \"king\"",
			`"owner"`, `"admin"`, `"viewer"`, `"uam"`, `"serviceaccountmanager"`, `"extension:*"`}},
		{"unknown further role", add(member(bob, "admin", "viewer", "king")), []string{"spec.members[1].roles[1]: Unsupported value: \"king\"", `"admin"`}},
		{"another case", add(member(bob, "Admin")), []string{"spec.members[1].role: Unsupported value: \"Admin\""}},
		{"extension without name", add(member(bob, "extension:")), []string{"spec.members[1].role: Invalid value: \"extension:\"", "name of the extension is missing"}},
		{"extension without colon", add(member(bob, "extension")), []string{"spec.members[1].role: Unsupported value: \"extension\""}},
		{"extension of 21 characters", add(member(bob, "viewer", "extension:"+strings.Repeat("x", 21))), []string{"spec.members[1].roles[0]: Too long", "30"}},
		{"extension with a slash", add(member(bob, "extension:a/b")), []string{"spec.members[1].role: Invalid value: \"extension:a/b\"", "alphanumeric"}},
		{"extension with a percent sign", add(member(bob, "extension:a%b")), []string{"spec.members[1].role: Invalid value"}},
		{"extension that is a dot", add(member(bob, "extension:.")), []string{"spec.members[1].role: Invalid value"}},
		{"extension that is two dots", add(member(bob, "extension:..")), []string{"spec.members[1].role: Invalid value"}},
	}...))
}

func TestValidateSubject(t *testing.T) {
	but := func(subject rbacv1.Subject, mutate func(*rbacv1.Subject)) func(*gardenerv1beta1.Project) {
		mutate(&subject)
		return add(member(subject, "viewer"))
	}
	both(t, []change{
		{"user with any name", add(member(user("Bob (ops) <bob@example.org>"), "viewer")), nil},
		{"user without name", but(user(""), func(*rbacv1.Subject) {}), []string{"spec.members[1].name: Required value"}},
		{"user with a namespace", but(user("bob"), func(s *rbacv1.Subject) { s.Namespace = "a" }), []string{"spec.members[1].namespace: Forbidden", "users and groups have no namespace"}},
		{"user without API group", but(user("bob"), func(s *rbacv1.Subject) { s.APIGroup = "" }), []string{"spec.members[1].apiGroup: Unsupported value: \"\"", `"rbac.authorization.k8s.io"`}},
		{"user with another API group", but(user("bob"), func(s *rbacv1.Subject) { s.APIGroup = "x" }), []string{"spec.members[1].apiGroup: Unsupported value: \"x\"", `"rbac.authorization.k8s.io"`}},
		{"group without name", but(group(""), func(*rbacv1.Subject) {}), []string{"spec.members[1].name: Required value"}},
		{"group with a namespace", but(group("ops"), func(s *rbacv1.Subject) { s.Namespace = "a" }), []string{"spec.members[1].namespace: Forbidden"}},
		{"group without API group", but(group("ops"), func(s *rbacv1.Subject) { s.APIGroup = "" }), []string{"spec.members[1].apiGroup: Unsupported value"}},
		{"service account without namespace", but(account("", "robot"), func(*rbacv1.Subject) {}), []string{"spec.members[1].namespace: Required value", "needs its namespace"}},
		{"service account with a bad namespace", but(account("a.b", "robot"), func(*rbacv1.Subject) {}), []string{"spec.members[1].namespace: Invalid value: \"a.b\""}},
		{"service account with an API group", but(account("a", "robot"), func(s *rbacv1.Subject) { s.APIGroup = rbacv1.GroupName }), []string{"spec.members[1].apiGroup: Unsupported value"}},
		{"service account without name", but(account("a", ""), func(*rbacv1.Subject) {}), []string{"spec.members[1].name: Required value"}},
		{"service account with a bad name", but(account("a", "Robot"), func(*rbacv1.Subject) {}), []string{"spec.members[1].name: Invalid value: \"Robot\""}},
		{"service account with dots", but(account("a", "robot.ci"), func(*rbacv1.Subject) {}), nil},
		{"another kind", but(user("bob"), func(s *rbacv1.Subject) { s.Kind = "Robot" }), []string{"spec.members[1].kind: Unsupported value: \"Robot\"", `"ServiceAccount"`, `"User"`, `"Group"`}},
		{"no kind", but(user("bob"), func(s *rbacv1.Subject) { s.Kind = "" }), []string{"spec.members[1].kind: Unsupported value"}},
	})
}
