// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory that no plane made is neither used for one nor deleted.
func TestForeignDirectoriesAreRejected(t *testing.T) {
	tests := map[string]struct {
		files map[string]string // nil: the directory does not exist
		owned bool
	}{
		"absent":                        {owned: true},
		"empty":                         {files: map[string]string{}, owned: true},
		"of a plane":                    {files: map[string]string{"state.json": `{"ports": {"etcd": 1}, "processes": null}`, "data": ""}, owned: true},
		"of a plane that never started": {files: map[string]string{"state.json": `{"ports": {}, "processes": null}`}, owned: true},
		"with files of another program": {files: map[string]string{"thesis.txt": "chapter 1"}},
		"with another program's state":  {files: map[string]string{"state.json": `{"version": 4, "serial": 12}`, "thesis.txt": "chapter 1"}},
		"with a state that is no JSON":  {files: map[string]string{"state.json": "chapter 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			if test.files != nil {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for file, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := &Plane{dir: dir}
			started := p.prepare()
			removed := Remove(t.Context(), dir, func(string) {})
			for action, err := range map[string]error{"prepare": started, "Remove": removed} {
				if test.owned && err != nil {
					t.Errorf("%s: %v", action, err)
				}
				if !test.owned && (err == nil || !strings.Contains(err.Error(), dir)) {
					t.Errorf("%s: error = %v, want one that names %s", action, err, dir)
				}
			}
			for file, content := range test.files {
				if got, err := os.ReadFile(filepath.Join(dir, file)); !test.owned && (err != nil || string(got) != content) {
					t.Errorf("%s = %q (%v), want %q", file, got, err, content)
				}
			}
			if _, err := os.Stat(dir); test.owned && !os.IsNotExist(err) {
				t.Errorf("%s exists after Remove: %v", dir, err)
			}
		})
	}
}
