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
	directory := filepath.Join(keys, "release")
	if err := os.Mkdir(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(directory, "one.tar"), []byte("one"))
	write(t, filepath.Join(directory, "two.tar"), []byte("two"))
	write(t, filepath.Join(directory, sumsFile), fmt.Appendf(nil, "%s  one.tar\n%s  two.tar\n", sum([]byte("one")), sum([]byte("two"))))
	command(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", filepath.Join(keys, "key"))
	sign(t, filepath.Join(keys, "key"), "groundskeeper-release", directory)
	public, err := os.ReadFile(filepath.Join(keys, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	allowed := filepath.Join(keys, "allowed")
	write(t, allowed, append([]byte(`release@groundskeeper.io namespaces="groundskeeper-release" `), public...))
	return directory, allowed
}

// sign makes the signature that a directory has, whatever it was.
func sign(t *testing.T, key, namespace, directory string) {
	t.Helper()
	_ = os.Remove(filepath.Join(directory, signatureFile))
	command(t, "ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace, filepath.Join(directory, sumsFile))
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
		tamper func(t *testing.T, directory string)
		want   string
	}{
		"unchanged": {func(*testing.T, string) {}, ""},
		"a file that differs": {func(t *testing.T, directory string) {
			write(t, filepath.Join(directory, "one.tar"), []byte("0ne"))
		}, "one.tar: FAILED"},
		"a file less": {func(t *testing.T, directory string) { _ = os.Remove(filepath.Join(directory, "two.tar")) }, "two.tar: FAILED"},
		"a file more": {func(t *testing.T, directory string) {
			write(t, filepath.Join(directory, "one"), nil)
		}, "one is not of the release"},
		"a hidden file more": {func(t *testing.T, directory string) {
			write(t, filepath.Join(directory, ".three"), nil)
		}, ".three is not of the release"},
		"other sums": {func(t *testing.T, directory string) {
			write(t, filepath.Join(directory, "one.tar"), []byte("0ne"))
			write(t, filepath.Join(directory, sumsFile), fmt.Appendf(nil, "%s  one.tar\n%s  two.tar\n", sum([]byte("0ne")), sum([]byte("two"))))
		}, "ould not verify signature"},
		"a signature with another key": {func(t *testing.T, directory string) {
			key := filepath.Join(t.TempDir(), "key")
			command(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
			sign(t, key, "groundskeeper-release", directory)
		}, "ould not verify signature"},
		"a signature for something else": {func(t *testing.T, directory string) {
			sign(t, filepath.Join(directory, "..", "key"), "file", directory)
		}, "ould not verify signature"},
		"no signature": {func(t *testing.T, directory string) { _ = os.Remove(filepath.Join(directory, signatureFile)) }, "not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			directory, allowed := signed(t)
			c.tamper(t, directory)
			out, err := exec.CommandContext(t.Context(), "../verify-release.sh", directory, allowed).CombinedOutput()
			if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) {
				t.Fatalf("error = %v, output = %q, want %q", err, out, c.want)
			}
		})
	}
}

func TestTheSumsAreOfAllFiles(t *testing.T) {
	directory, _ := signed(t)
	if err := newRelease(directory).checkSums(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(directory, "three.tar"), nil)
	if err := newRelease(directory).checkSums(); err == nil || !strings.Contains(err.Error(), "three.tar") {
		t.Fatalf("error %v does not name three.tar", err)
	}
}
