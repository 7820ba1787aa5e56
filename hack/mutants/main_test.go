// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestList checks that each guard of the list exists, exactly once.
func TestList(t *testing.T) {
	all, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		text, err := os.ReadFile(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := m.apply(string(text)); err != nil {
			t.Error(err)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := parse("# A comment.\n\nfile pkg/a/b.go\n- x == y\n+ true\n\n# why\nfile pkg/a/c.go\ntest ./pkg/d\n- z\n+ !z\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []mutant{{"pkg/a/b.go", "./pkg/a", "x == y", "true"}, {"pkg/a/c.go", "./pkg/d", "z", "!z"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mutant{})); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"file a.go\n- x", "- x\n+ y", "files a.go"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestApply(t *testing.T) {
	m := mutant{file: "a.go", guard: "x == y", with: "true"}
	if got, err := m.apply("if x == y {"); err != nil || got != "if true {" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{"", "x == y, x == y"} {
		if _, err := m.apply(text); err == nil {
			t.Errorf("%q has the guard not once", text)
		}
	}
}
