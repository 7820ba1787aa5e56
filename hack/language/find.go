// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// finding is an expression to avoid in a text.
type finding struct {
	path    string
	line    int
	text    string
	instead string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %q: write: %s", f.path, f.line, f.text, f.instead)
}

// check returns the problems of the files.
func (l *lists) check(paths []string, read func(path string) ([]byte, error)) ([]string, error) {
	var problems []string
	for _, file := range paths {
		content, err := read(file)
		if err != nil {
			return nil, err
		}
		for _, f := range l.find(file, content) {
			problems = append(problems, f.String())
		}
	}
	for _, a := range l.allowed {
		if !a.used {
			problems = append(problems, fmt.Sprintf("hack/language/allowed.txt: nothing needs %q: remove the entry", a.line))
		}
	}
	return problems, nil
}

// find returns the expressions to avoid in the texts of a file, in the names that it declares, and in its own name.
func (l *lists) find(file string, content []byte) []finding {
	t := textsOf(file, content)
	text := t.joined.String()
	findings := l.findIn(file, text, wordsOf(text), t.line)
	for _, i := range append(identifiersOf(file, content), identifier{name: file}) {
		for _, f := range l.findIn(file, i.name, partsOf(i.name), func(int) int { return i.line }) {
			f.text = i.name // The expression alone would not be found by a search.
			findings = append(findings, f)
		}
	}
	return findings
}

// findIn returns the expressions to avoid among the words of a text. The function returns the line of an offset.
func (l *lists) findIn(file, text string, words []word, line func(offset int) int) []finding {
	var findings []finding
	for i, first := range words {
		for _, e := range l.words[first.lower] {
			if !follow(words[i+1:], e.rest) {
				continue
			}
			start, end := first.start, words[i+len(e.rest)].end
			if !l.allows(file, text, start, end) {
				findings = append(findings, finding{file, line(start), text[start:end], e.instead})
			}
		}
	}
	return findings
}

// follow reports whether the words begin with the rest of an expression.
func follow(words []word, rest []string) bool {
	if len(words) < len(rest) {
		return false
	}
	for i := range rest {
		if words[i].lower != rest[i] || !words[i].adjacent {
			return false
		}
	}
	return true
}

// allows reports whether an entry of the allow list covers the expression between two offsets.
func (l *lists) allows(file, text string, start, end int) bool {
	const context = 80 // An entry describes the words around an expression, not a paragraph.
	from := max(0, start-context)
	around := text[from:min(len(text), end+context)]
	for _, a := range l.allowed {
		if !strings.HasPrefix(file, a.prefix) {
			continue
		}
		if a.text == nil {
			a.used = true
			return true
		}
		for _, covered := range a.text.FindAllStringIndex(around, -1) {
			if from+covered[0] <= start && end <= from+covered[1] {
				a.used = true
				return true
			}
		}
	}
	return false
}
