// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
