// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package blocks finds the commands of the documentation: the blocks of sh in README.md and docs. Each is run by
// test/integration (TestWebhooks, whose plane has the webhooks of an installation), unless a comment in front of it gives the
// reason why it is not. A block of output below it is what the commands have to print.
package blocks

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Block is a block of commands.
type Block struct {
	// Page is its file, and Line the one where it begins.
	Page string
	Line int
	Text string
	// NotRun is the reason why it is not run, "" when it is.
	NotRun string
	// Before are commands that create what the block requires. They are not shown.
	Before string
	// Files are those that the page shows between the block before and this one.
	Files []File
	// Output is what the page shows as its output, "" when it shows none.
	Output string
}

// File is a file that a page shows, by a comment with its name in the first line. The commands below it can use it.
type File struct{ Name, Text string }

var (
	fence  = regexp.MustCompile("(?m)^( *)```(sh|yaml|output)\n((?:.*\n)*?)^ *```$")
	notRun = regexp.MustCompile(`<!-- not run: (.*) -->\n$`)
	before = regexp.MustCompile(`<!-- run before: (.*) -->\n$`)
	named  = regexp.MustCompile(`^# ([\w./-]+\.ya?ml)\n`)
	// rejected marks a command that has to fail, or to print no.
	rejected = regexp.MustCompile(`(?m)^(.*?)\s+# (?:(?:rejected|forbidden).*|no)$`)
)

// Pages returns the pages below the root of the repository that have commands.
func Pages(root string) ([]string, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	return append([]string{filepath.Join(root, "README.md")}, pages...), err
}

// Read returns the commands of a page.
func Read(page string) ([]Block, error) {
	content, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	var blocks []Block
	var files []File
	text := string(content)
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		indent, body := text[at[2]:at[3]], text[at[6]:at[7]]
		body = strings.TrimPrefix(strings.ReplaceAll("\n"+body, "\n"+indent, "\n"), "\n")
		switch text[at[4]:at[5]] {
		case "yaml":
			if name := named.FindStringSubmatch(body); name != nil {
				files = append(files, File{name[1], body})
			}
			continue
		case "output":
			if len(blocks) == 0 || blocks[len(blocks)-1].Output != "" {
				return nil, fmt.Errorf("%s:%d: output without commands", page, strings.Count(text[:at[0]], "\n")+1)
			}
			blocks[len(blocks)-1].Output = body
			continue
		}
		b := Block{Page: page, Line: strings.Count(text[:at[0]], "\n") + 1, Text: body, Files: files}
		files = nil
		if reason := notRun.FindStringSubmatch(text[:at[0]]); reason != nil {
			b.NotRun = strings.TrimSpace(reason[1])
		}
		if commands := before.FindStringSubmatch(text[:at[0]]); commands != nil {
			b.Before = commands[1]
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// Script returns a script that runs the commands of a page one after the other, and ends where one fails. A command with the
// comment "rejected", "forbidden" or "no" has to fail. status and why end with 1 when there are findings, which is no failure, and what
// a watch would print until it is interrupted is printed once.
// setup defines what the comments "run before" call. Where one of them changes the user, it does so for its block.
func Script(setup string, blocks []Block) string {
	var script strings.Builder
	script.WriteString(`set -o errexit -o nounset -o pipefail
administrator=${KUBECONFIG:-}
rejected() { if "$@"; then echo "this was not rejected: $*" >&2; exit 1; fi; }
kubectl() {
  local code=0
  command kubectl "${@/#--watch/--ignore-not-found}" || code=$?
  [[ $code == 1 && ${1:-} == groundskeeper && (${2:-} == status || ${2:-} == why) ]] || return "$code"
}
`)
	script.WriteString(setup)
	for _, b := range blocks {
		for _, file := range b.Files {
			fmt.Fprintf(&script, "\nmkdir -p '%s'\ncat >'%s' <<'END OF FILE'\n%sEND OF FILE\n", filepath.Dir(file.Name), file.Name, file.Text)
		}
		if b.NotRun == "" {
			fmt.Fprintf(&script, "\n%s\necho '%s'\n%s\necho '%s'\nKUBECONFIG=$administrator\n", b.Before, b.begin(), rejected.ReplaceAllString(b.Text, "rejected $1"), b.end())
		}
	}
	return script.String()
}

// begin and end surround the output of a block in the output of a script.
func (b Block) begin() string { return fmt.Sprintf("# %s:%d", filepath.Base(b.Page), b.Line) }
func (b Block) end() string   { return b.begin() + " end" }

// Runs reports whether a page has commands that are run.
func Runs(blocks []Block) bool {
	return slices.ContainsFunc(blocks, func(b Block) bool { return b.NotRun == "" })
}
