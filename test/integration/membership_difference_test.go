// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// TestAuthorizationDiffers checks that a controller manager by membership beside a server by roles locks no member out, that Projects and
// the command check report the difference, and that both complete the change, and the way back, when the server follows.
func TestAuthorizationDiffers(t *testing.T) {
	t.Parallel()
	p := &membershipPlane{Plane: startPlane(t, plane.Options{Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 1, Managers: 1})}
	p.client = clientOf(t, p.Config())
	project := p.create(t, "differs-", gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{
		olivia(), member("User", "mona", "admin"), member("User", "vera", "viewer"),
	}})
	roles := func() int {
		t.Helper()
		bindings := &rbacv1.ClusterRoleBindingList{}
		if err := p.client.List(t.Context(), bindings, client.MatchingLabels{gardenerv1beta1.LabelProjectName: project.Name}); err != nil {
			t.Fatal(err)
		}
		return len(bindings.Items)
	}
	reports := func(status gardenerv1beta1.ConditionStatus, reason string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			if err := p.client.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
				return err
			}
			reported := func(c gardenerv1beta1.Condition) bool {
				return c.Type == gardenerv1beta1.ProjectRBACReady && c.Status == status && c.Reason == reason
			}
			if project.Status.ObservedGeneration == project.Generation && slices.ContainsFunc(project.Status.Conditions, reported) {
				return nil
			}
			return fmt.Errorf("conditions = %+v, want RBACReady %s with reason %s", project.Status.Conditions, status, reason)
		})
	}
	checks := func(want string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			command := exec.CommandContext(ctx, p.Kubectl(), "groundskeeper", "--kubeconfig", p.AdminKubeconfig(), "check")
			command.Env = append(os.Environ(), "PATH="+filepath.Dir(p.Kubectl())+":"+os.Getenv("PATH"))
			if out, err := command.CombinedOutput(); (err == nil) != (want == "") || !strings.Contains(string(out), want) {
				return fmt.Errorf("check: error = %w, output = %s, want %q in it", err, out, want)
			}
			return nil
		})
	}
	restart := func(authorization string) {
		t.Helper()
		if err := p.Managers[0].Restart(t.Context(), "--config="+write(t, "apiVersion: config.groundskeeper.io/v1alpha1\n"+
			"kind: ControllerManagerConfiguration\ncontrollers: {project: {authorization: "+authorization+"}}\n")); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("bindings", p.testBindings) // where roles decide
	restart("membership")
	reports(gardenerv1beta1.ConditionFalse, "AuthorizationDiffers")
	checks("decides by roles (--project-authorization)")
	isMona := func(m gardenerv1beta1.ProjectMember) bool { return m.Name == "mona" }
	p.setMembers(t, project, slices.DeleteFunc(project.Spec.Members, isMona))
	reports(gardenerv1beta1.ConditionFalse, "AuthorizationDiffers")
	if found := roles(); found != 4 {
		t.Errorf("%d cluster role bindings, want 4: members need them", found)
	}
	reads := func(user string) error {
		return impersonating(t, p.Config(), identity{name: user}).Get(t.Context(), client.ObjectKeyFromObject(project), &gardenerv1beta1.Project{})
	}
	if err := reads("vera"); err != nil {
		t.Errorf("a member reads the project: error = %v, want none", err)
	}
	eventually(t, func(context.Context) error { // responses of authorizers are cached
		if err := reads("mona"); err == nil {
			return errors.New("a removed member reads the project")
		}
		return nil
	})

	if err := p.APIServers[0].Restart(t.Context(), "--project-authorization=membership"); err != nil {
		t.Fatal(err)
	}
	reports(gardenerv1beta1.ConditionTrue, "RolesReconciled")
	eventually(t, func(context.Context) error {
		if found := roles(); found != 0 {
			return fmt.Errorf("%d cluster role bindings, want none", found)
		}
		return nil
	})
	checks("")

	restart("roles") // the way back
	reports(gardenerv1beta1.ConditionTrue, "AuthorizationDiffers")
	if found := roles(); found != 4 {
		t.Errorf("%d cluster role bindings on the way back, want 4", found)
	}
	checks("decides by membership (--project-authorization)")
	if err := p.APIServers[0].Restart(t.Context(), "--project-authorization=roles"); err != nil {
		t.Fatal(err)
	}
	reports(gardenerv1beta1.ConditionTrue, "RolesReconciled")
	checks("")
}
