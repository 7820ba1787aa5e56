// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrowthChart(t *testing.T) {
	all := elementsOf(t, growthChart([]growth{
		{"heap <1>", "MiB", []line{
			{"CRD, JSON", []point{{1000, 4}, {10000, 40}, {100000, 400}}}, // linear
			{"Groundskeeper & others", []point{{1000, 1}, {10000, 20}, {100000, 400}}},
		}},
		{"resident memory", "MiB", []line{{"CRD, JSON", []point{{1000, -1}, {10000, 10}}}}},
	}))
	// Each ten times as many objects is the same step to the right; a flat line is linear growth.
	want := []string{"62.0,98.0 244.0,98.0 426.0,98.0", "62.0,195.5 244.0,163.0 426.0,98.0", "512.0,228.0 694.0,98.0"}
	if diff := cmp.Diff(want, of(all, "polyline", "points")); diff != "" {
		t.Errorf("lines: %s", diff)
	}
	if got := of(all, "circle", "cx"); len(got) != 8 {
		t.Errorf("dots at %v", got)
	}
	texts := of(all, "text", "")
	for _, text := range []string{"CRD, JSON", "Groundskeeper & others", "heap <1>, MiB", "4", "2", "1,000", "10,000", "100,000"} {
		if !slices.Contains(texts, text) {
			t.Errorf("%q is missing in %q", text, texts)
		}
	}
	if titles := of(all, "title", ""); !slices.Contains(titles, "Groundskeeper & others, 10,000 objects: 2.00") {
		t.Errorf("titles %q", titles)
	}
}

func TestGrowthChartOfOneNumber(t *testing.T) {
	all := elementsOf(t, growthChart([]growth{{"heap", "MiB", []line{{"Groundskeeper", []point{{100, 1}}}}}}))
	if got := of(all, "polyline", "points"); !slices.Equal(got, []string{"244.0,98.0"}) {
		t.Errorf("points at %v", got)
	}
	if drawing := growthChart(nil); drawing != "" {
		t.Errorf("nothing makes %s", drawing)
	}
}

func TestDescribe(t *testing.T) {
	proc := t.TempDir()
	if text := describe(proc); text != "" {
		t.Errorf("nothing is known, and the machine has %s", text)
	}
	if err := os.MkdirAll(filepath.Join(proc, "sys", "kernel"), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(file, content string) {
		if err := os.WriteFile(filepath.Join(proc, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("cpuinfo", "processor\t: 0\nprocessor variant\t: 7\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n")
	put("meminfo", "MemTotal:       24683128 kB\nMemFree:         1000 kB\n")
	put("sys/kernel/osrelease", "6.1.0-40-cloud\n")
	put("sys/kernel/hostname", "secret\n")
	if got, want := describe(proc), "2 CPUs, 24 GiB of memory, Linux 6.1.0-40-cloud"; got != want {
		t.Errorf("without a model: %q, not %q", got, want)
	}
	put("cpuinfo", "processor\t: 0\nmodel name\t: Fast  CPU @ 2.00GHz\nmodel\t: 7\n")
	if got, want := describe(proc), "1 CPUs (Fast CPU @ 2.00GHz), 24 GiB of memory, Linux 6.1.0-40-cloud"; got != want {
		t.Errorf("with a model: %q, not %q", got, want)
	}
}
