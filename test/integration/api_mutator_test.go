// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestProjectIsItsCreators checks that the creator of a Project is the authenticated user, whatever the request contains, and that
// a Project always has an owner, who is a member.
func TestProjectIsItsCreators(t *testing.T) {
	t.Parallel()
	const serviceAccount = "system:serviceaccount:automation:robot"
	group := groupWith(t, "gardener.cloud:system:project-creation")
	human := func(name string) *rbacv1.Subject {
		return &rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
	}
	robot := &rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "automation", Name: "robot"}
	for title, test := range map[string]struct {
		user    string
		spec    gardenerv1beta1.ProjectSpec
		creator *rbacv1.Subject
		owner   *rbacv1.Subject
		members []string // each with its roles
	}{
		"nothing is reported": {"carla", gardenerv1beta1.ProjectSpec{}, human("carla"), human("carla"), []string{"carla admin owner"}},
		"a lie about the creator": {"carla", gardenerv1beta1.ProjectSpec{CreatedBy: human("mallory")}, human("carla"), human("carla"),
			[]string{"carla admin owner"}},
		"a service account": {serviceAccount, gardenerv1beta1.ProjectSpec{}, robot, robot, []string{"robot admin owner"}},
		"a service account that is a member by its user name": {serviceAccount,
			gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{member("User", serviceAccount, "uam")}},
			robot, robot, []string{serviceAccount + " uam owner"}},
		"an owner who is no member": {"carla",
			gardenerv1beta1.ProjectSpec{Owner: human("olivia"), Members: []gardenerv1beta1.ProjectMember{member("User", "carla", "viewer")}},
			human("carla"), human("olivia"), []string{"carla viewer", "olivia admin owner"}},
		"an owner among the members": {"carla",
			gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{member("User", "anna", "admin"), olivia()}},
			human("carla"), human("olivia"), []string{"anna admin", "olivia owner"}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "whose")}, Spec: test.spec}
			if err := as(t, test.user, group).Create(t.Context(), project); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.creator, project.Spec.CreatedBy); diff != "" {
				t.Errorf("creator (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.owner, project.Spec.Owner); diff != "" {
				t.Errorf("owner (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.members, membersOf(project)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			mustRemove(t, project)
		})
	}
}

// TestAgreeingManagersOfAProject checks that field managers that apply the same manifest do not conflict, although the API server
// adds the owner to the members.
func TestAgreeingManagersOfAProject(t *testing.T) {
	t.Parallel()
	c := as(t, "carla", groupWith(t, "gardener.cloud:admin")) // to apply is to patch
	for title, spec := range map[string]string{
		"no owner":           `{"members": [{"kind": "Group", "name": "team", "roles": ["viewer"]}]}`,
		"owner is no member": `{"owner": {"kind": "User", "name": "olivia"}, "members": [{"kind": "Group", "name": "team"}]}`,
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "agree")}}
			patch := client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Project",
				"metadata":{"name":"`+project.Name+`"},"spec":`+spec+`}`))
			var first []string
			for _, manager := range []string{"one", "one", "two", "one", "two"} {
				if err := c.Patch(t.Context(), project, patch, client.FieldOwner(manager)); err != nil {
					t.Fatalf("manager %s: %v", manager, err)
				}
				if first == nil {
					first = membersOf(project)
				}
				if diff := cmp.Diff(first, membersOf(project)); diff != "" || len(first) != 2 {
					t.Errorf("manager %s changed the members (-first +now):\n%s", manager, diff)
				}
			}
			mustRemove(t, project)
		})
	}
}

// TestProjectRemainsOwnedByItsCreator checks that server-side apply sets the creator and the owner on creation, and that later
// writes can neither change the creator nor remove the owner.
func TestProjectRemainsOwnedByItsCreator(t *testing.T) {
	t.Parallel()
	c := as(t, "carla", groupWith(t, "gardener.cloud:admin")) // to apply is to patch
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "whose")}}
	manifest := func(spec string) client.Patch {
		return client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Project",
			"metadata":{"name":"`+project.Name+`"},"spec":`+spec+`}`))
	}
	if err := c.Patch(t.Context(), project, manifest(`{"createdBy":{"kind":"User","name":"mallory"},"members":[]}`), client.FieldOwner("gitops")); err != nil {
		t.Fatal(err)
	}
	if creator := project.Spec.CreatedBy; creator.Name != "carla" || project.Spec.Owner.Name != "carla" {
		t.Errorf("applied: creator %v, owner %v", creator, project.Spec.Owner)
	}
	ready(t, project)
	for _, taken := range []string{`{"spec":{"createdBy":{"kind":"User","name":"mallory"}}}`, `{"spec":{"createdBy":{"name":"mallory"}}}`} {
		err := c.Patch(t.Context(), project.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(taken)))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.createdBy: Invalid value") {
			t.Errorf("patching %s: %v", taken, err)
		}
	}
	// The project is handed over to a user who is no member yet.
	handover := []byte(`{"spec":{"owner":{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"olivia"}}}`)
	if err := c.Patch(t.Context(), project, client.RawPatch(types.MergePatchType, handover)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"carla admin", "olivia admin owner"}, membersOf(project)); diff != "" || project.Spec.CreatedBy.Name != "carla" {
		t.Errorf("handed over: creator %v, members (-want +got):\n%s", project.Spec.CreatedBy, diff)
	}
	mustRemove(t, project)
}

// groupWith returns a new group with a ClusterRole that lets it create Projects.
func groupWith(t *testing.T, clusterRole string) string {
	t.Helper()
	group := name(t, "group")
	inTheCluster(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	})
	c := as(t, "anybody", group)
	eventually(t, func(ctx context.Context) error {
		return c.Create(ctx, &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe"}}, client.DryRunAll)
	})
	return group
}

// membersOf returns the members of a Project, each with its roles.
func membersOf(project *gardenerv1beta1.Project) []string {
	var members []string
	for i := range project.Spec.Members {
		member := &project.Spec.Members[i]
		members = append(members, strings.Join(slices.Concat([]string{member.Name}, member.AllRoles()), " "))
	}
	return members
}
