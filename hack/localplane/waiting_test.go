// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWaiting(t *testing.T) {
	for name, test := range map[string]struct {
		page string
		want []string
	}{
		"one waits": {`{"controllers": [{"name": "project", "state": "running"}, {"name": "kluster", "state": "waiting", "reasons": ["not allowed to list secrets"]}, {"name": "kluster-deorbit", "state": "waiting", "reasons": ["not allowed to list secrets"]}]}`,
			[]string{"Controllers                      waiting: not allowed to list secrets (kluster, kluster-deorbit)"}},
		"no JSON": {"controllers: none", nil},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, test.page) }))
		if got := waiting(t.Context(), server.URL); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		server.Close()
	}
}

// TestBuildNamesTheCause checks that a build that fails because of a known fault of the machine names it on one line.
func TestBuildNamesTheCause(t *testing.T) {
	for name, test := range map[string]struct{ fails, want string }{
		"full disk":        {"write /tmp/x: no space left on device", "error: the disk is full"},
		"clone of another": {"error obtaining VCS status: exit status 128", "error: the clone belongs to another user"},
		"old Go":           {"go: go.mod requires go >= 1.99 (running go 1.20)", "is too old: install Go"},
		"file of another":  {"open _output/bin/x: permission denied", "the file belongs to another user"},
		"anything else":    {"x.go:1: syntax error", "go failed; its last lines:\nx.go:1: syntax error"},
		"no Go":            {"", "error: go is not on the PATH: install Go"},
	} {
		dir := filepath.Join(t.TempDir(), "path with spaces")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if test.fails != "" {
			script := "#!/bin/sh\necho '" + test.fails + "' >&2\nexit 1\n"
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
				t.Fatal(err)
			}
		}
		command := exec.Command("/bin/bash", "../go-build.sh", "packages compiled")
		command.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir}
		out, err := command.CombinedOutput()
		if text := string(out); err == nil || !strings.Contains(text, test.want) || strings.HasPrefix(test.want, "error: ") && strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %v, printed %q, want %q", name, err, text, test.want)
		}
	}
}

// TestBuildUsesFewCores checks that compilers have one thread each where there are few cores, and Go's defaults where there are more.
func TestBuildUsesFewCores(t *testing.T) {
	for cores, want := range map[string]string{
		"1":  "build -v -p 2 -o x ./a, GOMAXPROCS=1 GOGC=off",
		"4":  "build -v -p 5 -o x ./a, GOMAXPROCS=1 GOGC=off",
		"5":  "build -v -o x ./a, GOMAXPROCS= GOGC=off",
		"64": "build -v -o x ./a, GOMAXPROCS= GOGC=off",
	} {
		dir := t.TempDir()
		for name, script := range map[string]string{
			"nproc": "#!/bin/sh\necho " + cores + "\n",
			"go":    "#!/bin/sh\necho \"$*, GOMAXPROCS=$GOMAXPROCS GOGC=$GOGC\"\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
				t.Fatal(err)
			}
		}
		command := exec.Command("/bin/bash", "../go-build.sh", "packages compiled", "-o", "x", "./a")
		command.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir}
		out, err := command.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s cores: %v, ran %q, want %q", cores, err, got, want)
		}
	}
}

func TestQuoted(t *testing.T) {
	for path, want := range map[string]string{"/a/b-1.2": "/a/b-1.2", "/a b": "'/a b'", "/it's": `'/it'\''s'`} {
		if got := quoted(path); got != want {
			t.Errorf("%s is quoted as %s, want %s", path, got, want)
		}
	}
}
