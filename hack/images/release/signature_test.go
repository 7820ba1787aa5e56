// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// signed makes a directory with two files that is signed, and returns it with the file of allowed signers.
func signed(t *testing.T) (string, string) {
	t.Helper()
	keys := t.TempDir()
	folder := filepath.Join(keys, "release")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "one.tar"), []byte("one"))
	write(t, filepath.Join(folder, "two.tar"), []byte("two"))
	write(t, filepath.Join(folder, sumsFile), fmt.Appendf(nil, "%s  one.tar\n%s  two.tar\n", sum([]byte("one")), sum([]byte("two"))))
	command(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", filepath.Join(keys, "key"))
	sign(t, filepath.Join(keys, "key"), "groundskeeper-release", folder)
	public, err := os.ReadFile(filepath.Join(keys, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	allowed := filepath.Join(keys, "allowed")
	write(t, allowed, append([]byte(`release@groundskeeper.io namespaces="groundskeeper-release" `), public...))
	return folder, allowed
}

// sign makes the signature that a directory has, whatever it was.
func sign(t *testing.T, key, namespace, folder string) {
	t.Helper()
	_ = os.Remove(filepath.Join(folder, signatureFile))
	command(t, "ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace, filepath.Join(folder, sumsFile))
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// TestVerifyRelease runs the script that users run according to docs/images.md.
func TestVerifyRelease(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(t *testing.T, folder string)
		want   string
	}{
		"unchanged": {func(*testing.T, string) {}, ""},
		"a file that differs": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "one.tar"), []byte("0ne"))
		}, "one.tar: FAILED"},
		"a file less": {func(t *testing.T, folder string) { _ = os.Remove(filepath.Join(folder, "two.tar")) }, "two.tar: FAILED"},
		"a file more": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "one"), nil)
		}, "one is not of the release"},
		"a hidden file more": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, ".three"), nil)
		}, ".three is not of the release"},
		"other sums": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "one.tar"), []byte("0ne"))
			write(t, filepath.Join(folder, sumsFile), fmt.Appendf(nil, "%s  one.tar\n%s  two.tar\n", sum([]byte("0ne")), sum([]byte("two"))))
		}, "ould not verify signature"},
		"a signature with another key": {func(t *testing.T, folder string) {
			key := filepath.Join(t.TempDir(), "key")
			command(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
			sign(t, key, "groundskeeper-release", folder)
		}, "ould not verify signature"},
		"a signature for something else": {func(t *testing.T, folder string) {
			sign(t, filepath.Join(folder, "..", "key"), "file", folder)
		}, "ould not verify signature"},
		"no signature": {func(t *testing.T, folder string) { _ = os.Remove(filepath.Join(folder, signatureFile)) }, "not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, allowed := signed(t)
			c.tamper(t, folder)
			out, err := exec.CommandContext(t.Context(), "../verify-release.sh", folder, allowed).CombinedOutput()
			if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) {
				t.Fatalf("error = %v, output = %q, want %q", err, out, c.want)
			}
		})
	}
}

func TestTheSumsAreOfAllFiles(t *testing.T) {
	folder, _ := signed(t)
	if err := newRelease(folder).checkSums(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "three.tar"), nil)
	if err := newRelease(folder).checkSums(); err == nil || !strings.Contains(err.Error(), "three.tar") {
		t.Fatalf("error %v does not name three.tar", err)
	}
}
