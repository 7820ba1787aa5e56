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

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestWhyProjectAfterAMemberLeft checks that the owner is shown what a former admin left in the namespace, with the permissions of the
// owner, and that a viewer gets what could not be read.
func TestWhyProjectAfterAMemberLeft(t *testing.T) {
	t.Parallel()
	project := newProject(t, "left-", olivia(), member("User", "fred", "admin", "serviceaccountmanager"), member("User", "vera", "viewer"))
	ready(t, project)
	fred, namespace := as(t, "fred"), project.NamespaceName()
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "spare"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "spare-token",
			Annotations: map[string]string{corev1.ServiceAccountNameKey: "spare"}}, Type: corev1.SecretTypeServiceAccountToken},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "backdoor"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "gardener.cloud:system:project-viewer"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "fred"}}},
	} {
		eventually(t, func(ctx context.Context) error { return client.IgnoreAlreadyExists(fred.Create(ctx, object)) })
	}
	why := func(user string) (string, int) {
		t.Helper()
		command := exec.CommandContext(t.Context(), shared.Kubectl(), "groundskeeper", "--kubeconfig", shared.AdminKubeconfig(),
			"--as", user, "--as-group", "system:authenticated", "why", "project/"+project.Name)
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(shared.Kubectl())+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		if exit, failed := errors.AsType[*exec.ExitError](err); failed {
			return string(out), exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		return string(out), 0
	}
	if out, code := why("olivia"); code != 1 || strings.Contains(out, "backdoor") || !strings.Contains(out, "spare-token") {
		t.Errorf("while fred is a member: exit code = %d, output = %s, want the token of an account that is none", code, out)
	}
	eventually(t, func(ctx context.Context) error {
		if err := admin(t).Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		project.Spec.Members = slices.DeleteFunc(project.Spec.Members, func(m gardenerv1beta1.ProjectMember) bool { return m.Name == "fred" })
		return admin(t).Update(ctx, project)
	})
	eventually(t, func(context.Context) error {
		out, code := why("olivia")
		if code != 1 || !strings.Contains(out, "backdoor") || !strings.Contains(out, "User fred") || !strings.Contains(out, "spare-token") ||
			strings.Count(out, "not in spec.members") != 2 {
			return fmt.Errorf("exit code = %d, output = %s, want the binding and the token, and nothing else", code, out)
		}
		return nil
	})
	if out, code := why("vera"); code != 2 || !strings.Contains(out, "Secrets") {
		t.Errorf("a viewer: exit code = %d, output = %s, want that Secrets could not be read", code, out)
	}
}
