// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command benchmarks runs the Go benchmarks that are listed in recorded.txt, and fails if one allocates more than recorded. Times are
// not compared, because they depend on the machine. With -record it updates the record, for changes that justify more allocations.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	record := flag.Bool("record", false, "write the measured allocations into recorded.txt")
	flag.Parse()
	if err := run(filepath.Join("hack", "benchmarks", "recorded.txt"), *record); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(file string, record bool) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	recorded, err := parseRecord(string(content))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var measured []result
	for _, directory := range directories(recorded) {
		results, err := measure(directory, recorded)
		if err != nil {
			return err
		}
		measured = append(measured, results...)
	}
	if record {
		return os.WriteFile(file, []byte(printRecord(measured)), 0o600)
	}
	problems := compare(recorded, measured)
	if len(problems) > 0 {
		return errors.New("benchmarks allocate more than is recorded (if this is intended, run go run ./hack/benchmarks -record):\n" + strings.Join(problems, "\n"))
	}
	fmt.Printf("%d benchmarks allocate no more than is recorded\n", len(measured))
	return nil
}

// measure runs the recorded benchmarks of a package.
func measure(directory string, recorded []result) ([]result, error) {
	command := exec.CommandContext(context.Background(), "go", "test", "-run", "^$", "-bench", pattern(directory, recorded), "-benchmem", "-benchtime", "200x", "./"+directory) //nolint:gosec // packages of this module
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", directory, err, out.String())
	}
	return parseOutput(directory, out.String())
}
