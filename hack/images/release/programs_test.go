// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The header of a program has its operating system and machine type, on each platform of the plugin.
func TestProgramsOfEachPlatform(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	for file, text := range map[string]string{source: "package main\n\nfunc main() {}\n", filepath.Join(dir, "go.mod"): "module example.com/x\n\ngo 1.26\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"linux/amd64", "darwin/arm64", "windows/amd64"} {
		system, architecture, _ := strings.Cut(want, "/")
		out := filepath.Join(dir, "x"+programSuffix(want))
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", out, ".")
		build.Dir = dir
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture, "GOFLAGS=", "GOWORK=off")
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", want, err, text)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		b, err := readBinary(content)
		if err != nil || b.String() != want {
			t.Errorf("%s: the program is for %s, %v", want, b, err)
		}
		for _, other := range []platform{{"linux", "amd64"}, {"darwin", "amd64"}, {"windows", "arm64"}} {
			if other.String() == want {
				continue
			}
			b.OS, b.Architecture = other.OS, other.Architecture
			if err := b.checkHeader(); err == nil {
				t.Errorf("a program for %s passes as one for %s", want, other)
			}
		}
	}
}
