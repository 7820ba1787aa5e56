// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"sort"
	"strings"
)

// texts are the texts of a file as one string. Lines are joined by a space, so that an expression is found where a line break
// divides it.
type texts struct {
	joined strings.Builder
	starts []int // offset of each line in joined
	lines  []int // number of each line in the file
}

// mark is what precedes the text of a line in comments and quotations.
var mark = regexp.MustCompile(`^\s*(?://+|#+|>|\*)?\s*`)

func (t *texts) add(line int, text string) {
	for i, piece := range strings.Split(text, "\n") {
		t.starts = append(t.starts, t.joined.Len())
		t.lines = append(t.lines, line+i)
		t.joined.WriteString(mark.ReplaceAllString(piece, ""))
		t.joined.WriteByte(' ')
	}
}

// line returns the line of an offset in the joined text.
func (t *texts) line(offset int) int { return t.lines[sort.SearchInts(t.starts, offset+1)-1] }

// word is a word of a text. Names of several parts (us-east, docs/permissions.md) are one word.
type word struct {
	lower      string
	start, end int  // offsets in the text
	adjacent   bool // to the word before it: only space is between them
}

var wordPattern = regexp.MustCompile(`[A-Za-z0-9]+(?:[-_/.'][A-Za-z0-9]+)*`)

func wordsOf(text string) []word {
	var words []word
	end := 0
	for _, at := range wordPattern.FindAllStringIndex(text, -1) {
		found, possessive := strings.CutSuffix(strings.ToLower(text[at[0]:at[1]]), "'s")
		to := at[1]
		if possessive {
			to -= len("'s")
		}
		words = append(words, word{found, at[0], to, strings.TrimSpace(text[end:at[0]]) == ""})
		end = at[1]
	}
	return words
}

// hasText reports whether the check reads files with this name.
func hasText(file string) bool {
	switch path.Ext(file) {
	case ".go", ".md", ".yaml", ".yml", ".proto", ".sh", ".tpl", ".svg", ".json":
		return true
	}
	base := path.Base(file)
	return base == "Makefile" || base == "Dockerfile" || base == "NOTES.txt" || file == ".ci/run"
}

// textsOf returns comments and strings of Go, and all of any other file: quoted output has to follow the output.
func textsOf(file string, content []byte) *texts {
	t := &texts{}
	if path.Ext(file) == ".go" {
		t.addGo(content)
	} else {
		t.add(1, string(content))
	}
	return t
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// addGo adds comments and strings. Generated code is skipped, because its source is checked, and so are strings of one word,
// because these are values: names, fields, reasons, labels of metrics.
func (t *texts) addGo(content []byte) {
	if generated.Match(content) {
		return
	}
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(content))
	var s scanner.Scanner
	s.Init(file, content, nil, scanner.ScanComments)
	for {
		at, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return
		case token.COMMENT:
			t.add(file.Line(at), strings.TrimPrefix(strings.TrimSuffix(literal, "*/"), "/*"))
		case token.STRING:
			if text := strings.Trim(literal, "`\""); strings.ContainsAny(text, " \n") {
				t.add(file.Line(at), text)
			}
		}
	}
}
