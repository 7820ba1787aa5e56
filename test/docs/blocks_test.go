// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/test/docs/blocks"
)

// notRun is how many blocks of commands are not run. Lower it when one more is run; raise it only for one that needs what no
// test has.
const notRun = 84

// path is a file of the repository in a command.
var path = regexp.MustCompile(`\b(?:artifacts|charts|hack|test)/[\w./-]+`)

// Each block of commands is sound shell, names files that exist, and is run or has a reason why it is not.
func TestCommands(t *testing.T) {
	pages, err := blocks.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	skipped, run := 0, 0
	for _, page := range pages {
		all, _, err := blocks.Read(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range all {
			if b.NotRun == "" {
				run++
			} else {
				skipped++
			}
			check := exec.Command("bash", "-n")
			check.Stdin = strings.NewReader(b.Text)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s:%d: %s", b.Page, b.Line, out)
			}
			for _, name := range path.FindAllString(b.Text, -1) {
				name = strings.TrimRight(name, ".")
				if found, err := filepath.Glob(filepath.Join(root, name)); err != nil || len(found) == 0 {
					t.Errorf("%s:%d: %s does not exist", b.Page, b.Line, name)
				}
			}
		}
	}
	t.Logf("%d blocks are run, %d are not", run, skipped)
	if skipped != notRun {
		t.Errorf("%d blocks of commands are not run, want %d: see notRun", skipped, notRun)
	}
}

func TestScript(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"works":                         {"true\n", true},
		"fails":                         {"false\ntrue\n", false},
		"rejected as it should":         {"false   # rejected: why\n", true},
		"no":                            {"false # no\n", true},
		"not rejected":                  {"true   # rejected\n", false},
		"rejected with a here-document": {"grep x - <<END   # rejected\ny\nEND\n", true},
	} {
		out, err := exec.Command("bash", "-c", blocks.Script([]blocks.Block{{Page: "x.md", Text: test.text}})).CombinedOutput()
		if (err == nil) != test.want {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	if out, err := exec.Command("bash", "-c", blocks.Script([]blocks.Block{{Page: "x.md", Text: "false\n", NotRun: "no cloud"}})).CombinedOutput(); err != nil {
		t.Errorf("a block that is not run was: %v: %s", err, out)
	}
}
