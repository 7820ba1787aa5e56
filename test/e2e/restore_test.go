// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/docs/blocks"
)

// restore replaces the store of an installation by a backup of it, with the commands of docs/backup.md: all objects have the uids of
// before, and the namespace of the Project is the same.
func (h *host) restore(t *testing.T, b build) {
	t.Helper()
	before, err := h.objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.projectNamespace(t)}}
	h.read(t, namespace)
	uid := namespace.UID
	if out := h.page(t, b, "backup.md"); !strings.Contains(out, "which the cluster knows now") || !strings.Contains(out, "\nexample ") {
		t.Errorf("the restore printed\n%s", out)
	}
	h.kubectl(t, "rollout", "status", "--namespace", systemSpace, "deployment/"+manager, "--timeout=120s")
	h.isReady(t, "example")
	after, err := h.objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(before, after) {
		t.Errorf("objects = %v, want those of the backup: %v", after, before)
	}
	if h.read(t, namespace); namespace.UID != uid || !namespace.DeletionTimestamp.IsZero() {
		t.Errorf("namespace %s has uid %s and is being deleted since %v, want uid %s", namespace.Name, namespace.UID, namespace.DeletionTimestamp, uid)
	}
}

func (h *host) read(t *testing.T, namespace *corev1.Namespace) {
	t.Helper()
	if err := h.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
		t.Fatal(err)
	}
}

// page runs the commands of a page that take a backup, and those that only this test runs, in a directory that has the kustomization of
// the installation as a user's would. It returns what they print.
func (h *host) page(t *testing.T, b build, name string) string {
	t.Helper()
	all, err := blocks.Read(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	var commands []blocks.Block
	for i, block := range all {
		if i == 0 || strings.Contains(block.NotRun, "TestInstall") {
			block.NotRun, block.Before, block.Files = "", "", nil
			commands = append(commands, block)
		}
	}
	dir := t.TempDir()
	for link, target := range map[string]string{"artifacts": "../../artifacts", "groundskeeper": h.kustomization(t, b)} {
		target, err := filepath.Abs(target)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "bash", "-c", blocks.Script("", commands))
	command.Dir = dir
	command.Env = append(os.Environ(), "KUBECONFIG="+h.AdminKubeconfig(), "PATH="+filepath.Dir(h.Kubectl())+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v:\n%s", name, err, out)
	}
	return string(out)
}
