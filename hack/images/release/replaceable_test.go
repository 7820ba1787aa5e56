// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReplaceable checks that a release can be replaced in a directory that contains nothing else. A directory of downloads also
// has checksums if a release was downloaded.
func TestReplaceable(t *testing.T) {
	release := []string{sumsFile, signatureFile, "one.tar", "two.tar"}
	for name, c := range map[string]struct {
		change  func(t *testing.T, directory string)
		want    []string
		message string
	}{
		"a release":     {func(*testing.T, string) {}, release, ""},
		"not signed":    {remove(signatureFile), slices.DeleteFunc(slices.Clone(release), func(s string) bool { return s == signatureFile }), ""},
		"a file less":   {remove("two.tar"), release[:3], ""},
		"not there":     {remove("."), nil, ""},
		"empty":         {remove("*"), nil, ""},
		"no sums":       {remove(sumsFile), nil, "has no SHA256SUMS"},
		"a file more":   {add("photo.jpg"), nil, "photo.jpg is not in its SHA256SUMS"},
		"a hidden one":  {add(".three"), nil, ".three is not in"},
		"part of names": {add("one"), nil, "one is not in"},
		"with spaces":   {add("my one.tar"), nil, "my one.tar is not in"},
		"a space more":  {add("one.tar "), nil, "one.tar  is not in"},
		"two lines":     {add("one.tar\ntwo.tar"), nil, "is not in"},
		"a directory": {func(t *testing.T, directory string) {
			remove("one.tar")(t, directory)
			if err := os.Mkdir(filepath.Join(directory, "one.tar"), 0o755); err != nil {
				t.Fatal(err)
			}
			add("one.tar/mine")(t, directory)
		}, nil, "one.tar is no file"},
		"a link": {func(t *testing.T, directory string) {
			if err := os.Rename(directory, directory+".real"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(directory+".real", directory); err != nil {
				t.Fatal(err)
			}
		}, nil, "it is no directory"},
	} {
		t.Run(name, func(t *testing.T) {
			directory, _ := signed(t)
			c.change(t, directory)
			var message strings.Builder
			script := exec.CommandContext(t.Context(), "../replaceable.sh", directory)
			script.Stderr = &message
			out, err := script.Output()
			if got := strings.Fields(string(out)); !slices.Equal(got, c.want) || (err == nil) != (c.message == "") || !strings.Contains(message.String(), c.message) {
				t.Errorf("%q, %v: %s", got, err, message.String())
			}
		})
	}
}

// TestReleaseSparesOtherFiles checks that a directory that is not a release is not changed when a release into it is rejected.
func TestReleaseSparesOtherFiles(t *testing.T) {
	directory, _ := signed(t)
	add("photo.jpg")(t, directory)
	out, err := exec.CommandContext(t.Context(), "../release.sh", directory).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "photo.jpg is not in its SHA256SUMS") {
		t.Errorf("error %v: %s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(directory, "*")); err != nil || len(left) != 5 {
		t.Errorf("left: %q, %v", left, err)
	}
}

func add(name string) func(*testing.T, string) {
	return func(t *testing.T, directory string) {
		t.Helper()
		write(t, filepath.Join(directory, name), nil)
	}
}

// remove removes what matches a pattern; ".": the directory.
func remove(pattern string) func(*testing.T, string) {
	return func(t *testing.T, directory string) {
		t.Helper()
		matching, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil || len(matching) == 0 {
			t.Fatalf("%q, %v", matching, err)
		}
		for _, path := range matching {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}
