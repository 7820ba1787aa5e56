// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

func decode(t *testing.T, manifest string) *Project {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object, err := runtime.Decode(serializer.NewCodecFactory(scheme).UniversalDecoder(SchemeGroupVersion), []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return object.(*Project)
}

func TestDecodeDefaults(t *testing.T) {
	const header = "apiVersion: core.gardener.cloud/v1beta1\nkind: Project\nmetadata: {name: dev}\n"
	group := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "ops"}
	protected, protectedTrue := Toleration{Key: "seed.gardener.cloud/protected"}, Toleration{Key: "seed.gardener.cloud/protected", Value: new("true")}
	other := Toleration{Key: "other"}
	for _, tc := range []struct {
		name, manifest string
		want           ProjectSpec
	}{
		{"nothing", "", ProjectSpec{}},
		{"owner", `spec: {owner: {kind: User, name: alice}}`, ProjectSpec{Owner: new(user("alice"))}},
		{"owner that is a group", `spec: {owner: {kind: Group, name: ops}}`, ProjectSpec{Owner: &group}},
		{"owner that is a service account", `spec: {owner: {kind: ServiceAccount, name: robot, namespace: garden}}`,
			ProjectSpec{Owner: new(account("garden", "robot"))}},
		{"API groups that are wrong stay, for validation to reject", `
spec:
  owner: {kind: User, name: alice, apiGroup: x}
  members: [{kind: ServiceAccount, name: robot, namespace: garden, apiGroup: rbac.authorization.k8s.io, role: admin}, {kind: Robot, name: r2, role: admin}]
`, ProjectSpec{
			Owner: &rbacv1.Subject{APIGroup: "x", Kind: "User", Name: "alice"},
			Members: []ProjectMember{
				{Subject: rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "ServiceAccount", Name: "robot", Namespace: "garden"}, Role: "admin"},
				{Subject: rbacv1.Subject{Kind: "Robot", Name: "r2"}, Role: "admin"},
			},
		}},
		{"members", `
spec:
  members:
  - {kind: User, name: alice}
  - {kind: Group, name: ops, roles: [uam, admin, uam]}
  - {kind: ServiceAccount, name: robot, namespace: garden, role: admin, roles: [admin, "extension:x"]}
`, ProjectSpec{Members: []ProjectMember{
			{Subject: user("alice"), Role: "viewer"},
			{Subject: group, Role: "uam", Roles: []string{"admin"}},
			{Subject: account("garden", "robot"), Role: "admin", Roles: []string{"extension:x"}},
		}}},
		{"the creator is the server's", `spec: {createdBy: {kind: User, name: alice}}`, ProjectSpec{CreatedBy: &rbacv1.Subject{Kind: "User", Name: "alice"}}},

		{"garden", `spec: {namespace: garden}`,
			ProjectSpec{Namespace: new("garden"), Tolerations: &ProjectTolerations{Defaults: []Toleration{protected}, Whitelist: []Toleration{protected}}}},
		{"garden with tolerations", `spec: {namespace: garden, tolerations: {defaults: [{key: other}], whitelist: [{key: other}]}}`,
			ProjectSpec{Namespace: new("garden"), Tolerations: &ProjectTolerations{Defaults: []Toleration{other, protected}, Whitelist: []Toleration{other, protected}}}},
		{"garden that has it", `spec: {namespace: garden, tolerations: {whitelist: [{key: seed.gardener.cloud/protected}, {key: other}]}}`,
			ProjectSpec{Namespace: new("garden"), Tolerations: &ProjectTolerations{Defaults: []Toleration{protected}, Whitelist: []Toleration{protected, other}}}},
		{"garden that has it for one value", `spec: {namespace: garden, tolerations: {whitelist: [{key: seed.gardener.cloud/protected, value: "true"}]}}`,
			ProjectSpec{Namespace: new("garden"), Tolerations: &ProjectTolerations{Defaults: []Toleration{protected}, Whitelist: []Toleration{protectedTrue, protected}}}},
		{"another namespace", `spec: {namespace: garden-dev}`, ProjectSpec{Namespace: new("garden-dev")}},

		{"dual approval", `spec: {dualApprovalForDeletion: [{resource: klusters}, {resource: shoots, includeServiceAccounts: false}]}`,
			ProjectSpec{DualApprovalForDeletion: []DualApprovalForDeletion{
				{Resource: "klusters", IncludeServiceAccounts: new(true)}, {Resource: "shoots", IncludeServiceAccounts: new(false)},
			}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			project := decode(t, header+tc.manifest)
			if diff := cmp.Diff(tc.want, project.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			NormalizeProject(project)
			if diff := cmp.Diff(tc.want, project.Spec); diff != "" {
				t.Errorf("normalized again: -want +got:\n%s", diff)
			}
		})
	}
}

// FuzzNormalize finds Projects that a second pass would change.
func FuzzNormalize(f *testing.F) {
	f.Add("User", "", "viewer", "uam", "uam", "garden", "seed.gardener.cloud/protected", true)
	f.Add("Group", "x", "", "", "admin", "garden-dev", "", false)
	f.Add("ServiceAccount", "", "", "", "", "", "other", true)
	f.Add("", "rbac.authorization.k8s.io", "owner", "", "owner", "garden", "seed.gardener.cloud/protected", false)
	f.Fuzz(func(t *testing.T, kind, apiGroup, role, first, second, namespace, key string, valued bool) {
		subject := rbacv1.Subject{APIGroup: apiGroup, Kind: kind, Name: "x"}
		toleration := Toleration{Key: key}
		if valued {
			toleration.Value = &role
		}
		project := &Project{Spec: ProjectSpec{
			Owner:       &subject,
			Members:     []ProjectMember{{Subject: subject, Role: role, Roles: []string{first, second}}},
			Namespace:   &namespace,
			Tolerations: &ProjectTolerations{Defaults: []Toleration{toleration}, Whitelist: []Toleration{toleration, {Key: first}}},
		}}
		NormalizeProject(project)
		once := project.DeepCopy()
		NormalizeProject(project)
		if diff := cmp.Diff(once, project); diff != "" {
			t.Errorf("normalizing twice: -once +twice:\n%s", diff)
		}
		if project.Spec.Members[0].Role == "" {
			t.Errorf("a member has no role: %+v", project.Spec.Members[0])
		}
	})
}

// Two Projects must not share what a default points to.
func TestDefaultsAreNotShared(t *testing.T) {
	fresh := func() *Project {
		project := &Project{Spec: ProjectSpec{Namespace: new("garden"), DualApprovalForDeletion: []DualApprovalForDeletion{{}}}}
		NormalizeProject(project)
		return project
	}
	first, second := fresh(), fresh()
	*first.Spec.DualApprovalForDeletion[0].IncludeServiceAccounts = false
	first.Spec.Tolerations.Defaults[0].Key, first.Spec.Tolerations.Whitelist[0].Key = "x", "y"
	if diff := cmp.Diff(fresh(), second); diff != "" {
		t.Errorf("a change of one project changed another: -want +got:\n%s", diff)
	}
	if first.Spec.Tolerations.Defaults[0].Key == first.Spec.Tolerations.Whitelist[0].Key {
		t.Error("the two lists of tolerations share their items")
	}
}
