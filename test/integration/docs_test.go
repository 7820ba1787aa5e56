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

// documentation runs the commands of the documentation as they are written, page by page. They see the repository, the example
// Project of "make up", and the files that their page shows.
func (h *hooked) documentation(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := blocks.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		commands, files, err := blocks.Read(page)
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
			for _, name := range []string{"artifacts", "charts", "hack"} {
				if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Join(home, ".local/bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				name := filepath.Join(dir, filepath.Base(file.Name))
				if err := os.WriteFile(name, []byte(file.Text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			command := exec.CommandContext(t.Context(), "bash", "-c", blocks.Script(commands))
			command.Dir = dir
			command.Env = append(os.Environ(), "KUBECONFIG="+h.AdminKubeconfig(), "HOME="+home, "PATH="+filepath.Dir(h.Kubectl())+":"+os.Getenv("PATH"))
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	} // The example is left by the pages that do not delete it.
	for _, args := range [][]string{
		{"annotate", "project", "example", "confirmation.gardener.cloud/deletion=true"}, {"delete", "project", "example", "--timeout=60s"},
	} {
		if out, err := h.kubectl(t, args...); err != nil {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}
