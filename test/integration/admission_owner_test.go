// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestStatusUpdateKeepsMembers checks that users with permission to write the status cannot change the spec by it.
func TestStatusUpdateKeepsMembers(t *testing.T) {
	t.Parallel()
	project, stan := newProject(t, "status", olivia()), name(t, "stan")
	ready(t, project)
	granted(t, project.Name, []string{"get", "patch", "update"}, stan)
	c, before := as(t, stan), project.Spec.DeepCopy()
	body := fmt.Sprintf(`{"spec":{"owner":{"kind":"User","name":%q},"members":[{"kind":"User","name":%[1]q,"role":"owner"}],
		"tolerations":{"whitelist":[{"key":"seed"}]}},"status":{"lastActivityTimestamp":"2026-01-02T03:04:05Z"}}`, stan)
	accepted(t, c.Status().Patch(t.Context(), project, mergePatch(body)))
	if diff := cmp.Diff(*before, project.Spec); diff != "" || project.Status.LastActivityTimestamp == nil {
		t.Errorf("the status is %+v, the spec (-want +got):\n%s", project.Status, diff)
	}
	mustRemove(t, project)
}

// TestOwnersHandOver checks that an owner can transfer the project without the verb that owners usually have, and that the request
// can neither make another user an owner nor add members.
func TestOwnersHandOver(t *testing.T) {
	t.Parallel()
	oscar, anna, group := name(t, "oscar"), name(t, "anna"), name(t, "owners")
	for what, test := range map[string]struct {
		owner  gardenerv1beta1.ProjectMember
		groups []string
	}{"a user": {member("User", oscar, "owner"), nil}, "a member of a group": {member("Group", group, "owner"), []string{group}}} {
		t.Run(what, func(t *testing.T) {
			// Paused, it grants no role: what oscar and anna have is what they are granted here.
			project := &gardenerv1beta1.Project{
				ObjectMeta: metav1.ObjectMeta{Name: name(t, "handover"), Annotations: map[string]string{"groundskeeper.io/paused": "true"}},
				Spec:       gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{test.owner, member("User", anna, "viewer")}},
			}
			if err := admin(t).Create(t.Context(), project); err != nil {
				t.Fatal(err)
			}
			granted(t, project.Name, []string{"get", "patch", "update"}, oscar, anna)
			asOscar, asAnna := as(t, oscar, test.groups...), as(t, anna)
			owner := func(user string) client.Patch {
				return mergePatch(fmt.Sprintf(`{"spec":{"owner":{"kind":"User","name":%q}}}`, user))
			}
			rejected(t, asAnna.Patch(t.Context(), copyOf(project), owner(anna)), manageMembers, "spec.owner")
			rejected(t, asOscar.Patch(t.Context(), copyOf(project), mergePatch(`{"spec":{"members":[]}}`)), manageMembers, "spec.members")
			accepted(t, asOscar.Patch(t.Context(), project, owner("bob"), client.DryRunAll)) // a new member
			accepted(t, asOscar.Patch(t.Context(), project, owner(anna)))
			want := []string{test.owner.Name + " admin", anna + " viewer owner"}
			if diff := cmp.Diff(want, membersOf(project)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			rejected(t, asOscar.Patch(t.Context(), copyOf(project), owner(oscar)), manageMembers, "spec.owner") // cannot be reverted
			accepted(t, asAnna.Patch(t.Context(), project, owner("bob"), client.DryRunAll))
			accepted(t, admin(t).Patch(t.Context(), project, mergePatch(`{"metadata":{"annotations":{"groundskeeper.io/paused":null}}}`)))
			mustRemove(t, project)
		})
	}
}

// TestCreatorsOfProjects checks that the creator of a Project can set its members and owner, but not its tolerations.
func TestCreatorsOfProjects(t *testing.T) {
	t.Parallel()
	carla := as(t, "carla", groupWith(t, "gardener.cloud:system:project-creation"))
	create := func(spec gardenerv1beta1.ProjectSpec) error {
		return carla.Create(t.Context(), &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "new")}, Spec: spec}, client.DryRunAll)
	}
	members := []gardenerv1beta1.ProjectMember{olivia(), member("User", "bob", "uam"), member("Group", "auditors", "viewer"), member("ServiceAccount", "ci/robot", "admin")}
	accepted(t, create(gardenerv1beta1.ProjectSpec{Members: members}))
	accepted(t, create(gardenerv1beta1.ProjectSpec{Owner: &rbacv1.Subject{Kind: "User", Name: "bob"}}))
	whitelist := &gardenerv1beta1.ProjectTolerations{Whitelist: []gardenerv1beta1.Toleration{{Key: "seed"}}}
	rejected(t, create(gardenerv1beta1.ProjectSpec{Members: members, Tolerations: whitelist}), modifyWhitelist)
	rejected(t, create(gardenerv1beta1.ProjectSpec{Namespace: new("garden")}), modifyWhitelist) // it tolerates protected seeds
}
