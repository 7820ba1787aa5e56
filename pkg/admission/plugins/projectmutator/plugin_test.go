// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package projectmutator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func human(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func robot(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

func member(subject rbacv1.Subject, roles ...string) gardenerv1beta1.ProjectMember {
	m := gardenerv1beta1.ProjectMember{Subject: subject}
	m.SetRoles(roles)
	return m
}

type members = []gardenerv1beta1.ProjectMember

var projects = gardenerv1beta1.SchemeGroupVersion.WithResource("projects")

// request returns a request of a user for a resource.
func request(o runtime.Object, resource schema.GroupVersionResource, subresource string, operation admission.Operation, username string) admission.Attributes {
	return admission.NewAttributesRecord(o, nil, gardenerv1beta1.SchemeGroupVersion.WithKind("Project"), "", "dev", resource, subresource,
		operation, nil, false, &user.DefaultInfo{Name: username, Groups: []string{"system:authenticated"}})
}

func TestCreate(t *testing.T) {
	alice, bob := human("alice"), human("bob")
	for _, tc := range []struct {
		name, user string
		spec, want gardenerv1beta1.ProjectSpec
	}{
		{"nothing given", "alice", gardenerv1beta1.ProjectSpec{},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &alice, Members: members{member(alice, "admin", "owner")}}},
		{"a creator given", "alice", gardenerv1beta1.ProjectSpec{CreatedBy: &bob},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &alice, Members: members{member(alice, "admin", "owner")}}},
		{"by a service account", "system:serviceaccount:garden:robot", gardenerv1beta1.ProjectSpec{},
			gardenerv1beta1.ProjectSpec{CreatedBy: new(robot("garden", "robot")), Owner: new(robot("garden", "robot")),
				Members: members{member(robot("garden", "robot"), "admin", "owner")}}},
		{"by a user whose name only looks like that of a service account", "system:serviceaccount:garden", gardenerv1beta1.ProjectSpec{},
			gardenerv1beta1.ProjectSpec{CreatedBy: new(human("system:serviceaccount:garden")), Owner: new(human("system:serviceaccount:garden")),
				Members: members{member(human("system:serviceaccount:garden"), "admin", "owner")}}},
		{"an owner given", "alice", gardenerv1beta1.ProjectSpec{Owner: &bob, Members: members{member(alice, "uam")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &bob, Members: members{member(alice, "uam"), member(bob, "admin", "owner")}}},
		{"an owner given who is a member", "alice", gardenerv1beta1.ProjectSpec{Owner: &bob, Members: members{member(bob, "viewer")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &bob, Members: members{member(bob, "viewer")}}},
		{"members without an owner", "alice", gardenerv1beta1.ProjectSpec{Members: members{member(bob, "admin")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &alice, Members: members{member(bob, "admin"), member(alice, "admin", "owner")}}},
		{"the creator is a member", "alice", gardenerv1beta1.ProjectSpec{Members: members{member(alice, "viewer")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &alice, Members: members{member(alice, "viewer")}}},
		{"the creator is a member, as the user of its token", "system:serviceaccount:garden:robot",
			gardenerv1beta1.ProjectSpec{Members: members{member(human("system:serviceaccount:garden:robot"), "viewer")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: new(robot("garden", "robot")), Owner: new(robot("garden", "robot")),
				Members: members{member(human("system:serviceaccount:garden:robot"), "viewer")}}},
		{"a member with the role owner", "alice", gardenerv1beta1.ProjectSpec{Members: members{member(alice, "admin"), member(bob, "viewer", "owner")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &bob, Members: members{member(alice, "admin"), member(bob, "viewer", "owner")}}},
		{"two members with the role owner, for validation to reject", "carol", gardenerv1beta1.ProjectSpec{Members: members{member(alice, "owner"), member(bob, "owner")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: new(human("carol")), Owner: &alice, Members: members{member(alice, "owner"), member(bob, "owner")}}},
		{"an owner given and another member with the role, for validation to reject", "alice", gardenerv1beta1.ProjectSpec{Owner: &alice, Members: members{member(bob, "owner")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &alice, Members: members{member(bob, "owner"), member(alice, "admin", "owner")}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			project := &gardenerv1beta1.Project{Spec: *tc.spec.DeepCopy()}
			for range 2 { // a webhook that changes the object makes the server call the plugin again
				if err := New().Admit(t.Context(), request(project, projects, "", admission.Create, tc.user), nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, project.Spec); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

// Three fields hold the same subject. A later change of one must not change the others.
func TestSubjectsAreNotShared(t *testing.T) {
	project := &gardenerv1beta1.Project{}
	if err := New().Admit(t.Context(), request(project, projects, "", admission.Create, "alice"), nil); err != nil {
		t.Fatal(err)
	}
	project.Spec.Owner.Name = "bob"
	if project.Spec.CreatedBy.Name != "alice" || project.Spec.Members[0].Name != "alice" {
		t.Errorf("creator %s, member %s", project.Spec.CreatedBy.Name, project.Spec.Members[0].Name)
	}
}

func TestUpdate(t *testing.T) {
	alice, bob := human("alice"), human("bob")
	for _, tc := range []struct {
		name       string
		spec, want gardenerv1beta1.ProjectSpec
	}{
		{"neither creator nor owner, which the strategy carries over", gardenerv1beta1.ProjectSpec{Members: members{member(bob, "owner")}},
			gardenerv1beta1.ProjectSpec{Members: members{member(bob, "owner")}}},
		{"creator", gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &alice, Members: members{member(alice, "owner")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &alice, Members: members{member(alice, "owner")}}},
		{"an owner who is not a member", gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &bob, Members: members{member(alice, "admin", "owner")}},
			gardenerv1beta1.ProjectSpec{CreatedBy: &alice, Owner: &bob, Members: members{member(alice, "admin", "owner"), member(bob, "admin", "owner")}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			project := &gardenerv1beta1.Project{Spec: *tc.spec.DeepCopy()}
			if err := New().Admit(t.Context(), request(project, projects, "", admission.Update, "carol"), nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, project.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestIgnoresOtherRequests(t *testing.T) {
	for _, tc := range []struct {
		name        string
		object      runtime.Object
		resource    schema.GroupVersionResource
		subresource string
	}{
		{"status", &gardenerv1beta1.Project{}, projects, "status"},
		{"another resource of the group", &gardenerv1beta1.Project{}, gardenerv1beta1.SchemeGroupVersion.WithResource("shoots"), ""},
		{"projects of another group", &gardenerv1beta1.Project{}, schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "projects"}, ""},
		{"another kind", &corev1.Pod{}, corev1.SchemeGroupVersion.WithResource("pods"), ""},
	} {
		before := tc.object.DeepCopyObject()
		for _, operation := range []admission.Operation{admission.Create, admission.Update} {
			if err := New().Admit(t.Context(), request(tc.object, tc.resource, tc.subresource, operation, "alice"), nil); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
		}
		if diff := cmp.Diff(before, tc.object); diff != "" {
			t.Errorf("%s was changed (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestAnotherTypeIsAnError(t *testing.T) {
	err := New().Admit(t.Context(), request(&corev1.Pod{}, projects, "", admission.Create, "alice"), nil)
	if !apierrors.IsInternalError(err) {
		t.Errorf("got %v, want an internal error", err)
	}
}

func TestOperations(t *testing.T) {
	for operation, want := range map[admission.Operation]bool{admission.Create: true, admission.Update: true, admission.Delete: false, admission.Connect: false} {
		if got := New().Handles(operation); got != want {
			t.Errorf("handles %s: %v, want %v", operation, got, want)
		}
	}
}
