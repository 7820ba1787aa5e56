// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command page writes docs/performance.md and its drawings from the output of benchmarks: lines of JSON on stdin. What they did not
// measure, the page does not have.
//
//	make bench > figures.jsonl; go run ./test/bench/page < figures.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

func main() {
	docs := flag.String("docs", "docs", "the directory of the page")
	here := describe("/proc")
	machine := flag.String("machine", here, "what the figures were measured on, in words")
	flag.Parse()
	if err := run(os.Stdin, *docs, *machine); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, docs, machine string) error {
	if machine == "" {
		return errors.New("-machine:report what the figures were measured on")
	}
	input, err := read(in)
	if err != nil {
		return err
	}
	page, drawings, err := render(input, machine)
	if err != nil {
		return err
	}
	directory := filepath.Join(docs, "drawings")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for name, drawing := range drawings {
		if err := write(filepath.Join(directory, name), drawing); err != nil {
			return err
		}
	}
	return write(filepath.Join(docs, "performance.md"), page)
}

// write writes a file. An empty one is removed: it is what an earlier run had and this one has not.
func write(path, content string) error {
	if content != "" {
		return os.WriteFile(path, []byte(content), 0o644) //nolint:gosec // a page for everyone
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// The output of benchmarks.
type input struct {
	figures []report.Figure
	facts   []report.Fact
}

// read decodes the lines of benchmarks.
func read(in io.Reader) (input, error) {
	var all input
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		var fact report.Fact
		if err := json.Unmarshal(lines.Bytes(), &fact); err != nil {
			return input{}, fmt.Errorf("line %d is no figure: %w", n, err)
		}
		if fact.Fact != "" {
			all.facts = append(all.facts, fact)
			continue
		}
		var figure report.Figure
		if err := json.Unmarshal(lines.Bytes(), &figure); err != nil {
			return input{}, fmt.Errorf("line %d is no figure: %w", n, err)
		}
		if figure.Benchmark == "" || figure.Name == "" {
			return input{}, fmt.Errorf("line %d is no figure: it has no benchmark and name", n)
		}
		all.figures = append(all.figures, figure)
	}
	if err := lines.Err(); err != nil {
		return input{}, err
	}
	if len(all.figures) == 0 {
		return input{}, errors.New("no figures on stdin")
	}
	return all, nil
}
