// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"groundskeeper.io/groundskeeper/test/docs/blocks"
)

// documentation runs the commands of the documentation as written, page by page. They see the repository, the example Project of
// "make up", and by the variables of their environment the processes of the plane.
func (h *hooked) documentation(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := blocks.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	setup, err := os.ReadFile(filepath.Join(root, "test/docs/setup.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		commands, err := blocks.Read(page)
		if err != nil {
			t.Fatal(err)
		}
		if !blocks.Runs(commands) {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			if out, err := h.kubectl(t, "apply", "-f", filepath.Join(root, "artifacts/examples/project.yaml")); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			dir, home := t.TempDir(), t.TempDir()
			for _, directory := range []string{filepath.Join(dir, "_output/localplane"), filepath.Join(home, ".local/bin"), filepath.Join(home, ".kube")} {
				if err := os.MkdirAll(directory, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for name, target := range map[string]string{
				filepath.Join(dir, "artifacts"): filepath.Join(root, "artifacts"),
				filepath.Join(dir, "charts"):    filepath.Join(root, "charts"),
				filepath.Join(dir, "hack"):      filepath.Join(root, "hack"),

				filepath.Join(dir, "_output/bin"):                         filepath.Dir(h.Kubectl()),
				filepath.Join(dir, "_output/localplane/admin.kubeconfig"): h.AdminKubeconfig(),
				filepath.Join(home, ".kube/config"):                       h.AdminKubeconfig(),
			} {
				if err := os.Symlink(target, name); err != nil {
					t.Fatal(err)
				}
			}
			command := exec.CommandContext(t.Context(), "bash", "-c", blocks.Script(string(setup), commands))
			command.Dir = dir
			command.Env = append(os.Environ(), "KUBECONFIG="+h.AdminKubeconfig(), "HOME="+home, "PATH="+filepath.Dir(h.Kubectl())+":"+os.Getenv("PATH"),
				"APISERVER="+h.APIServers[0].Address(), "MANAGER="+h.Managers[0].Address(), "DEBUGGING="+h.debugging, "ETCD="+h.EmbeddedEtcdDir(0))
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			for _, problem := range blocks.CheckOutput(commands, string(out)) {
				t.Error(problem)
			}
		})
	} // Some pages do not delete the example.
	for _, args := range [][]string{
		{"annotate", "projects", "--all", "confirmation.gardener.cloud/deletion=true"},
		{"delete", "project", "example", "--ignore-not-found", "--timeout=60s"},
	} {
		if out, err := h.kubectl(t, args...); err != nil {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}
