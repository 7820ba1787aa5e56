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

// A release is replaced where nothing else is: a directory of downloads has sums, too, when a release was downloaded.
func TestReplaceable(t *testing.T) {
	release := []string{sumsFile, signatureFile, "one.tar", "two.tar"}
	for name, c := range map[string]struct {
		change func(t *testing.T, folder string)
		want   []string
		says   string
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
		"a directory": {func(t *testing.T, folder string) {
			remove("one.tar")(t, folder)
			if err := os.Mkdir(filepath.Join(folder, "one.tar"), 0o755); err != nil {
				t.Fatal(err)
			}
			add("one.tar/mine")(t, folder)
		}, nil, "one.tar is no file"},
		"a link": {func(t *testing.T, folder string) {
			if err := os.Rename(folder, folder+".real"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(folder+".real", folder); err != nil {
				t.Fatal(err)
			}
		}, nil, "it is no directory"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, _ := signed(t)
			c.change(t, folder)
			var says strings.Builder
			script := exec.CommandContext(t.Context(), "../replaceable.sh", folder)
			script.Stderr = &says
			out, err := script.Output()
			if got := strings.Fields(string(out)); !slices.Equal(got, c.want) || (err == nil) != (c.says == "") || !strings.Contains(says.String(), c.says) {
				t.Errorf("%q, %v: %s", got, err, says.String())
			}
		})
	}
}

// A directory that is no release is unchanged after a release into it was rejected.
func TestReleaseSparesOtherFiles(t *testing.T) {
	folder, _ := signed(t)
	add("photo.jpg")(t, folder)
	out, err := exec.CommandContext(t.Context(), "../release.sh", folder).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "photo.jpg is not in its SHA256SUMS") {
		t.Errorf("error %v: %s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(left) != 5 {
		t.Errorf("left: %q, %v", left, err)
	}
}

func add(name string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		t.Helper()
		write(t, filepath.Join(folder, name), nil)
	}
}

// remove removes what matches a pattern; ".": the directory.
func remove(pattern string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		t.Helper()
		matching, err := filepath.Glob(filepath.Join(folder, pattern))
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
