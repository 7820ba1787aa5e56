// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command flakes finds tests whose outcome depends on which process is quicker. It repeats each test alone, half of the times on the
// machine without a load and half of the times beside one, and lists those that failed. With -changed-since it repeats only tests that
// have changed since a commit.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// options are what the flags set.
type options struct {
	times    int
	limit    time.Duration
	since    string
	run      *regexp.Regexp
	logs     string
	packages []string
}

func main() {
	if loads() {
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "flakes:", err)
		os.Exit(1)
	}
}

// run does what the command line requests.
func run() error {
	var o options
	pattern := flag.String("run", "", "repeat only tests whose names match the regular expression")
	flag.IntVar(&o.times, "times", 5, "how often each test is repeated alone, and how often beside a load")
	flag.DurationVar(&o.limit, "limit", 0, "begin no further test after this time; 0: no limit")
	flag.StringVar(&o.since, "changed-since", "", "repeat only tests that have changed since this commit, or that use what has changed in their package's test files")
	flag.StringVar(&o.logs, "logs", filepath.Join("_output", "flakes"), "`directory` for the output of tests that failed")
	flag.Parse()
	o.packages = flag.Args()
	var err error
	if o.run, err = regexp.Compile(*pattern); err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return repeat(ctx, o, os.Stdout)
}

// repeat repeats the tests and fails when one of them did.
func repeat(ctx context.Context, o options, out io.Writer) error {
	packages, err := list(ctx, o.packages)
	if err != nil {
		return err
	}
	var tests []test
	for _, p := range packages {
		names, err := p.tests(ctx, o.since)
		if err != nil {
			return err
		}
		for _, name := range names {
			if o.run.MatchString(name) {
				tests = append(tests, test{p, name})
			}
		}
	}
	binaries, err := os.MkdirTemp("", "flakes")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(binaries) }()
	r := &runner{options: o, binaries: binaries, out: out, began: time.Now()}
	for round := range 2 * o.times {
		if err := r.round(ctx, round, tests); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d tests, %d runs, %d of them left out by the limit, %d failed\n", len(tests), r.runs, r.late, len(r.failed))
	if len(r.failed) > 0 {
		return fmt.Errorf("tests failed, their output is in %s:\n%s", o.logs, strings.Join(r.failed, "\n"))
	}
	return nil
}

// command runs a program and returns what it prints.
func command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd, err, cmp.Or(strings.TrimSpace(stderr.String()), "no output"))
	}
	return string(text), nil
}
