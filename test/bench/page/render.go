// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

//go:embed performance.md.tmpl
var text string

// page is what the template sees.
type page struct {
	Machine string
	figures []report.Figure
}

// comparison names the benchmark whose figures are drawn; its names are "<operation>: <what>".
const comparison = "sidebyside"

// render returns the page, and its drawings by the names of their files.
func render(figures []report.Figure, machine string) (string, map[string]string, error) {
	p := page{Machine: machine, figures: figures}
	parsed, err := template.New("performance.md").Funcs(template.FuncMap{"number": number}).Parse(text)
	if err != nil {
		return "", nil, err
	}
	var out strings.Builder
	if err := parsed.Execute(&out, p); err != nil {
		return "", nil, err
	}
	return out.String(), map[string]string{
		"performance-cpu.svg":    chart("CPU of the API servers for one operation", "ms", p.groups(": CPU of the API servers", isOperation)),
		"performance-rate.svg":   chart("Operations per second", "1/s", p.groups(": rate", isOperation)),
		"performance-lists.svg":  chart("CPU of the API servers for one listing", "ms", p.groups(": CPU of the API servers", isListing)),
		"performance-watch.svg":  chart("Until the last watcher has a change", "ms", p.groups(": until the last one has it", isAny)),
		"performance-memory.svg": chart("What 10,000 objects weigh", "", p.groups("10,000 objects", isAny)),
	}, nil
}

func isOperation(name string) bool {
	return strings.Contains(name, ", 16 workers") && !strings.Contains(name, "ordinary")
}
func isListing(name string) bool { return strings.HasPrefix(name, "list ") }
func isAny(string) bool          { return true }

// groups are the figures whose name ends so, by what stands before that.
func (p page) groups(suffix string, wanted func(string) bool) []group {
	var groups []group
	for _, f := range p.figures {
		name, is := strings.CutSuffix(f.Name, suffix)
		if f.Benchmark != comparison || !is || !wanted(name) {
			continue
		}
		b := bar{name: f.Series, value: f.Value}
		if f.Least != nil && f.Most != nil {
			b.least, b.most = *f.Least, *f.Most
		}
		name = strings.TrimSuffix(strings.TrimSpace(name), ", 16 workers")
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{name: name})
		}
		groups[i].bars = append(groups[i].bars, b)
	}
	return groups
}

// Row is a line of a table: a name, and a figure for each column.
type Row struct {
	Name  string
	Cells []string
}

// Columns are the ways to serve the objects.
func (p page) Columns() []string {
	return []string{"CRD, JSON", "aggregated, JSON", "aggregated, protobuf", "direct, JSON", "direct, protobuf"}
}

// Table has a row for each operation of which something was measured.
func (p page) Table(what string) []Row {
	var rows []Row
	for _, g := range p.groups(": "+what, isAny) {
		row := Row{Name: g.name, Cells: make([]string, len(p.Columns()))}
		found := false
		for i, column := range p.Columns() {
			row.Cells[i] = "–"
			if at := slices.IndexFunc(g.bars, func(b bar) bool { return b.name == column }); at >= 0 {
				row.Cells[i], found = number(g.bars[at].value), true
			}
		}
		if found {
			rows = append(rows, row)
		}
	}
	return rows
}

// Goals are the figures that have one.
func (p page) Goals() []Row {
	var rows []Row
	for _, f := range p.figures {
		if f.Goal == nil {
			continue
		}
		met := "met"
		if !f.Met() {
			met = "**missed**"
		}
		name := f.Name
		for _, of := range []string{f.Process, f.Series} {
			if of != "" {
				name = of + ": " + name
			}
		}
		rows = append(rows, Row{Name: name, Cells: []string{f.Benchmark, fmt.Sprintf("%s %s", number(f.Value), unit(f.Unit)), fmt.Sprintf("%s %s", number(*f.Goal), unit(f.Unit)), met}})
	}
	return rows
}

// unit prints nothing for a count.
func unit(u string) string {
	if u == "1" {
		return ""
	}
	return u
}
