// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// lists are the rules of the check.
type lists struct {
	words   map[string][]expression // by their first word
	allowed []*allowance
}

// expression is an expression to avoid.
type expression struct {
	rest    []string // the words after the first
	instead string
}

// allowance is a place where an expression to avoid is correct.
type allowance struct {
	prefix string         // of paths; empty for all paths
	text   *regexp.Regexp // covers the expression; nil allows everything in these paths
	line   string
	used   bool
}

func readLists(directory string) (*lists, error) {
	read := func(name string, parse func(content string) error) error {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			return err
		}
		if err := parse(string(content)); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(directory, name), err)
		}
		return nil
	}
	l := &lists{words: map[string][]expression{}}
	if err := read("words.txt", l.parseWords); err != nil {
		return nil, err
	}
	if err := read("allowed.txt", l.parseAllowed); err != nil {
		return nil, err
	}
	return l, nil
}

// fields calls add with the fields of each line. Fields are separated by tabs; empty lines and comments (#) are skipped.
func fields(content string, count int, add func(fields []string) error) error {
	for number, line := range strings.Split(content, "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var found []string
		for field := range strings.SplitSeq(line, "\t") {
			if field = strings.TrimSpace(field); field != "" {
				found = append(found, field)
			}
		}
		if len(found) != count {
			return fmt.Errorf("line %d has %d fields separated by tabs, want %d", number+1, len(found), count)
		}
		if err := add(found); err != nil {
			return fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	return nil
}

func (l *lists) parseWords(content string) error {
	return fields(content, 2, func(fields []string) error {
		for text := range strings.SplitSeq(fields[0], "|") {
			words := strings.Fields(strings.ToLower(text))
			if len(words) == 0 {
				return fmt.Errorf("%q has an empty expression", fields[0])
			}
			l.words[words[0]] = append(l.words[words[0]], expression{words[1:], fields[1]})
		}
		return nil
	})
}

func (l *lists) parseAllowed(content string) error {
	return fields(content, 3, func(fields []string) error {
		a := &allowance{line: strings.Join(fields, "\t")}
		if fields[0] != "*" {
			a.prefix = fields[0]
		}
		if fields[1] != "*" {
			text, err := regexp.Compile(`(?i)` + fields[1])
			if err != nil {
				return err
			}
			a.text = text
		}
		if a.prefix == "" && a.text == nil {
			return fmt.Errorf("%q allows everything everywhere", a.line)
		}
		l.allowed = append(l.allowed, a)
		return nil
	})
}
