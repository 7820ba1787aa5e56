// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

// figure returns one of the comparison.
func figure(series, name, unit string, value float64) report.Figure {
	return report.Figure{Benchmark: comparison, Series: series, Name: name, Unit: unit, Value: value}
}

func TestTable(t *testing.T) {
	p := page{input: input{figures: []report.Figure{
		figure("CRD, JSON", "create, 16 concurrent: rate", "1/s", 500),
		figure("CRD, JSON", "create, 16 concurrent: p99", "ms", 9),
		figure("direct, protobuf", "create, 16 concurrent: rate", "1/s", 1500),
		figure("aggregated, JSON", "get, 1 concurrent: rate", "1/s", 20.25),
		figure("etcd", "create of a key, 16 concurrent: rate", "1/s", 9000),
		{Benchmark: "projects", Series: "CRD, JSON", Name: "a|b: rate", Value: 1},
	}}}
	want := []Row{
		{"create", []string{"500", "–", "–", "–", "1500"}},
		{"get, 1 concurrent", []string{"–", "20.2", "–", "–", "–"}},
	}
	if diff := cmp.Diff(want, p.Table("rate")); diff != "" {
		t.Error(diff)
	}
	if rows := p.Table("p50"); rows != nil {
		t.Errorf("p50 was not measured: %v", rows)
	}
}

func TestWeights(t *testing.T) {
	const heap, stored = "heap after a garbage collection for 10,000 objects", "bytes of an object in etcd"
	p := page{input: input{figures: []report.Figure{
		figure("CRD, JSON", heap, "MiB", 60), figure("Groundskeeper", heap, "MiB", 15), figure("Groundskeeper", heap+", relative to the CRD's", "1", 0.25),
		figure("Groundskeeper", stored, "B", 900), figure("Groundskeeper", stored+", relative to the CRD's", "1", 0.5),
	}}}
	if diff := cmp.Diff([]Row{{heap, []string{"60.0 MiB", "15.0 MiB"}}, {stored, []string{"–", "900 B"}}}, p.Weights()); diff != "" {
		t.Error(diff)
	}
}

func TestGoals(t *testing.T) {
	p := page{input: input{figures: []report.Figure{
		{Benchmark: "sidebyside", Series: "direct, JSON", Name: "get: CPU", Value: 0.6, Unit: "1", Goal: new(0.5), Least: new(0.4), Most: new(0.75)},
		{Benchmark: "projects", Process: "manager", Name: "memory|peak", Value: 87, Unit: "MiB", Goal: new(100.0)},
		{Benchmark: "projects", Name: "without a goal", Value: 3, Unit: "s"},
	}}}
	want := []Row{
		{"direct, JSON: get: CPU", []string{"sidebyside", "0.60 (0.40 to 0.75)", "0.50", "**missed**"}},
		{`manager: memory\|peak`, []string{"projects", "87.0 MiB", "100 MiB", "met"}},
	}
	if diff := cmp.Diff(want, p.Goals()); diff != "" {
		t.Error(diff)
	}
}

func TestSections(t *testing.T) {
	p := page{input: input{figures: []report.Figure{
		{Benchmark: "projects", Name: "time until all are Ready", Value: 23.3, Unit: "s", Objects: 1000, Goal: new(25.0)},
		{Benchmark: "novelty", Name: "requests", Value: 2, Unit: "1"},
		{Benchmark: "projects", Process: "manager", Name: "memory", Value: 120, Unit: "MiB", Goal: new(100.0)},
		figure("CRD, JSON", "create, 16 concurrent: rate", "1/s", 500),
	}}}
	want := []Section{
		{"Projects", []Row{
			{"time until all are Ready", []string{"1,000", "23.3", "s", "25.0", "met"}},
			{"manager: memory", []string{"", "120", "MiB", "100", "**missed**"}},
		}},
		{"novelty", []Row{{"requests", []string{"", "2.00", "", "", ""}}}},
	}
	if diff := cmp.Diff(want, p.Sections()); diff != "" {
		t.Error(diff)
	}
}

func TestGrowthRows(t *testing.T) {
	grown := func(series, what, unit string, objects int, value float64) report.Figure {
		f := figure(series, growing+what, unit, value)
		f.Objects = objects
		return f
	}
	manager := grown("", "resident memory", "MiB", 10000, 70)
	manager.Process = "manager"
	p := page{input: input{figures: []report.Figure{
		grown("CRD, JSON", "heap", "MiB", 10000, 40), grown("CRD, JSON", "heap", "MiB", 1000, 4),
		grown("Groundskeeper", "heap", "MiB", 10000, 10), grown("Groundskeeper", "heap for each object", "1", 10000, 1.1), manager,
	}}}
	if diff := cmp.Diff([]string{"1,000", "10,000"}, p.GrowthColumns()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Row{{"CRD, JSON: heap, MiB", []string{"4.00", "40.0"}}, {"Groundskeeper: heap, MiB", []string{"–", "10.0"}}}, p.GrowthRows()); diff != "" {
		t.Error(diff)
	}
}

func TestFacts(t *testing.T) {
	etcd := report.Fact{Benchmark: comparison, Fact: "version of etcd", Is: "3.7.3"}
	p := page{input: input{
		facts: []report.Fact{etcd, etcd, {Benchmark: "projects", Fact: "other", Is: "1"}},
		figures: []report.Figure{
			figure("", "load average (1 min), before", "1", 0.25),
			figure("", "a fixed piece of work, before", "ms", 12),
			{Benchmark: "projects", Name: "load average (1 min), before", Value: 9},
		},
	}}
	if diff := cmp.Diff([]string{"version of etcd: 3.7.3", "load average (1 min), before: 0.25", "a fixed piece of work, before: 12.0 ms"}, p.Facts()); diff != "" {
		t.Error(diff)
	}
}

// parts are figures of which each makes a section of the page, by the headline of the section.
var parts = map[string]report.Figure{
	"## CPU":                   figure("CRD, JSON", "create, 16 concurrent: CPU of the API servers", "ms", 1),
	"## Operations per second": figure("CRD, JSON", "create, 16 concurrent: rate", "1/s", 1),
	"## Latency":               figure("CRD, JSON", "create, 16 concurrent: p99", "ms", 1),
	"## Watching":              figure("CRD, JSON", "a change to 100 watchers: until the last one receives it", "ms", 1),
	"## Memory":                figure("Groundskeeper", "heap after a garbage collection for 10,000 objects", "MiB", 1),
	"## Scaling":               {Benchmark: comparison, Series: "Groundskeeper", Name: growing + "bytes in etcd", Unit: "MiB", Value: 1, Objects: 1000},
	"## Cost of each part":     {Benchmark: "projects", Name: "memory", Unit: "MiB", Value: 1},
	"## Goals":                 {Benchmark: "sidebyside", Name: "a part", Unit: "1", Value: 1, Goal: new(1.0)},
}

// TestRenderSpeed checks that a page explains the unit of speed if its results use it.
func TestRenderSpeed(t *testing.T) {
	const explained = "the time to decode"
	for name, want := range map[string]bool{"load average (1 min), before": false, "a fixed piece of work, before": true} {
		text, _, err := render(input{figures: []report.Figure{figure("", name, "ms", 12)}}, "a machine")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text, explained); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRenderParts checks that a page contains the measured results and the drawings that it refers to, and no empty section.
func TestRenderParts(t *testing.T) {
	everything := input{}
	for headline, f := range parts {
		everything.figures = append(everything.figures, f)
		checkPage(t, input{figures: []report.Figure{f}}, headline)
	}
	all := make([]string, 0, len(parts))
	for headline := range parts {
		all = append(all, headline)
	}
	checkPage(t, everything, all...)
}

func checkPage(t *testing.T, all input, headlines ...string) {
	t.Helper()
	text, drawings, err := render(all, "a machine")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"## Where a CustomResourceDefinition is the better choice": true}
	for _, headline := range headlines {
		want[headline] = true
	}
	got := map[string]bool{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## ") {
			got[strings.TrimSpace(line)] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v: headlines %s", headlines, diff)
	}
	for name, drawing := range drawings {
		shown := strings.Contains(text, fmt.Sprintf("(drawings/%s)", name))
		if shown != (drawing != "") {
			t.Errorf("%v: %s is shown: %t, and has %d bytes", headlines, name, shown, len(drawing))
		}
		if drawing != "" {
			elementsOf(t, drawing)
		}
	}
	if strings.Contains(text, "\n\n\n") || strings.Contains(text, "<no value>") {
		t.Errorf("%v: the page is\n%s", headlines, text)
	}
}
