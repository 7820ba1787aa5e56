// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const uid = "12345678-1234-1234-1234-123456789012"

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

func member(subject rbacv1.Subject, roles ...string) gardenerv1beta1.ProjectMember {
	m := gardenerv1beta1.ProjectMember{Subject: subject}
	m.SetRoles(roles)
	return m
}

type members = []gardenerv1beta1.ProjectMember

func newProject(spec gardenerv1beta1.ProjectSpec) *gardenerv1beta1.Project {
	return &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: uid}, Spec: spec}
}

func TestPrepareForCreateDefaultsNamespace(t *testing.T) {
	for _, tc := range []struct {
		name, project string
		given         *string
		want          string
	}{
		{"none", "dev", nil, "garden-dev-a3a8e"},
		{"empty", "dev", new(""), "garden-dev-a3a8e"},
		{"generated name", "dev-x7f2k", nil, "garden-dev-x7f2k-a3a8e"},
		{"given", "dev", new("garden-mine"), "garden-mine"},
		{"garden", "dev", new("garden"), "garden"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProject(gardenerv1beta1.ProjectSpec{Namespace: tc.given})
			p.Name = tc.project
			for range 2 {
				Kind().PrepareForCreate(p)
				if p.NamespaceName() != tc.want {
					t.Fatalf("namespace = %q, want %q", p.NamespaceName(), tc.want)
				}
			}
		})
	}
}

// kubectl replace sends the manifest without the fields that the server has set.
func TestPrepareForUpdateRetainsServerFields(t *testing.T) {
	alice, bob := user("alice"), user("bob")
	old := newProject(gardenerv1beta1.ProjectSpec{
		CreatedBy: new(bob), Owner: new(alice), Namespace: new("garden-dev-a3a8e"),
		Members: members{member(bob, "uam"), member(alice, "admin", "owner")},
	})
	for _, tc := range []struct {
		name      string
		old, next gardenerv1beta1.ProjectSpec
		want      gardenerv1beta1.ProjectSpec
	}{
		{"all", old.Spec, gardenerv1beta1.ProjectSpec{Members: members{member(bob, "uam")}}, old.Spec},
		{"an empty namespace", old.Spec, gardenerv1beta1.ProjectSpec{Namespace: new(""), Members: members{member(bob, "uam")}}, old.Spec},
		{"members of the manifest", old.Spec, gardenerv1beta1.ProjectSpec{Members: members{member(alice, "uam")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: new(bob), Owner: new(alice), Namespace: old.Spec.Namespace, Members: members{member(alice, "uam", "owner")}}},
		{"fields of the manifest take precedence", old.Spec, gardenerv1beta1.ProjectSpec{CreatedBy: new(alice), Owner: new(bob), Namespace: new("garden-other"), Members: members{member(bob, "viewer")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: new(alice), Owner: new(bob), Namespace: new("garden-other"), Members: members{member(bob, "viewer", "owner")}}},
		{"an owner who is not a member", gardenerv1beta1.ProjectSpec{Owner: new(alice)}, gardenerv1beta1.ProjectSpec{}, gardenerv1beta1.ProjectSpec{Owner: new(alice)}},
		{"an imported Project without these fields", gardenerv1beta1.ProjectSpec{}, gardenerv1beta1.ProjectSpec{}, gardenerv1beta1.ProjectSpec{}},
		{"the defaults of the garden project", gardenerv1beta1.ProjectSpec{Namespace: new("garden")}, gardenerv1beta1.ProjectSpec{},
			gardenerv1beta1.ProjectSpec{Namespace: new("garden"), Tolerations: &gardenerv1beta1.ProjectTolerations{
				Defaults: []gardenerv1beta1.Toleration{{Key: gardenerv1beta1.SeedProtectedTaint}}, Whitelist: []gardenerv1beta1.Toleration{{Key: gardenerv1beta1.SeedProtectedTaint}}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := newProject(*tc.old.DeepCopy())
			p := newProject(*tc.next.DeepCopy())
			Kind().PrepareForUpdate(p, before)
			if diff := cmp.Diff(tc.want, p.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.old, before.Spec); diff != "" {
				t.Errorf("the old object changed (-want +got):\n%s", diff)
			}
		})
	}
}

// The old object may be shared by the watch cache, or may have been stored before a default existed.
func TestPrepareForUpdateDoesNotChangeOldObject(t *testing.T) {
	spec := gardenerv1beta1.ProjectSpec{
		CreatedBy: &rbacv1.Subject{Kind: "User", Name: "alice"}, Owner: &rbacv1.Subject{Kind: "User", Name: "alice"},
		Members: members{{Subject: rbacv1.Subject{Kind: "User", Name: "alice"}, Roles: []string{"owner", "admin"}}},
	}
	old, p := newProject(*spec.DeepCopy()), newProject(gardenerv1beta1.ProjectSpec{})
	Kind().PrepareForUpdate(p, old)
	p.Spec.Owner.Name, p.Spec.CreatedBy.Name, p.Spec.Members[0].Name = "x", "x", "x"
	if diff := cmp.Diff(spec, old.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPrepareForCreateAddsOwnerRole(t *testing.T) {
	alice, bob := user("alice"), user("bob")
	for _, tc := range []struct {
		name      string
		owner     *rbacv1.Subject
		members   members
		want      members
		rejection string
	}{
		{"no owner", nil, members{member(alice, "admin")}, members{member(alice, "admin")}, ""},
		{"not a member", &alice, members{member(bob, "admin")}, members{member(bob, "admin")}, ""},
		{"a member", &alice, members{member(bob, "admin"), member(alice, "viewer")}, members{member(bob, "admin"), member(alice, "viewer", "owner")}, ""},
		{"a member without roles", &alice, members{{Subject: alice}}, members{member(alice, "viewer", "owner")}, ""},
		{"a member with the role", &alice, members{member(alice, "owner", "uam")}, members{member(alice, "owner", "uam")}, ""},
		{"spelled without its API group", &rbacv1.Subject{Kind: "User", Name: "alice"}, members{member(alice, "uam")}, members{member(alice, "uam", "owner")}, ""},
		{"a service account, as the user of its token", new(account("garden", "robot")), members{member(user("system:serviceaccount:garden:robot"), "uam")},
			members{member(user("system:serviceaccount:garden:robot"), "uam", "owner")}, ""},
		{"a service account of another namespace", new(account("garden", "robot")), members{member(account("other", "robot"), "uam")},
			members{member(account("other", "robot"), "uam")}, ""},
		{"another member has the role", &alice, members{member(alice, "admin"), member(bob, "owner")},
			members{member(alice, "admin", "owner"), member(bob, "owner")}, "spec.members[1].roles: Forbidden: there can only be one owner"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProject(gardenerv1beta1.ProjectSpec{Owner: tc.owner, Members: tc.members})
			for range 2 {
				Kind().PrepareForCreate(p)
				if diff := cmp.Diff(tc.want, p.Spec.Members); diff != "" {
					t.Fatalf("members (-want +got):\n%s", diff)
				}
			}
			verdict(t, Kind().Validate(p).ToAggregate(), tc.rejection)
		})
	}
}

func TestOwnerTransfer(t *testing.T) {
	alice, bob, ops := user("alice"), user("bob"), rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "ops"}
	for _, tc := range []struct {
		name      string
		owner     rbacv1.Subject
		members   members
		want      members
		rejection string
	}{
		{"to a member", bob, members{member(alice, "admin", "owner"), member(bob, "viewer")},
			members{member(alice, "admin"), member(bob, "viewer", "owner")}, ""},
		{"to a member, with the role moved too", bob, members{member(alice, "admin"), member(bob, "owner")},
			members{member(alice, "admin"), member(bob, "owner")}, ""},
		{"to a user who is not a member", ops, members{member(alice, "admin", "owner")}, members{member(alice, "admin")}, ""},
		{"to a new member", ops, members{member(alice, "admin", "owner"), member(ops, "admin", "owner")},
			members{member(alice, "admin"), member(ops, "admin", "owner")}, ""},
		{"the old owner has no other role", bob, members{member(alice, "owner"), member(bob, "admin")},
			members{member(alice, "admin"), member(bob, "admin", "owner")}, ""},
		{"the old owner has lesser roles", bob, members{member(alice, "viewer", "owner", "uam"), member(bob, "admin")},
			members{member(alice, "viewer", "uam", "admin"), member(bob, "admin", "owner")}, ""},
		{"the old owner was made a viewer in the same update", bob, members{member(alice, "viewer"), member(bob, "admin")},
			members{member(alice, "viewer"), member(bob, "admin", "owner")}, ""},
		{"the old owner is removed from the members", bob, members{member(bob, "admin")}, members{member(bob, "admin", "owner")}, ""},
		{"a third member has the role", bob, members{member(alice, "admin", "owner"), member(bob, "viewer"), member(ops, "owner")},
			members{member(alice, "admin"), member(bob, "viewer", "owner"), member(ops, "owner")}, "spec.members[2].roles: Forbidden: there can only be one owner"},
		{"only the role is moved", alice, members{member(alice, "admin"), member(bob, "owner")},
			members{member(alice, "admin", "owner"), member(bob, "owner")}, "spec.members[1].roles: Forbidden: there can only be one owner, the one in spec.owner: to hand the project over, change spec.owner"},
		{"the owner's role is removed", alice, members{member(alice, "admin")}, members{member(alice, "admin", "owner")}, ""},
		{"the same owner, spelled without its API group", rbacv1.Subject{Kind: "User", Name: "alice"}, members{member(alice, "admin", "owner")},
			members{member(alice, "admin", "owner")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old := newProject(gardenerv1beta1.ProjectSpec{
				CreatedBy: new(alice), Owner: new(alice), Namespace: new("garden-dev"), Members: members{member(alice, "admin", "owner"), member(bob, "viewer")},
			})
			p := old.DeepCopy()
			p.Spec.Owner, p.Spec.Members = new(tc.owner), tc.members
			Kind().PrepareForUpdate(p, old)
			if diff := cmp.Diff(tc.want, p.Spec.Members); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			verdict(t, Kind().ValidateUpdate(p, old).ToAggregate(), tc.rejection)
		})
	}
}

// The roles of an owner who does not change are stored as written.
func TestUnchangedOwner(t *testing.T) {
	robot, token := account("garden", "robot"), user("system:serviceaccount:garden:robot")
	for name, owners := range map[string][2]rbacv1.Subject{"untouched": {robot, robot}, "another spelling": {robot, token}} {
		old := newProject(gardenerv1beta1.ProjectSpec{Owner: new(owners[0]), Members: members{member(robot, "owner", "uam")}})
		p := old.DeepCopy()
		p.Spec.Owner = new(owners[1])
		Kind().PrepareForUpdate(p, old)
		if diff := cmp.Diff(old.Spec.Members, p.Spec.Members); diff != "" {
			t.Errorf("%s: members (-want +got):\n%s", name, diff)
		}
	}
}

// A Project that was imported without an owner gets one.
func TestFirstOwner(t *testing.T) {
	alice, bob := user("alice"), user("bob")
	old := newProject(gardenerv1beta1.ProjectSpec{Members: members{member(alice, "owner")}})
	p := old.DeepCopy()
	p.Spec.Owner = new(bob)
	Kind().PrepareForUpdate(p, old)
	verdict(t, Kind().ValidateUpdate(p, old).ToAggregate(), "spec.members[0].roles: Forbidden: there can only be one owner")
}

func TestValidateStatus(t *testing.T) {
	old := newProject(gardenerv1beta1.ProjectSpec{})
	old.Status.Phase = gardenerv1beta1.ProjectReady
	verdict(t, Kind().ValidateStatusUpdate(newProject(gardenerv1beta1.ProjectSpec{}), old).ToAggregate(), "status.phase: Forbidden")
	verdict(t, Kind().ValidateStatusUpdate(old, old).ToAggregate(), "")
}

// verdict compares the error of validation with a prefix of the expected one; "" means that validation succeeds.
func verdict(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error = %v, want none", err)
	case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
		t.Errorf("error = %v, want %q", err, want)
	}
}

func TestClaimedName(t *testing.T) {
	for _, tc := range []struct {
		name   string
		object runtime.Object
		want   string
	}{
		{"a namespace", newProject(gardenerv1beta1.ProjectSpec{Namespace: new("garden-dev")}), "garden-dev"},
		{"none", &gardenerv1beta1.Project{}, ""},
		{"an empty one", newProject(gardenerv1beta1.ProjectSpec{Namespace: new("")}), ""},
		{"of another kind", &corev1.Pod{}, ""},
	} {
		if got := ClaimRule().Name(tc.object); got != tc.want {
			t.Errorf("%s: claims %q, want %q", tc.name, got, tc.want)
		}
	}
}

// A namespace has no slash: no namespace is above or below another one.
func TestClaimSeparator(t *testing.T) {
	if got := ClaimRule().Separator; got != "/" {
		t.Errorf("separator %q: stored claims end with a slash", got)
	}
}

func TestReservationRejected(t *testing.T) {
	err := ClaimRule().Rejection(newProject(gardenerv1beta1.ProjectSpec{Namespace: new("garden-dev")}), "garden-dev")
	want := `projects.core.gardener.cloud "dev" is forbidden: spec.namespace: namespace "garden-dev" is already in-use by another project: choose another one`
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := ClaimRule().Rejection(&corev1.Pod{}, "garden-dev"); !apierrors.IsInternalError(err) {
		t.Errorf("another kind: got %v, want an internal error", err)
	}
}
