// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/test/docs/blocks"
)

// notRun is how many blocks of commands are not run. Lower it when one more is run; raise it only for one that needs what no
// test has.
const notRun = 33

// path is a file of the repository in a command.
var path = regexp.MustCompile(`\b(?:artifacts|charts|hack|test)/[\w./-]+`)

// TestCommands checks that each block of commands is valid shell, names existing files, and either runs or has a reason why not.
func TestCommands(t *testing.T) {
	pages, err := blocks.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	skipped, run := 0, 0
	for _, page := range pages {
		all, err := blocks.Read(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range all {
			if b.NotRun == "" {
				run++
			} else {
				skipped++
				if b.Output != "" || b.Before != "" {
					t.Errorf("%s:%d: is not run, but has output or commands to run before", b.Page, b.Line)
				}
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
		"forbidden":                     {"false # forbidden\n", true},
		"not rejected":                  {"true   # rejected\n", false},
		"rejected with a here-document": {"grep x - <<END   # rejected\ny\nEND\n", true},
	} {
		out, err := exec.Command("bash", "-c", blocks.Script("", []blocks.Block{{Page: "x.md", Text: test.text}})).CombinedOutput()
		if (err == nil) != test.want {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	// The requirements of a block are created before its output begins.
	b := []blocks.Block{{Page: "x.md", Line: 1, Text: "echo $made\n", Before: "make_it 1", Output: "1\n"}}
	out, err := exec.Command("bash", "-c", blocks.Script("make_it() { made=$1; echo made; }", b)).CombinedOutput()
	if problems := blocks.CheckOutput(b, string(out)); err != nil || problems != nil {
		t.Errorf("with commands to run before: %v, %v", err, problems)
	}
	// A file is there from its place in the page on, also when the block below it is not run.
	b = []blocks.Block{
		{Page: "x.md", Text: "false\n", NotRun: "no cloud", Files: []blocks.File{{Name: "shop/x.yaml", Text: "a: $b\n"}}},
		{Page: "x.md", Line: 1, Text: "cat shop/x.yaml\n", Output: "a: $b\n"},
	}
	command := exec.Command("bash", "-c", blocks.Script("", b))
	command.Dir = t.TempDir()
	out, err = command.CombinedOutput()
	if problems := blocks.CheckOutput(b, string(out)); err != nil || problems != nil {
		t.Errorf("with a file: %v, %v: %s", err, problems, out)
	}
	if out, err := exec.Command("bash", "-c", blocks.Script("", []blocks.Block{{Page: "x.md", Text: "false\n", NotRun: "no cloud"}})).CombinedOutput(); err != nil {
		t.Errorf("a block that is not run was: %v: %s", err, out)
	}
}

// TestUsers checks that commands are run as the user of their block, and those of the next block as the administrator again.
func TestUsers(t *testing.T) {
	setup, err := os.ReadFile("setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// It prints its user, the kubeconfig of the administrator, and nothing for what as requests.
	const kubectl = `#!/bin/sh
case "$1" in
  config) cat "$KUBECONFIG" ;;
  whoami) jq -r '.users[0].user | .as // .token' "$KUBECONFIG" ;;
  delete) jq -r '.users[0].user | .as // .token' "$KUBECONFIG" >>"$HOME/undone" ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	admin := filepath.Join(dir, "admin.kubeconfig")
	if err := os.WriteFile(admin, []byte(`{"users":[{"name":"a","user":{"token":"admin"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := []blocks.Block{
		{Page: "x.md", Line: 1, Text: "kubectl whoami\n", Before: "as amy", Output: "amy\n"},
		{Page: "x.md", Line: 2, Text: "kubectl whoami\n", Output: "admin\n"},
		{Page: "x.md", Line: 3, Text: "kubectl whoami\n", Before: "later kubectl delete x; as ada administrators", Output: "ada\n"},
	}
	command := exec.Command("bash", "-c", blocks.Script(string(setup), b))
	command.Env = append(os.Environ(), "KUBECONFIG="+admin, "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if problems := blocks.CheckOutput(b, string(out)); err != nil || problems != nil {
		t.Errorf("%v, %v: %s", err, problems, out)
	}
	undone, err := os.ReadFile(filepath.Join(dir, "undone"))
	if got, want := strings.Fields(string(undone)), []string{"admin", "admin"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("after the page, objects were deleted by %q (%v), want %q", got, err, want)
	}
}

func TestCheckOutput(t *testing.T) {
	const shown = "NAME      STATUS   AGE\nexample   Ready    17s\n"
	for name, test := range map[string]struct {
		shown, printed string
		want           bool
	}{
		"equal":                    {shown, shown, true},
		"another age and width":    {shown, "NAME STATUS  AGE\nexample   Ready   3m2s  \n", true},
		"another suffix":           {"garden-example-5067c\n", "garden-example-abcde\n", true},
		"a log line":               {shown, "E1126 02:12:23.873924    7359 reflector.go:227] \"Failed to watch\"\n" + shown, true},
		"another status":           {shown, "NAME      STATUS   AGE\nexample   Failed   17s\n", false},
		"a line more":              {shown, shown + "other     Ready    1s\n", false},
		"a line less":              {shown, "NAME      STATUS   AGE\n", false},
		"nothing":                  {shown, "", false},
		"other lines":              {"…\nb\n…\n", "a\nb\nc\n", true},
		"no other lines":           {"…\nb\n…\n", "b\n", true},
		"other text in a line":     {"Error…: not found\n", "Error from server (NotFound): not found\n", true},
		"special characters":       {"a.b (c)\n", "axb (c)\n", false},
		"the output of the others": {"b\n", "b\n# x.md:1 end\nc\n", true},
	} {
		b := []blocks.Block{{Page: "docs/x.md", Line: 1, Output: test.shown}}
		if problems := blocks.CheckOutput(b, "c\n# x.md:1\n"+test.printed+"# x.md:1 end\nc\n"); (problems == nil) != test.want {
			t.Errorf("%s: problems = %v, want some: %t", name, problems, !test.want)
		}
	}
}

func TestRead(t *testing.T) {
	page := filepath.Join(t.TempDir(), "x.md")
	text := "```yaml\n# shop/x.yaml\nx: 1\n```\n\n<!-- run before: a -->\n```sh\nb\n```\n\n```output\nc\n```\n\n```\na drawing\n```\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := blocks.Read(page)
	if err != nil {
		t.Fatal(err)
	}
	want := []blocks.Block{{Page: page, Line: 7, Text: "b\n", Before: "a", Output: "c\n", Files: []blocks.File{{Name: "shop/x.yaml", Text: "# shop/x.yaml\nx: 1\n"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(page, []byte("```output\nc\n```\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := blocks.Read(page); err == nil {
		t.Error("output without commands is accepted")
	}
}

// TestRehearsal checks that the commands of a rehearsal change nothing, and that the ones after it are those of a page without one.
func TestRehearsal(t *testing.T) {
	setup, err := os.ReadFile("setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte("#!/bin/sh\necho \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := []blocks.Block{
		{Page: "x.md", Line: 1, Before: "rehearse", Text: "kubectl apply -f x\nkubectl rollout status x\n",
			Output: "apply -f x --dry-run=server --server-side --force-conflicts --field-manager=groundskeeper-local-plane\n"},
		{Page: "x.md", Line: 2, Before: "perform", Text: "kubectl apply -f x\nkubectl get x --watch\n", Output: "apply -f x\nget x --ignore-not-found\n"},
	}
	command := exec.Command("bash", "-c", blocks.Script(string(setup), b))
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if problems := blocks.CheckOutput(b, string(out)); err != nil || problems != nil {
		t.Errorf("%v, %v: %s", err, problems, out)
	}
}
