// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package docs has the tests of the documentation as a whole.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// pages returns the texts of all pages, by their path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{"_output", ".git", "node_modules"}, entry.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		content, err := os.ReadFile(path)
		found[path] = fence.ReplaceAllString(string(content), "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// anchors returns the names of the headings of a pagein the form of links.
func anchors(page string) []string {
	var all []string
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		name := strings.ToLower(strings.NewReplacer("`", "", "*", "").Replace(match[1]))
		name = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(name, "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// Each link leads to a file that exists, and to a heading that it has.
func TestLinks(t *testing.T) {
	all := pages(t)
	if len(all) < 20 {
		t.Fatalf("found %d pages only", len(all))
	}
	for path, page := range all {
		for _, match := range link.FindAllStringSubmatch(page, -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(match[1], "://") {
				continue
			}
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, match[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(all[to]), anchor) {
				t.Errorf("%s links to %s, which has no such heading", path, match[1])
			}
		}
	}
}

// Each page is reached from the README by links.
func TestPagesAreReached(t *testing.T) {
	all := pages(t)
	start := filepath.Join(root, "README.md")
	reached, queue := map[string]bool{start: true}, []string{start}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		for _, match := range link.FindAllStringSubmatch(all[path], -1) {
			target, _, _ := strings.Cut(match[1], "#")
			to := filepath.Join(filepath.Dir(path), target)
			if _, is := all[to]; is && target != "" && !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
	}
	for path := range all {
		if strings.HasPrefix(path, filepath.Join(root, "docs")) && !reached[path] {
			t.Errorf("no link leads to %s", path)
		}
	}
}
