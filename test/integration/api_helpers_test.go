// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubectl runs kubectl as the administrator of the shared plane and returns what it prints. The error has what it
// complains about.
func kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out, complaints bytes.Buffer
	cmd := kubectlCommand(t.Context(), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, complaints.String())
	}
	return out.String(), nil
}

func kubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, shared.Kubectl(), append([]string{"--kubeconfig=" + shared.AdminKubeconfig()}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(shared.Dir(), "kubectl"), "TZ=UTC")
	return cmd
}

// freshNamespace creates a namespace on the shared plane that no Project has.
func freshNamespace(t *testing.T, prefix string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(t, prefix)}}
	if err := admin(t).Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// deleteNow deletes an object of the shared plane, if there is one, and takes from it what it waits for.
func deleteNow(t *testing.T, object client.Object) {
	t.Helper()
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		if err := client.IgnoreNotFound(remove(ctx, c, object)); err != nil {
			return err
		}
		release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		return client.IgnoreNotFound(c.Patch(ctx, object, release))
	})
}
