// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command page writes docs/performance.md and its drawings from the figures of a benchmark: lines of JSON on stdin.
//
//	make bench > figures.json; go run ./test/bench/page -machine "2 cores, …" < figures.json
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
	docs := flag.String("docs", "docs", "the folder of the page")
	machine := flag.String("machine", "", "what the figures were measured on, in words")
	flag.Parse()
	if err := run(os.Stdin, *docs, *machine); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, docs, machine string) error {
	if machine == "" {
		return errors.New("-machine: say what the figures were measured on")
	}
	figures, err := read(in)
	if err != nil {
		return err
	}
	page, drawings, err := render(figures, machine)
	if err != nil {
		return err
	}
	folder := filepath.Join(docs, "drawings")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, drawing := range drawings {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(drawing), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(docs, "performance.md"), []byte(page), 0o600)
}

// read decodes the lines of a benchmark.
func read(in io.Reader) ([]report.Figure, error) {
	var figures []report.Figure
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		var figure report.Figure
		if err := json.Unmarshal(lines.Bytes(), &figure); err != nil {
			return nil, fmt.Errorf("line %d is no figure: %w", n, err)
		}
		figures = append(figures, figure)
	}
	if len(figures) == 0 {
		return nil, errors.New("no figures on stdin")
	}
	return figures, lines.Err()
}
