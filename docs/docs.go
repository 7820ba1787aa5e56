// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package docs has the tables of the documentation that programs print, so that the same remedy is in both, and the pages that the console
// serves.
package docs

import (
	"embed"
	"regexp"
	"slices"
	"strings"
)

//go:embed deorbit.md
var deorbit string

// Pages are the pages that the console links to.
//
//go:embed projects.md stale-projects.md klusters.md deorbit.md backend-add.md backend-maintenance.md translations.md local-volumes.md admission.md
var Pages embed.FS

// DeorbitRemedy returns what a user does about a reason of the condition Deorbited of a Kluster; "" for the name of a stage.
func DeorbitRemedy(reason string) string {
	for _, row := range rows(section(deorbit, "When Deorbit is stuck")) {
		if slices.Contains(strings.Split(row[0], ", "), reason) {
			return row[1]
		}
	}
	return ""
}

// LeftoverRemedy returns what a user does about an object that Deorbit leaves over for a reason, and the reasons that this is for; "" when
// the reason is in no table.
func LeftoverRemedy(reason string) (pattern, remedy string) {
	for _, row := range rows(section(deorbit, "What is left over")) {
		for candidate := range strings.SplitSeq(row[0], "; ") {
			if len(candidate) > len(pattern) && matches(reason, candidate) { // the most specific one
				pattern, remedy = candidate, row[1]
			}
		}
	}
	return pattern, remedy
}

// matches reports whether a text has the parts of a pattern in their order. "…" separates them.
func matches(text, pattern string) bool {
	for part := range strings.SplitSeq(pattern, "…") {
		_, rest, found := strings.Cut(text, strings.TrimSpace(part))
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// section returns a section of a page.
func section(page, title string) string {
	_, text, _ := strings.Cut(page, "\n## "+title+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// link is a link in Markdown.
var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// rows returns the rows of all tables with two columns in a section, without markup.
func rows(section string) (all [][2]string) {
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| reason |") || len(cells) != 2 {
			continue
		}
		var row [2]string
		for i, cell := range cells {
			row[i] = strings.TrimSpace(strings.ReplaceAll(link.ReplaceAllString(cell, "$1"), "`", ""))
		}
		all = append(all, row)
	}
	return all
}
