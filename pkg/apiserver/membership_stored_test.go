// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/membership"
)

// TestStoredMembersDecide checks that a server whose watch cache is behind authorizes a user who was removed, and that the storage
// decides with the stored object.
func TestStoredMembersDecide(t *testing.T) {
	m := newMembers(t)
	m.create(t, "dev", newMember("anna", "admin"))
	if err := m.change(t, "anna", "dev", func(p *gardenerv1beta1.Project) { p.Spec.Members = nil }); err != nil {
		t.Fatal(err)
	}
	if err := m.change(t, "anna", "dev", func(p *gardenerv1beta1.Project) { p.Spec.Purpose = new("taken over") }); !apierrors.IsForbidden(err) {
		t.Errorf("update: %v", err)
	}
	if _, err := m.Get(request(t, "anna", "get", "dev"), "dev", &metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("get: %v", err)
	}
	if _, _, err := m.Delete(request(t, "anna", "delete", "dev"), "dev", nil, &metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("delete: %v", err)
	}
	stored, err := m.Get(request(t, "root", "get", "dev"), "dev", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if project := stored.(*gardenerv1beta1.Project); project.Spec.Purpose != nil || project.DeletionTimestamp != nil {
		t.Errorf("a removed member changed it: %+v", project)
	}
}

// TestStoredMembersDecideInAdmission checks that the custom verbs that admission requires for a change are decided with the stored
// Project, whatever the watch cache has.
func TestStoredMembersDecideInAdmission(t *testing.T) {
	m := newMembers(t)
	before := m.create(t, "dev", newMember("anna", "admin", "uam"))
	if err := m.change(t, "root", "dev", func(p *gardenerv1beta1.Project) { p.Spec.Members[0].SetRoles([]string{"admin"}) }); err != nil {
		t.Fatal(err)
	}
	behind := membership.NewAuthorizer(openRBAC{}, func(context.Context, string) (*gardenerv1beta1.Project, error) { return before, nil })
	for name, want := range map[string]authorizer.Decision{"dev": authorizer.DecisionNoOpinion, "other": authorizer.DecisionAllow} {
		var last authorizer.Decision // an update that begins with the object in the watch cache is validated again with the stored one
		review := func(ctx context.Context, _, _ runtime.Object) (err error) {
			last, _, err = behind.Authorize(ctx, authorizer.AttributesRecord{
				User: &user.DefaultInfo{Name: "anna"}, Verb: gardenerv1beta1.VerbManageMembers, APIGroup: "core.gardener.cloud", APIVersion: "v1beta1",
				Resource: "projects", Name: name, ResourceRequest: true,
			})
			return err
		}
		next := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			project := old.DeepCopyObject().(*gardenerv1beta1.Project)
			project.Spec.Description = new("for " + name)
			return project, nil
		})
		if _, _, err := m.Update(request(t, "anna", "update", "dev"), "dev", next, nil, review, false, &metav1.UpdateOptions{}); err != nil || last != want {
			t.Errorf("anna may manage the members of %s: %v, %v; want %v", name, last, err, want)
		}
	}
}
