// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command mutants proves that tests notice a guard that is lost. It breaks the guards of deletions in its list one by one, runs the tests
// of their packages, and fails if one of them passes. The tests of a package are compiled once: each function with a guard gets a copy
// without it, and a variable of the environment chooses. The tree stays unchanged, because the compiler gets these files as an overlay.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
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
	all = slices.DeleteFunc(all, func(m mutant) bool { return !pattern.MatchString(m.file) })
	packages := map[string][]mutant{} // by the package of their tests
	for _, m := range all {
		packages[m.tests] = append(packages[m.tests], m)
	}
	var errs []error
	unnoticed := 0
	for _, tests := range slices.Sorted(maps.Keys(packages)) {
		found, err := breakEach(ctx, filepath.Join(dir, strings.ReplaceAll(tests, "/", "_")), tests, packages[tests])
		errs = append(errs, err)
		unnoticed += found
	}
	if unnoticed > 0 {
		errs = append(errs, fmt.Errorf("no test notices %d of %d broken guards", unnoticed, len(all)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Println(len(all), "broken guards were noticed")
	return nil
}

// breakEach breaks the guards one by one whose tests are in a package, and returns how many of them no test noticed. The tests are
// compiled once, with every guard and its broken form, and run once for each. The names of files that it writes begin with the prefix.
func breakEach(ctx context.Context, prefix, tests string, all []mutant) (unnoticed int, err error) {
	if err := compile(ctx, prefix, tests, all); err != nil {
		return 0, err
	}
	if output, err := testWith(ctx, prefix, tests, 0); err != nil {
		return 0, fmt.Errorf("the tests of %s fail already: %w\n%s", tests, err, output)
	}
	for i, m := range all {
		result := "noticed  "
		if _, err := testWith(ctx, prefix, tests, i+1); err == nil {
			result = "UNNOTICED"
			unnoticed++
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		fmt.Println(result, m)
	}
	return unnoticed, nil
}

// compile compiles the tests of a package, with guards that are numbered from 1.
func compile(ctx context.Context, prefix, tests string, all []mutant) error {
	files := map[string]map[int]mutant{}
	for i, m := range all {
		if files[m.file] == nil {
			files[m.file] = map[int]mutant{}
		}
		files[m.file][i+1] = m
	}
	replaced, count := map[string]string{}, 0
	replace := func(file, text string) error {
		file, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		count++
		replaced[file] = fmt.Sprintf("%s.%d.go", prefix, count)
		return os.WriteFile(replaced[file], []byte(text), 0o600)
	}
	for file, guards := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rewritten, name, err := rewrite(string(text), guards)
		if err != nil {
			return err
		}
		if err := errors.Join(replace(file, rewritten),
			replace(filepath.Join(filepath.Dir(file), "broken_guard.go"), fmt.Sprintf(chosen, name))); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return err
	}
	if err := os.WriteFile(prefix+".json", overlay, 0o600); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", prefix+".json", "-o", prefix+".test", tests)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("guards that are broken in %s do not compile: %w\n%s", tests, err, output)
	}
	return nil
}

// testWith runs the short tests of a package until one fails, with one guard broken; 0: with none.
func testWith(ctx context.Context, prefix, tests string, number int) (output string, err error) {
	command := exec.CommandContext(ctx, prefix+".test", "-test.short", "-test.failfast", "-test.timeout", "5m")
	command.Dir, command.Env = tests, append(os.Environ(), fmt.Sprintf("BROKEN_GUARD=%d", number))
	combined, err := command.CombinedOutput()
	return string(combined), err
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
