// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// result has the allocations of a benchmark per operation.
type result struct {
	// directory is the path of the package in the repository; name has no suffix with the number of CPUs.
	directory, name string
	bytes, objects  int64
}

// Tolerances. The allocations of runs differ, because maps grow at random and pools are emptied.
const (
	moreBytes, someBytes     = 0.05, 64
	moreObjects, someObjects = 0.01, 1
)

// parseRecord parses lines with a directory, a name, and the bytes and allocations per operation. Lines with # are comments.
func parseRecord(content string) ([]result, error) {
	var all []result
	for n, line := range strings.Split(content, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 4 {
			return nil, fmt.Errorf("line %d has %d fields, not 4", n+1, len(fields))
		}
		r := result{directory: fields[0], name: fields[1]}
		var err error
		if r.bytes, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if r.objects, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func printRecord(all []result) string {
	var out strings.Builder
	out.WriteString("# Allocations of the benchmarks of hot code per operation: package, benchmark, bytes, allocations.\n" +
		"# go run ./hack/benchmarks compares, go run ./hack/benchmarks -record updates the record.\n")
	for _, r := range all {
		fmt.Fprintln(&out, r.directory, r.name, r.bytes, r.objects)
	}
	return out.String()
}

// directories returns the packages of the record, in its order.
func directories(recorded []result) []string {
	var all []string
	for _, r := range recorded {
		if !slices.Contains(all, r.directory) {
			all = append(all, r.directory)
		}
	}
	return all
}

// pattern returns the argument of go test -bench for the benchmarks of a package, without the names of sub-benchmarks.
func pattern(directory string, recorded []result) string {
	var names []string
	for _, r := range recorded {
		name, _, _ := strings.Cut(r.name, "/")
		if r.directory == directory && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

var outputLine = regexp.MustCompile(`(?m)^(Benchmark\S+?)(?:-\d+)?\s.*?(\d+) B/op\s+(\d+) allocs/op`)

// parseOutput parses the output of go test -benchmem.
func parseOutput(directory, output string) ([]result, error) {
	var all []result
	for _, match := range outputLine.FindAllStringSubmatch(output, -1) {
		r := result{directory: directory, name: match[1]}
		r.bytes, _ = strconv.ParseInt(match[2], 10, 64)
		r.objects, _ = strconv.ParseInt(match[3], 10, 64)
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no benchmark ran:\n%s", directory, output)
	}
	return all, nil
}

// compare returns which benchmarks allocate more than recorded, are recorded but no longer exist, or run and are not recorded.
func compare(recorded, measured []result) []string {
	var problems []string
	for _, r := range recorded {
		i := slices.IndexFunc(measured, func(m result) bool { return m.directory == r.directory && m.name == r.name })
		if i < 0 {
			problems = append(problems, fmt.Sprintf("%s %s is recorded, but did not run", r.directory, r.name))
			continue
		}
		m := measured[i]
		if limit := int64(float64(r.bytes)*(1+moreBytes)) + someBytes; m.bytes > limit {
			problems = append(problems, fmt.Sprintf("%s %s: %d bytes, want at most %d", r.directory, r.name, m.bytes, r.bytes))
		}
		if limit := int64(float64(r.objects)*(1+moreObjects)) + someObjects; m.objects > limit {
			problems = append(problems, fmt.Sprintf("%s %s: %d allocations, want at most %d", r.directory, r.name, m.objects, r.objects))
		}
	}
	for _, m := range measured {
		if !slices.ContainsFunc(recorded, func(r result) bool { return m.directory == r.directory && m.name == r.name }) {
			problems = append(problems, fmt.Sprintf("%s %s runs, but is not recorded", m.directory, m.name))
		}
	}
	return problems
}
