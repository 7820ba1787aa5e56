// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// membershipPlane is a plane whose API servers decide about Projects by their members.
type membershipPlane struct {
	*plane.Plane
	client client.WithWatch
}

// identity is a user with groups.
type identity struct {
	name   string
	groups []string
}

func impersonating(t *testing.T, config *rest.Config, who identity) client.WithWatch {
	t.Helper()
	return clientOf(t, impersonated(config, who))
}

func impersonated(config *rest.Config, who identity) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: who.name, Groups: append(slices.Clone(who.groups), "system:authenticated")}
	return config
}

// TestProjectMembership checks that the members of a Project have the same permissions in both modes, and see no other Projects.
func TestProjectMembership(t *testing.T) {
	t.Parallel()
	p := &membershipPlane{Plane: startPlane(t, plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 2, Managers: 1, SharedEtcd: true,
		APIServerFlags: []string{"--project-authorization=membership", streams},
		ManagerConfig: write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"+
			"controllers: {project: {authorization: membership}}\n"),
	})}
	p.client = clientOf(t, p.Config())
	applied(t, p.client, artifact("membership", "access.yaml"))
	t.Run("both modes", p.testModes)
	t.Run("list and watch", p.testListAndWatch)
	t.Run("history", p.testHistory)
	t.Run("apply", p.testApply)
	t.Run("revocation", p.testRevocation)
	t.Run("bindings", p.testBindings)
	t.Run("table", p.testTable)
	t.Run("projects of others", p.testProjectsOfOthers)
	t.Run("nothing of the cluster", p.testNothingClusterScoped)
	t.Run("change of the mode", p.testModeChange)
	t.Run("a server that restricts nothing", p.testGuard) // deletes the binding of all users
}

// create creates a Project, and waits until it is ready.
func (p *membershipPlane) create(t *testing.T, prefix string, spec gardenerv1beta1.ProjectSpec) *gardenerv1beta1.Project {
	t.Helper()
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, prefix)}, Spec: *spec.DeepCopy()}
	if err := p.client.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return isReady(ctx, p.client, project) })
	return project
}

// setMembers replaces the members of a Project.
func (p *membershipPlane) setMembers(t *testing.T, project *gardenerv1beta1.Project, members []gardenerv1beta1.ProjectMember) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		project.Spec.Members = members
		return p.client.Update(ctx, project)
	})
}

// testModeChange restarts the controller manager where roles decide, and back: the cluster-scoped objects of a Project appear and are
// deleted again, and those of another client are not.
func (p *membershipPlane) testModeChange(t *testing.T) {
	project := p.create(t, "mode-", gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia(), member("User", "mona", "viewer", "extension:deploy")}})
	labels := client.MatchingLabels{gardenerv1beta1.LabelProjectName: project.Name}
	stranger := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name(t, "stranger-"), Labels: labels}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}
	if err := p.client.Create(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	has := func(bindings, roles int) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			foundBindings, foundRoles := &rbacv1.ClusterRoleBindingList{}, &rbacv1.ClusterRoleList{}
			if err := errors.Join(p.client.List(ctx, foundBindings, labels), p.client.List(ctx, foundRoles, labels)); err != nil {
				return err
			}
			if len(foundBindings.Items) != bindings || len(foundRoles.Items) != roles {
				return fmt.Errorf("%d bindings, want %d; %d roles, want %d", len(foundBindings.Items), bindings, len(foundRoles.Items), roles)
			}
			return nil
		})
	}
	has(1, 0)
	roles := write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\ncontrollers: {project: {authorization: roles}}\n")
	for range 2 {
		if err := p.Managers[0].Restart(t.Context(), "--config="+roles); err != nil {
			t.Fatal(err)
		}
		has(5, 5) // the stranger's, four, and one role of the extension
		if err := p.Managers[0].Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		has(1, 0)
	}
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(stranger), stranger); err != nil || stranger.DeletionTimestamp != nil {
		t.Errorf("the binding of another client: %v, %v", stranger.DeletionTimestamp, err)
	}
}

// testGuard starts a server by roles while the rules of the mode membership are bound under another name to one group.
func (p *membershipPlane) testGuard(t *testing.T) {
	open := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "groundskeeper-project-membership"}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: open.ObjectMeta}
	if err := errors.Join(p.client.Get(t.Context(), client.ObjectKeyFromObject(open), open), p.client.Delete(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name(t, "staff-")}, Rules: open.Rules}
	binding = &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name(t, "staff-access-")}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "employees"}},
	}
	if err := errors.Join(p.client.Create(t.Context(), role), p.client.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	server := p.APIServers[1]
	if err := errors.Join(server.Terminate(t.Context()), server.Start(t.Context(), "--project-authorization=roles")); err != nil {
		t.Fatal(err)
	}
	failure := &plane.Error{}
	if err := server.Ready(t.Context()); !errors.As(err, &failure) || !strings.Contains(strings.Join(failure.Lines, "\n"), binding.Name) {
		t.Errorf("the server: got %v, want an error that names ClusterRoleBinding %s", err, binding.Name)
	}
	role.Rules[0].Resources = append(role.Rules[0].Resources, "projects/any") // administrators
	if err := errors.Join(p.client.Update(t.Context(), role), server.Restart(t.Context(), "--project-authorization=roles")); err != nil {
		t.Errorf("the server: got %v, want that it starts", err)
	}
}

// testNothingClusterScoped finds no ClusterRole and no ClusterRoleBinding of a Project.
func (p *membershipPlane) testNothingClusterScoped(t *testing.T) {
	roles, bindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
	for _, list := range []client.ObjectList{roles, bindings} {
		if err := p.client.List(t.Context(), list, client.HasLabels{gardenerv1beta1.LabelProjectName}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range roles.Items {
		if roles.Items[i].Labels[gardenerv1beta1.LabelProjectName] != "" {
			t.Errorf("ClusterRole %s", roles.Items[i].Name)
		}
	}
	for i := range bindings.Items {
		t.Errorf("ClusterRoleBinding %s", bindings.Items[i].Name)
	}
}
