// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestList checks that each guard of the list exists, exactly once, and in a function.
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
		if _, _, err := rewrite(string(text), map[int]mutant{1: m}); err != nil {
			t.Error(err)
		}
	}
}

func TestRewrite(t *testing.T) {
	text := `package p

func (r *R) remove(names ...string) error { if r.mayRemove { return r.all(names) }; return nil }

func each[T any](list []T, do func(T)) { if do != nil { do(list[0]) } }
`
	got, name, err := rewrite(text, map[int]mutant{1: {guard: "r.mayRemove", with: "true"}, 2: {guard: "do != nil", with: "true"}})
	if err != nil || name != "p" {
		t.Fatal(name, err)
	}
	want := `package p

func (r *R) remove(names ...string) error { if brokenGuard == 1 { return r.removeBroken1(names...) };  if r.mayRemove { return r.all(names) }; return nil }

func each[T any](list []T, do func(T)) { if brokenGuard == 2 { eachBroken2[T](list, do); return };  if do != nil { do(list[0]) } }

func (r *R) removeBroken1(names ...string) error { if true { return r.all(names) }; return nil }

func eachBroken2[T any](list []T, do func(T)) { if true { do(list[0]) } }
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for what, m := range map[string]mutant{"absent": {guard: "r.may "}, "twice": {guard: "do"}, "in no function": {guard: "package p"}} {
		if _, _, err := rewrite(text, map[int]mutant{1: m}); err == nil {
			t.Errorf("a guard that is %s is accepted", what)
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
