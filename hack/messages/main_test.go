// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMessages(t *testing.T) {
	found, err := messages("file.go", []byte("package file\n\nimport _ \"some words\"\n\n"+
		"type of struct {\n\tfield string `json:\"two words\"`\n}\n\n"+
		"func of(name string) {\n\tprint(\"one\", \"two-words\", \"two words\")\n"+
		"\tprint(\"the namespace \" + name +\n\t\t\" has no Secret\")\n\tprint(`first\n\t  second`)\n\tprint(name + \"/\" + name)\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []message{{10, "two words"}, {11, "the namespace … has no Secret"}, {13, "first second"}}
	if diff := cmp.Diff(want, found, cmp.AllowUnexported(message{})); diff != "" {
		t.Error(diff)
	}
}

func TestHandWritten(t *testing.T) {
	for path, want := range map[string]bool{
		"pkg/a/b.go": true, "pkg/a/b_test.go": false, "pkg/a/zz_generated.deepcopy.go": false, "pkg/a/generated.pb.go": false,
		"pkg/generated/client.go": false, "pkg/a/b.txt": false,
	} {
		t.Run(path, func(t *testing.T) {
			if got := handWritten(path); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
