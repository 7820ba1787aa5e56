// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

const output = `goos: linux
pkg: groundskeeper.io/groundskeeper/pkg/a
BenchmarkOne-2              20       2011 ns/op      1000 B/op       10 allocs/op
BenchmarkTwo/with_parts     20      21 ns/op   3.5 MB/s      0 B/op        0 allocs/op
PASS
`

func TestParse(t *testing.T) {
	measured, err := parseOutput("pkg/a", output)
	if err != nil {
		t.Fatal(err)
	}
	want := []result{{"pkg/a", "BenchmarkOne", 1000, 10}, {"pkg/a", "BenchmarkTwo/with_parts", 0, 0}}
	if !slices.Equal(measured, want) {
		t.Errorf("measured %+v", measured)
	}
	recorded, err := parseRecord(printRecord(measured))
	if err != nil || !slices.Equal(recorded, want) {
		t.Errorf("read back %+v: %v", recorded, err)
	}
	if got := pattern("pkg/a", recorded); got != "^(BenchmarkOne|BenchmarkTwo)$" {
		t.Error(got)
	}
	if _, err := parseOutput("pkg/a", "PASS\n"); err == nil {
		t.Error("a package without benchmarks passes")
	}
	for _, content := range []string{"pkg/a BenchmarkOne 1", "pkg/a BenchmarkOne x 1", "pkg/a BenchmarkOne 1 x"} {
		if _, err := parseRecord(content); err == nil {
			t.Errorf("%q was read", content)
		}
	}
}

func TestCompare(t *testing.T) {
	recorded := []result{{"pkg/a", "BenchmarkOne", 1000, 100}}
	for name, test := range map[string]struct {
		measured result
		want     string
	}{
		"the same":         {result{"pkg/a", "BenchmarkOne", 1000, 100}, ""},
		"less":             {result{"pkg/a", "BenchmarkOne", 10, 1}, ""},
		"noise":            {result{"pkg/a", "BenchmarkOne", 1060, 101}, ""},
		"more bytes":       {result{"pkg/a", "BenchmarkOne", 1200, 100}, "1200 bytes, want at most 1000"},
		"more allocations": {result{"pkg/a", "BenchmarkOne", 1000, 110}, "110 allocations, want at most 100"},
		"another":          {result{"pkg/a", "BenchmarkTwo", 1000, 100}, "BenchmarkOne is recorded, but did not run; pkg/a BenchmarkTwo runs, but is not recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(compare(recorded, []result{test.measured}), "; ")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
