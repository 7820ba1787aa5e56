// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestChanged(t *testing.T) {
	const before = `package p
type world struct{}
func (w *world) drain() { wait() }
func wait() { tick() }
func tick() {}
var limit = 1
func TestMain() {}
func TestDrain(t *testing.T) { (&world{}).drain() }
func TestLimit(t *testing.T) { _ = limit }
func TestOther(t *testing.T) {}
`
	for name, test := range map[string]struct {
		replace, with string
		want          []string
	}{
		"nothing":              {replace: "var limit = 1", with: "var limit = 1"},
		"a comment beside":     {replace: "var limit = 1", with: "// A comment.\nvar limit = 1"},
		"a test":               {replace: "TestOther(t *testing.T) {}", with: "TestOther(t *testing.T) { t.Log() }", want: []string{"TestOther"}},
		"a new test":           {replace: "var limit = 1", with: "var limit = 1\nfunc TestNew(t *testing.T) {}", want: []string{"TestNew"}},
		"a variable":           {replace: "var limit = 1", with: "var limit = 2", want: []string{"TestLimit"}},
		"a function far below": {replace: "func tick() {}", with: "func tick() { return }", want: []string{"TestDrain"}},
		"a test comes first":   {replace: "func tick() {}\nvar limit = 1\nfunc TestMain() {}", with: "func tick() { return }\nvar limit = 1\nfunc TestZ() {}", want: []string{"TestZ", "TestDrain"}},
	} {
		t.Run(name, func(t *testing.T) {
			then, now := declarations{}, declarations{}
			if err := then.add("p_test.go", []byte(before)); err != nil {
				t.Fatal(err)
			}
			after := replaceOnce(t, before, test.replace, test.with)
			if err := now.add("p_test.go", []byte(after)); err != nil {
				t.Fatal(err)
			}
			if got := now.changed(then); !slices.Equal(got, test.want) {
				t.Errorf("changed tests = %v, want %v", got, test.want)
			}
		})
	}
}

func replaceOnce(t *testing.T, text, old, with string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("the text has %q %d times, want once", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, with, 1)
}
