// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command mutants proves that tests notice a guard that is lost. It breaks the guards of deletions in its list one by one, runs the tests
// of their packages, and fails if one of them passes. The tree stays unchanged: the compiler gets the broken file as an overlay.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed mutants.txt
var list string

func main() {
	only := flag.String("only", "", "break only guards of files that match the regular `expression`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	all, err := parse(list)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	passes := map[string]bool{} // packages whose tests pass while nothing is broken
	count, unnoticed := 0, 0
	for _, m := range all {
		if !pattern.MatchString(m.file) {
			continue
		}
		if !passes[m.tests] {
			if output, err := test(ctx, m.tests); err != nil {
				return fmt.Errorf("the tests of %s fail already: %w\n%s", m.tests, err, output)
			}
			passes[m.tests] = true
		}
		noticed, err := m.noticed(ctx, dir)
		if err != nil {
			return err
		}
		count++
		result := "noticed  "
		if !noticed {
			result = "UNNOTICED"
			unnoticed++
		}
		fmt.Println(result, m)
	}
	if unnoticed > 0 {
		return fmt.Errorf("no test notices %d of %d broken guards", unnoticed, count)
	}
	fmt.Println(count, "broken guards were noticed")
	return nil
}

// mutant is a guard, and what breaks it.
type mutant struct {
	file string
	// tests is the package whose tests have to notice it, with ./ in front.
	tests       string
	guard, with string
}

func (m mutant) String() string { return fmt.Sprintf("%s: %s => %s", m.file, m.guard, m.with) }

// parse reads the list: paragraphs of a file, a guard ("- ") that it has once, what replaces it ("+ "), and, where it is not the
// package of the file, the package with the tests ("test ").
func parse(text string) (all []mutant, err error) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		var m mutant
		for line := range strings.SplitSeq(strings.TrimSpace(paragraph), "\n") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "file":
				m.file, m.tests = value, "./"+filepath.Dir(value)
			case "-":
				m.guard = value
			case "+":
				m.with = value
			case "test":
				m.tests = value
			case "#", "":
			default:
				return nil, fmt.Errorf("unknown line in the list: %q", line)
			}
		}
		if m == (mutant{}) {
			continue // a comment
		}
		if m.file == "" || m.guard == "" || m.with == "" {
			return nil, fmt.Errorf("a paragraph of the list lacks a line: %q", paragraph)
		}
		all = append(all, m)
	}
	return all, nil
}

// apply breaks the guard in the text of its file.
func (m mutant) apply(text string) (string, error) {
	if n := strings.Count(text, m.guard); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, not once: change the list", m.file, m.guard, n)
	}
	return strings.Replace(text, m.guard, m.with, 1), nil
}

// noticed reports whether the tests fail without the guard. That it does not compile is an error of the list.
func (m mutant) noticed(ctx context.Context, dir string) (bool, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return false, err
	}
	broken, err := m.apply(string(text))
	if err != nil {
		return false, err
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return false, err
	}
	replacement, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{file: replacement}})
	if err != nil {
		return false, err
	}
	if err := errors.Join(os.WriteFile(replacement, []byte(broken), 0o600), os.WriteFile(overlay, replaced, 0o600)); err != nil {
		return false, err
	}
	output, err := test(ctx, m.tests, "-overlay", overlay)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]") {
		return false, fmt.Errorf("%s does not compile:\n%s", m, output)
	}
	return err != nil, nil
}

// test runs the short tests of a package until one fails.
func test(ctx context.Context, tests string, flags ...string) (output string, err error) {
	args := append([]string{"test", "-short", "-failfast", "-timeout", "5m"}, flags...)
	combined, err := exec.CommandContext(ctx, "go", append(args, tests)...).CombinedOutput()
	return string(combined), err
}
