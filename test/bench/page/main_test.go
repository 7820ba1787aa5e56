// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

const aFigure = `{"benchmark":"sidebyside","series":"Groundskeeper","name":"heap after a garbage collection for 10,000 objects","value":12,"unit":"MiB"}`

func TestRejected(t *testing.T) {
	for name, test := range map[string]struct{ in, machine, want string }{
		"no machine":      {aFigure, "", "-machine"},
		"no figures":      {"", "a machine", "no figures"},
		"facts alone":     {`{"benchmark":"b","fact":"version","is":"1"}`, "a machine", "no figures"},
		"no JSON":         {aFigure + "\n" + aFigure + "\nmake: nothing to be done\n", "a machine", "line 3"},
		"another type":    {aFigure + "\n" + `{"benchmark":"b","name":"n","value":"many"}`, "a machine", "line 2"},
		"no figure":       {`{"other":1}`, "a machine", "line 1"},
		"an empty line":   {aFigure + "\n\n", "a machine", "line 2"},
		"a line too long": {aFigure + "\n" + strings.Repeat(" ", 70000), "a machine", "too long"},
	} {
		docs := t.TempDir()
		err := run(strings.NewReader(test.in), docs, test.machine)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, not one with %q", name, err, test.want)
		}
		if files, _ := filepath.Glob(filepath.Join(docs, "*")); len(files) > 0 {
			t.Errorf("%s: %v was written", name, files)
		}
	}
}

func TestRead(t *testing.T) {
	all, err := read(strings.NewReader(aFigure + "\n" + `{"benchmark":"sidebyside","fact":"version of etcd","is":"3.7.3"}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]report.Fact{{Benchmark: "sidebyside", Fact: "version of etcd", Is: "3.7.3"}}, all.facts); diff != "" {
		t.Error(diff)
	}
	if len(all.figures) != 1 || all.figures[0].Value != 12 {
		t.Errorf("figures %+v", all.figures)
	}
}

func TestWrittenFiles(t *testing.T) {
	docs := t.TempDir()
	stale := filepath.Join(docs, "drawings", "performance-rate.svg")
	mine := filepath.Join(docs, "drawings", "overview.svg")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{stale, mine} {
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(strings.NewReader(aFigure), docs, "a machine"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(docs, "drawings", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{mine, filepath.Join(docs, "drawings", "performance-memory.svg")}, files); diff != "" {
		t.Errorf("drawings: %s", diff)
	}
	page, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "Measured on a machine,") || strings.Contains(string(page), "performance-rate.svg") {
		t.Errorf("the page is\n%s", page)
	}
}
