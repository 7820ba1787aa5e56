// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	// age is a cell of a table of kubectl.
	age  = regexp.MustCompile(`  (\d+[smhd]){1,2}\b`)
	date = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	id   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

const (
	stableAge  = "  1s"
	stableDate = "2026-01-01T12:00:00Z"
	stableID   = "00000000-0000-4000-8000-%012d"
)

// stable returns a transcript with the same ages, times and IDs in each run. IDs are numbered as they appear, and what a program lists by
// their random order is listed by the rest of its line. Commands are left as they are.
func stable(transcript string) string {
	lines := strings.Split(transcript, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "    $ ") {
			line = age.ReplaceAllStringFunc(line, func(cell string) string { return fmt.Sprintf("%-*s", len(cell), stableAge) })
			lines[i] = date.ReplaceAllString(strings.TrimRight(line, " "), stableDate)
		}
	}
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && randomOrder(lines[from]) != "" && randomOrder(lines[to]) == randomOrder(lines[from]) {
			to++
		}
		slices.SortStableFunc(lines[from:to], func(a, b string) int {
			return cmp.Compare(id.ReplaceAllString(a, ""), id.ReplaceAllString(b, ""))
		})
		from = to
	}
	numbers := map[string]string{}
	return id.ReplaceAllStringFunc(strings.Join(lines, "\n"), func(random string) string {
		if numbers[random] == "" {
			numbers[random] = fmt.Sprintf(stableID, len(numbers)+1)
		}
		return numbers[random]
	})
}

// randomOrder returns what precedes the ID in a line. Those of consecutive lines in which it is the same are in a random order.
func randomOrder(line string) string {
	if at := id.FindStringIndex(line); at != nil {
		return line[:at[0]]
	}
	return ""
}

// writePage writes the page of a run, and the cast of one of its acts. An act that needs more than this run had stays as it is in the page.
func writePage(file, transcript string) error {
	former, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, more, found := strings.Cut(string(former), optional); found && !strings.Contains(transcript, optional) {
		transcript += optional + more
	}
	page := stable(transcript)
	drawing := filepath.Join(filepath.Dir(file), castFile)
	if err := os.MkdirAll(filepath.Dir(drawing), 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(file, []byte(page), 0o644), os.WriteFile(drawing, []byte(cast(page)), 0o644))
}

// checkPage returns an error unless a run has shown what the page in docs does, but for its pictures.
func checkPage(file, transcript string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	want := pictureLine.ReplaceAllString(string(page), "")
	if !strings.Contains(transcript, optional) {
		want, _, _ = strings.Cut(want, optional)
	}
	shown, wanted := strings.Split(stable(transcript), "\n"), strings.Split(want, "\n")
	for i := range max(len(shown), len(wanted)) {
		if got, want := line(shown, i), line(wanted, i); got != want {
			return fmt.Errorf("this run has shown %q where %s has %q: if the run is right, write the page "+
				"(docs/development.md, \"A demonstration\")", got, file, want)
		}
	}
	return nil
}

// line returns one of some lines, or "" after the last one.
func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// pictureLine is what a picture adds to the page.
var pictureLine = regexp.MustCompile(`\n!\[.*\]\(.*\)\n`)

// optional is how the act begins that not all runs have.
const optional = "\n## Act 8: "
