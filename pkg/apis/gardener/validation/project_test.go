// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// change is one thing done to a good Project, and fragments of the one error it must lead to; none: it is allowed.
type change struct {
	name   string
	mutate func(*gardenerv1beta1.Project)
	want   []string
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// member returns a member with these roles, as the server stores it.
func member(subject rbacv1.Subject, roles ...string) gardenerv1beta1.ProjectMember {
	m := gardenerv1beta1.ProjectMember{Subject: subject}
	m.SetRoles(roles)
	return m
}

func goodProject() *gardenerv1beta1.Project {
	return &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: "12345678-1234-1234-1234-123456789012", ResourceVersion: "1", Generation: 1},
		Spec: gardenerv1beta1.ProjectSpec{
			CreatedBy:   new(user("alice")),
			Owner:       new(user("alice")),
			Description: new("For the development team."),
			Purpose:     new("development"),
			Members:     []gardenerv1beta1.ProjectMember{member(user("alice"), "admin", "owner")},
			Namespace:   new("garden-dev"),
		},
	}
}

func named(name string, namespace *string) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) {
		p.Name, p.Spec.Namespace = name, namespace
		if namespace == nil { // what the strategy does before the validation
			p.Spec.Namespace = new(gardenerv1beta1.GeneratedNamespace(name, p.UID))
		}
	}
}

func spec(mutate func(*gardenerv1beta1.ProjectSpec)) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) { mutate(&p.Spec) }
}

// whole adds what the generated validation finds, as the server does.
func whole(t *testing.T, errs field.ErrorList, project, old *gardenerv1beta1.Project, subresources ...string) field.ErrorList {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := gardenerv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if old == nil {
		return append(errs, scheme.Validate(t.Context(), nil, project, subresources...)...)
	}
	return append(errs, scheme.ValidateUpdate(t.Context(), nil, project, old, subresources...)...)
}

func expect(t *testing.T, errs field.ErrorList, fragments []string) {
	t.Helper()
	if len(fragments) == 0 {
		if len(errs) != 0 {
			t.Errorf("rejected: %v", errs.ToAggregate())
		}
		return
	}
	if len(errs) != 1 {
		t.Fatalf("%d errors, want exactly one with %q: %v", len(errs), fragments, errs.ToAggregate())
	}
	if !strings.HasPrefix(errs[0].Error(), fragments[0]) {
		t.Errorf("error %q does not start with %q", errs[0], fragments[0])
	}
	for _, fragment := range fragments[1:] {
		if !strings.Contains(errs[0].Error(), fragment) {
			t.Errorf("error %q does not contain %q", errs[0], fragment)
		}
	}
}

// both checks changes at creation, and as updates of a good Project.
func both(t *testing.T, changes []change) {
	for _, tc := range changes {
		t.Run(tc.name, func(t *testing.T) {
			project := goodProject()
			tc.mutate(project)
			expect(t, whole(t, ValidateProject(project), project, nil), tc.want)
			expect(t, whole(t, ValidateProjectUpdate(project, goodProject()), project, goodProject()), tc.want)
		})
	}
}

func TestGoodProject(t *testing.T) {
	both(t, []change{
		{"good", func(*gardenerv1beta1.Project) {}, nil},
		{"annotated", func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{"a": "b"} }, nil},
	})
	empty := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "dev"}}
	expect(t, whole(t, ValidateProject(empty), empty, nil), nil)
}

func TestValidateName(t *testing.T) {
	label := strings.Repeat("a", 63)
	for _, tc := range []change{
		{"short", named("a", nil), nil},
		{"digits first", named("1st-team", nil), nil},
		{"longer than Gardener allows", named("a-name-of-a-team", nil), nil},
		{"50 characters", named(label[:50], nil), nil},
		{"51 characters", named(label[:51], nil), []string{"metadata.name: Too long", "50", "unless spec.namespace is set"}},
		{"51 characters with a namespace", named(label[:51], new("garden-long")), nil},
		{"63 characters with a namespace", named(label, new("garden-long")), nil},
		{"64 characters with a namespace", named(label+"a", new("garden-long")), []string{"metadata.name: Too long", "63"}},
		{"dot", named("my.team", nil), []string{"metadata.name: Invalid value: \"my.team\"", "must not contain dots", "if spec.namespace is set, the name may have dots"}},
		{"dot with a namespace", named("my.team", new("garden-my-team")), nil},
		{"dot with the namespace garden", named("my.team", new("garden")), nil},
		{"dot at the end", named("team.", new("garden-team")), []string{"metadata.name: Invalid value: \"team.\"", "RFC 1123 subdomain"}},
		{"two hyphens", named("my--team", nil), []string{"metadata.name: Invalid value: \"my--team\"", "name may not contain two consecutive hyphens"}},
		{"two hyphens with a namespace", named("my--team", new("garden-my-team")), []string{"metadata.name: Invalid value", "two consecutive hyphens"}},
		{"capital", named("Team", nil), []string{"metadata.name: Invalid value: \"Team\"", "RFC 1123 label"}},
		{"capital with a namespace", named("Team", new("garden-team")), []string{"metadata.name: Invalid value: \"Team\"", "RFC 1123 subdomain"}},
		{"underscore", named("my_team", nil), []string{"metadata.name: Invalid value", "RFC 1123 label"}},
		{"hyphen at the end", named("team-", nil), []string{"metadata.name: Invalid value", "RFC 1123 label"}},
		{"empty", named("", nil), []string{"metadata.name: Invalid value", "RFC 1123 label"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			project := goodProject()
			tc.mutate(project)
			expect(t, whole(t, ValidateProject(project), project, nil), tc.want)
		})
	}
	if errs := validateName(&gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "Team"}}); strings.Contains(errs.ToAggregate().Error(), "dots") {
		t.Errorf("a name without dots has an error about dots: %v", errs)
	}
}

func TestValidateNamespace(t *testing.T) {
	for _, tc := range []change{
		{"garden", named("dev", new("garden")), nil},
		{"with the prefix", named("dev", new("garden-dev")), nil},
		{"63 characters", named("dev", new("garden-"+strings.Repeat("a", 56))), nil},
		{"64 characters", named("dev", new("garden-"+strings.Repeat("a", 57))), []string{"spec.namespace: Invalid value", "no more than 63"}},
		{"the prefix alone", named("dev", new("garden-")), []string{"spec.namespace: Invalid value: \"garden-\"", "RFC 1123 label"}},
		{"system namespace", named("dev", new("kube-system")), []string{"spec.namespace: Invalid value: \"kube-system\"", "must start with garden-"}},
		{"prefix without the hyphen", named("dev", new("gardener")), []string{"spec.namespace: Invalid value", "must start with garden-"}},
		{"prefix in the middle", named("dev", new("my-garden-dev")), []string{"spec.namespace: Invalid value", "must start with garden-"}},
		{"dot", named("dev", new("garden-my.team")), []string{"spec.namespace: Invalid value", "must not contain dots"}},
		{"capital", named("dev", new("garden-Dev")), []string{"spec.namespace: Invalid value", "RFC 1123 label"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			project := goodProject()
			tc.mutate(project)
			expect(t, whole(t, ValidateProject(project), project, nil), tc.want)
			stored := goodProject() // by an importer, before it had a namespace
			stored.Spec.Namespace = nil
			expect(t, whole(t, ValidateProjectUpdate(project, stored), project, stored), tc.want)
		})
	}
}
