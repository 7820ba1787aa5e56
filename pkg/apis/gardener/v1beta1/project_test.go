// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
)

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

func TestRoles(t *testing.T) {
	for _, tc := range []struct {
		name  string
		role  string
		roles []string
		all   []string
		// first and rest are the role and the roles after SetRoles(AllRoles()).
		first string
		rest  []string
	}{
		{"none", "", nil, []string{}, "viewer", nil},
		{"role alone", "admin", nil, []string{"admin"}, "admin", nil},
		{"roles alone", "", []string{"uam", "admin"}, []string{"uam", "admin"}, "uam", []string{"admin"}},
		{"role first", "viewer", []string{"uam", "admin"}, []string{"viewer", "uam", "admin"}, "viewer", []string{"uam", "admin"}},
		{"role repeated in roles", "viewer", []string{"viewer"}, []string{"viewer"}, "viewer", nil},
		{"role repeated behind another", "viewer", []string{"uam", "viewer"}, []string{"viewer", "uam"}, "viewer", []string{"uam"}},
		{"roles repeated", "", []string{"uam", "uam", "admin", "uam"}, []string{"uam", "admin"}, "uam", []string{"admin"}},
		{"empty roles are none", "", []string{"", ""}, []string{}, "viewer", nil},
		{"an empty role among others", "", []string{"", "admin", "", "uam"}, []string{"admin", "uam"}, "admin", []string{"uam"}},
		{"unknown roles stay, for validation to reject", "king", []string{"extension:x"}, []string{"king", "extension:x"}, "king", []string{"extension:x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			member := ProjectMember{Role: tc.role, Roles: tc.roles}
			if diff := cmp.Diff(tc.all, member.AllRoles()); diff != "" {
				t.Errorf("all roles (-want +got):\n%s", diff)
			}
			for range 2 {
				member.SetRoles(member.AllRoles())
				if diff := cmp.Diff(ProjectMember{Role: tc.first, Roles: tc.rest}, member); diff != "" {
					t.Fatalf("stored (-want +got):\n%s", diff)
				}
			}
			for _, role := range tc.all {
				if !member.HasRole(role) {
					t.Errorf("the member does not have the role %s", role)
				}
			}
			if member.HasRole("unassigned") {
				t.Error("HasRole(unassigned) = true, want false")
			}
		})
	}
}

// TestRolesAreNotShared checks that changes to the roles that a caller passed or received do not affect the member.
func TestRolesAreNotShared(t *testing.T) {
	member := ProjectMember{Role: "admin", Roles: []string{"uam", "viewer"}}
	_ = append(member.AllRoles()[:1], "x", "y")
	given := []string{"admin", "uam", "viewer"}
	member.SetRoles(given)
	given[1] = "owner"
	if diff := cmp.Diff(ProjectMember{Role: "admin", Roles: []string{"uam", "viewer"}}, member); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Gardener's clients read role of every member, also of one that was never defaulted.
func TestRoleIsAlwaysEmitted(t *testing.T) {
	data, err := json.Marshal(ProjectMember{Subject: user("alice")})
	if err != nil || !strings.Contains(string(data), `"role":""`) || strings.Contains(string(data), `"roles"`) {
		t.Errorf("got %s, %v", data, err)
	}
}

func TestSameSubject(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b rbacv1.Subject
		same bool
	}{
		{"one user", user("alice"), user("alice"), true},
		{"two users", user("alice"), user("bob"), false},
		{"user without its API group", user("alice"), rbacv1.Subject{Kind: "User", Name: "alice"}, true},
		{"user and group of one name", user("alice"), rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "alice"}, false},
		{"one service account", account("garden", "robot"), account("garden", "robot"), true},
		{"service accounts of two namespaces", account("garden", "robot"), account("default", "robot"), false},
		{"service account and the user of its token", account("garden", "robot"), user("system:serviceaccount:garden:robot"), true},
		{"service account and the user of another's token", account("garden", "robot"), user("system:serviceaccount:default:robot"), false},
		{"group that is called as the user of a token", account("garden", "robot"),
			rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:serviceaccount:garden:robot"}, false},
		{"user whose name only starts like that of a token", user("system:serviceaccount:garden"), account("garden", ""), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if SameSubject(tc.a, tc.b) != tc.same || SameSubject(tc.b, tc.a) != tc.same {
				t.Errorf("%v and %v: the same = %v, want %v", tc.a, tc.b, !tc.same, tc.same)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	for _, tc := range []struct{ subject, want rbacv1.Subject }{
		{user("alice"), rbacv1.Subject{Kind: "User", Name: "alice"}},
		{user("system:serviceaccount:garden:robot"), account("garden", "robot")},
		{user("system:serviceaccount:garden"), rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:garden"}},
		{account("garden", "robot"), account("garden", "robot")},
	} {
		got := Identity(tc.subject)
		if got != tc.want || Identity(got) != tc.want {
			t.Errorf("%v: got %v, then %v, want %v", tc.subject, got, Identity(got), tc.want)
		}
	}
}

func TestMemberIndex(t *testing.T) {
	spec := &ProjectSpec{Members: []ProjectMember{
		{Subject: user("alice")}, {Subject: user("system:serviceaccount:garden:robot")}, {Subject: user("carol")},
	}}
	for subject, want := range map[rbacv1.Subject]int{
		user("alice"): 0, account("garden", "robot"): 1, user("carol"): 2, user("dave"): -1, account("other", "robot"): -1,
	} {
		if got := spec.MemberIndex(subject); got != want {
			t.Errorf("%v is member %d, want %d", subject, got, want)
		}
	}
}

// The digits are the start of `printf %s "$uid" | sha256sum`. A namespace that was claimed keeps its name, so these
// can never change.
func TestGeneratedNamespace(t *testing.T) {
	for _, tc := range []struct {
		name string
		uid  types.UID
		want string
	}{
		{"dev", "00000000-0000-4000-8000-000000000001", "garden-dev-11e59"},
		{"dev", "12345678-1234-1234-1234-123456789012", "garden-dev-a3a8e"},
		{"my-team", "12345678-1234-1234-1234-123456789012", "garden-my-team-a3a8e"},
	} {
		if got := GeneratedNamespace(tc.name, tc.uid); got != tc.want {
			t.Errorf("%s of uid %s: got %s, want %s", tc.name, tc.uid, got, tc.want)
		}
	}
}

func TestNamespaceName(t *testing.T) {
	for _, tc := range []struct {
		namespace *string
		want      string
	}{{nil, ""}, {new(""), ""}, {new("garden-dev"), "garden-dev"}} {
		if got := (&Project{Spec: ProjectSpec{Namespace: tc.namespace}}).NamespaceName(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
