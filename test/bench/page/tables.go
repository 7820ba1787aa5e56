// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

// Row is a line of a table: a name, and a figure for each column.
type Row struct {
	Name  string
	Cells []string
}

// Columns returns the ways to serve the objects.
func (p page) Columns() []string {
	return []string{"CRD, JSON", "aggregated, JSON", "aggregated, protobuf", "direct, JSON", "direct, protobuf"}
}

// Table has a row for each operation of which something was measured.
func (p page) Table(what string) []Row {
	var rows []Row
	for _, g := range p.groups(": "+what, isAny) {
		row := Row{Name: cell(g.name), Cells: make([]string, len(p.Columns()))}
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

// Weights returns what objects weigh, with a column for each of the two servers.
func (p page) Weights() []Row {
	var rows []Row
	for _, f := range p.figures {
		if f.Benchmark != comparison || f.Unit == "1" || !strings.HasSuffix(f.Name, " for 10,000 objects") && f.Name != "bytes of an object in etcd" {
			continue
		}
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == f.Name })
		if i < 0 {
			i = len(rows)
			rows = append(rows, Row{Name: f.Name, Cells: []string{"–", "–"}})
		}
		column := 0
		if f.Series == "Groundskeeper" {
			column = 1
		}
		rows[i].Cells[column] = inUnit(f.Value, f.Unit)
	}
	return rows
}

// Goals returns the figures that have one, with their bounds when they are medians.
func (p page) Goals() []Row {
	var rows []Row
	for _, f := range p.figures {
		if f.Goal != nil {
			value := inUnit(f.Value, f.Unit)
			if f.Least != nil && f.Most != nil {
				value += fmt.Sprintf(" (%s to %s)", number(*f.Least), number(*f.Most))
			}
			rows = append(rows, Row{Name: subject(f), Cells: []string{f.Benchmark, value, inUnit(*f.Goal, f.Unit), met(f)}})
		}
	}
	return rows
}

// Section is a benchmark of a part of the product, with its figures.
type Section struct {
	Title string
	Rows  []Row
}

// titles are the names of benchmarks in words.
var titles = map[string]string{
	"projects": "Projects", "localvolume": "Local volumes", "translations": "Translations", "translations-restart": "Translations, after a restart",
	"translations-engine": "Translations, the engine alone", "ovn": "Translations on OVN", "ovn-restart": "Translations on OVN, after a restart", "ovn-changes": "Translations on OVN, while endpoints change", "discoverer": "Discovery", "discoverer-restart": "Discovery, after a restart",
	"discoverer-change": "Discovery of a change", "localvolume-many": "Local volumes, many of them", "maintenance": "Maintenance of backends",
	"maintenance-services": "Maintenance of Services without an alternative", "klusters": "Klusters and their routes", "console": "Console",
}

// Sections returns all benchmarks but the comparison, in the order in which they ran.
func (p page) Sections() []Section {
	var sections []Section
	at := map[string]int{}
	for _, f := range p.figures {
		if f.Benchmark == comparison {
			continue
		}
		i, known := at[f.Benchmark]
		if !known {
			i = len(sections)
			at[f.Benchmark] = i
			title := titles[f.Benchmark]
			if title == "" {
				title = f.Benchmark
			}
			sections = append(sections, Section{Title: title})
		}
		goal, result := "", ""
		if f.Goal != nil {
			goal, result = number(*f.Goal), met(f)
		}
		objects := ""
		if f.Objects > 0 {
			objects = thousands(f.Objects)
		}
		sections[i].Rows = append(sections[i].Rows, Row{Name: subject(f), Cells: []string{objects, number(f.Value), unit(f.Unit), goal, result}})
	}
	return sections
}

// Facts returns what the comparison reported about itself: versions, how busy the machine was, and how fast.
func (p page) Facts() []string {
	var all []string
	for _, f := range p.facts {
		if text := f.Fact + ": " + f.Is; f.Benchmark == comparison && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, f := range p.figures {
		if f.Benchmark == comparison && (strings.HasPrefix(f.Name, report.LoadAverage) || strings.HasPrefix(f.Name, report.Speed)) {
			all = append(all, f.Name+": "+inUnit(f.Value, f.Unit))
		}
	}
	return all
}

// Paced reports whether benchmarks reported how fast the machine was.
func (p page) Paced() bool {
	return slices.ContainsFunc(p.figures, func(f report.Figure) bool { return strings.HasPrefix(f.Name, report.Speed) })
}

// subject returns what a figure is about: whose, of which contender, what, and among how many objects where a name comes more than
// once.
func subject(f report.Figure) string {
	name := f.Name
	for _, of := range []string{f.Process, f.Series} {
		if of != "" {
			name = of + ": " + name
		}
	}
	return cell(name)
}

func met(f report.Figure) string {
	if f.Met() {
		return "met"
	}
	return "**missed**"
}

// cell returns a text that does not end the cell of a table that it is in.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func inUnit(value float64, u string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s", number(value), unit(u)))
}

// unit prints nothing for a count.
func unit(u string) string {
	if u == "1" {
		return ""
	}
	return u
}
