// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	spaces = regexp.MustCompile(`[ \t]+`)
	age    = regexp.MustCompile(`\b\d+(?:ms|s|m|h|d)(?:\d+[smhd])?\b`)
	suffix = regexp.MustCompile(`-[0-9a-f]{5}\b`)
	// kubectl 1.37 logs the end of the watch of "kubectl wait", depending on the moment.
	logs = regexp.MustCompile(`(?m)^[IWEF]\d{4} [\d:.]+ .*\n`)
)

// CheckOutput compares what a page shows as the output of each block with what its script printed. In what a page shows, "…" stands for any
// text in a line, and for any lines in a line without other text. Widths of columns, ages, and the generated ends of names may differ; log lines of kubectl are
// ignored.
func CheckOutput(blocks []Block, printed string) []error {
	var problems []error
	for _, b := range blocks {
		if b.Output == "" || b.NotRun != "" {
			continue
		}
		_, got, _ := strings.Cut(printed, b.begin()+"\n")
		got, _, _ = strings.Cut(got, b.end()+"\n")
		if !pattern(b.Output).MatchString(normalize(got)) {
			problems = append(problems, fmt.Errorf("%s:%d: output = \n%s\nwant\n%s", b.Page, b.Line, got, b.Output))
		}
	}
	return problems
}

// normalize removes what differs between two runs of the same commands.
func normalize(text string) string {
	text = logs.ReplaceAllString(text, "")
	text = suffix.ReplaceAllString(age.ReplaceAllString(spaces.ReplaceAllString(text, " "), "AGE"), "-SUFFIX")
	return strings.ReplaceAll(text, " \n", "\n")
}

// pattern matches the output that a page shows.
func pattern(shown string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for line := range strings.Lines(normalize(shown)) {
		if line == "…\n" {
			b.WriteString("(?:.*\n)*")
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	return regexp.MustCompile(b.String() + "$")
}
