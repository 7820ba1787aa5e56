// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package krew checks the manifest of the plugin by krew itself.
package krew

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// krew accepts the manifest, and installs the archive of each platform.
func TestKrewInstallsTheArchives(t *testing.T) {
	dir := t.TempDir()
	platforms := map[string]string{"linux-amd64": "", "linux-arm64": "", "darwin-amd64": "", "darwin-arm64": "", "windows-amd64": ".exe"}
	for platform, exe := range platforms {
		archive(t, filepath.Join(dir, "kubectl-groundskeeper-"+platform+".tar.gz"), "LICENSE", "kubectl-groundskeeper"+exe)
	}
	manifest, err := exec.Command("./manifest.sh", "v1.2.3", "https://example.com/v1.2.3", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "groundskeeper.yaml")
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	krew := filepath.Join(dir, "krew")
	if out, err := exec.Command("go", "build", "-o", krew, "sigs.k8s.io/krew/cmd/krew").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for platform, exe := range platforms {
		system, architecture, _ := strings.Cut(platform, "-")
		root := filepath.Join(dir, "root-"+platform)
		if err := os.MkdirAll(filepath.Join(root, "index", "default", ".git"), 0o700); err != nil { // an index that is there is not fetched
			t.Fatal(err)
		}
		command := exec.Command(krew, "install", "--manifest="+file, "--archive="+filepath.Join(dir, "kubectl-groundskeeper-"+platform+".tar.gz"))
		command.Env = append(os.Environ(), "KREW_ROOT="+root, "KREW_OS="+system, "KREW_ARCH="+architecture, "KREW_NO_UPGRADE_CHECK=1")
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", platform, err, out)
			continue
		}
		if _, err := os.Stat(filepath.Join(root, "store", "groundskeeper", "v1.2.3", "kubectl-groundskeeper"+exe)); err != nil {
			t.Errorf("%s: not installed: %v", platform, err)
		}
	}
	wrong := bytes.ReplaceAll(manifest, []byte("version: v1.2.3"), []byte("version: 1.2"))
	if err := os.WriteFile(file, wrong, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(krew, "install", "--manifest="+file, "--archive="+filepath.Join(dir, "kubectl-groundskeeper-linux-amd64.tar.gz"))
	command.Env = append(os.Environ(), "KREW_ROOT="+filepath.Join(dir, "root-wrong"), "KREW_NO_UPGRADE_CHECK=1")
	if out, err := command.CombinedOutput(); err == nil {
		t.Errorf("krew accepts a manifest without a semantic version: %s", out)
	}
}

// A commit without a tag has a semantic version, too.
func TestVersionOfACommit(t *testing.T) {
	dir := t.TempDir()
	archive(t, filepath.Join(dir, "kubectl-groundskeeper-linux-amd64.tar.gz"), "kubectl-groundskeeper")
	out, err := exec.Command("./manifest.sh", "0123abc", "https://example.com", dir).Output()
	if err != nil || !strings.Contains(string(out), "\n  version: v0.0.0-g0123abc\n") {
		t.Errorf("manifest = %s, %v", out, err)
	}
}

// archive writes an archive with files.
func archive(t *testing.T, path string, names ...string) {
	t.Helper()
	var content bytes.Buffer
	compressed := gzip.NewWriter(&content)
	files := tar.NewWriter(compressed)
	for _, name := range names {
		text := fmt.Sprintf("file %s", name)
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
