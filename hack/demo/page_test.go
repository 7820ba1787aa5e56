// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordedRuns checks that two recorded runs become the same page.
func TestRecordedRuns(t *testing.T) {
	first, second := read(t, "hack/demo/testdata/run-1.md"), read(t, "hack/demo/testdata/run-2.md")
	if first == second {
		t.Fatal("the runs are the same")
	}
	if diff := cmp.Diff(stable(first), stable(second)); diff != "" {
		t.Errorf("the pages of two runs differ, -first +second:\n%s", diff)
	}
}

// TestPageIsStable checks that the page in docs has nothing that differs in each run.
func TestPageIsStable(t *testing.T) {
	page := read(t, "docs/life-of-a-cluster.md")
	if diff := cmp.Diff(page, stable(page)); diff != "" {
		t.Errorf("the page has what differs in each run, -page +stable:\n%s", diff)
	}
}

func TestStable(t *testing.T) {
	const a, b, one, two = "f0000000-1111-4222-8333-444444444444", "00000000-1111-4222-8333-444444444444",
		"00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	for name, test := range map[string]struct{ transcript, want string }{
		"age at the end":          {"    web   True   33s", "    web   True   1s"},
		"age with two units":      {"    web   True   2m5s", "    web   True   1s"},
		"age inside":              {"    web   17s   eu", "    web   1s    eu"},
		"age at the beginning":    {"    76s         Normal", "    1s          Normal"},
		"two ages":                {"    eu   0     12s         2s", "    eu   0     1s          1s"},
		"number":                  {"    web   3   0/1", "    web   3   0/1"},
		"duration in a sentence":  {"    it waits for 10s more", "    it waits for 10s more"},
		"time":                    {"    deleted at 2026-11-28T20:21:20Z.", "    deleted at 2026-01-01T12:00:00Z."},
		"command":                 {"    $ wait  5s  2026-11-28T20:21:20Z", "    $ wait  5s  2026-11-28T20:21:20Z"},
		"text":                    {"It lasts  5s", "It lasts  5s"},
		"IDs":                     {"    x " + a + "\n    y " + b + " " + a, "    x " + one + "\n    y " + two + " " + one},
		"IDs in a random order":   {"    pvc-" + b + " web-2\n    pvc-" + a + " web", "    pvc-" + one + " web\n    pvc-" + two + " web-2"},
		"order of other lines":    {"    b\n    a\n\n    d " + a + "\n    c " + a, "    b\n    a\n\n    d " + one + "\n    c " + one},
		"order of other sections": {"    p " + a + " z\n\n    p " + b + " y", "    p " + one + " z\n\n    p " + two + " y"},
	} {
		t.Run(name, func(t *testing.T) {
			got := stable(test.transcript)
			if got != test.want {
				t.Errorf("stable(%q) = %q, want %q", test.transcript, got, test.want)
			}
			if again := stable(got); again != got {
				t.Errorf("stable(%q) = %q, want it unchanged", got, again)
			}
		})
	}
	if got := stable(strings.Repeat("\n", 3)); got != "\n\n\n" {
		t.Errorf("empty lines = %q", got)
	}
}

func TestWritePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	for _, run := range []struct{ name, transcript, want string }{
		{"the first one", "# Life\n\n## Act 7: x\n", "# Life\n\n## Act 7: x\n"},
		{"with OVN", "# Life\n\n## Act 7: y\n\n## Act 8: packets\n", "# Life\n\n## Act 7: y\n\n## Act 8: packets\n"},
		{"without OVN", "# Life\n\n## Act 7: z\n", "# Life\n\n## Act 7: z\n\n## Act 8: packets\n"},
	} {
		if err := writePage(file, run.transcript); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != run.want {
			t.Errorf("page after the run %s = %q, %v, want %q", run.name, got, err, run.want)
		}
	}
}

// TestCheckPage checks that a run that shows something else than the page fails.
func TestCheckPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	const page = "# Life\n\n    web   True   1s\n\n![The console in act 7](act-7.png)\n\n## Act 8: packets\n\n    dropped\n"
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ shown, fails string }{
		"the same":          {"# Life\n\n    web   True   5s\n\n## Act 8: packets\n\n    dropped\n", ""},
		"without OVN":       {"# Life\n\n    web   True   17s\n", ""},
		"another output":    {"# Life\n\n    web   False  5s\n", `"    web   False  1s"`},
		"another one later": {"# Life\n\n    web   True   5s\n\n## Act 8: packets\n\n    sent\n", `shown "    sent" where`},
		"less":              {"# Life\n", `has "    web   True   1s"`},
		"more":              {"# Life\n\n    web   True   5s\n    eu    True   5s\n", `shown "    eu    True   1s" where`},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkPage(file, test.shown)
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("error = %v, want %q in it", err, test.fails)
			}
		})
	}
}
