// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"
)

// growing begins the names of what was measured for several numbers of objects.
const growing = "scaling: "

// growth is what was measured for several numbers of objects, with a line for each series.
type growth struct {
	what, unit string
	lines      []line
}

// line are the values of one series.
type line struct {
	name   string
	points []point
}

// point is a value for a number of objects.
type point struct {
	objects int
	value   float64
}

// growths returns the figures of the growth. What there is of one number of objects alone, such as how one is compared with
// another, is no line.
func (p page) growths() []growth {
	var all []growth
	for _, f := range p.figures {
		what, is := strings.CutPrefix(f.Name, growing)
		if f.Benchmark != comparison || !is || f.Unit == "1" || f.Process != "" || f.Objects == 0 {
			continue
		}
		i := slices.IndexFunc(all, func(g growth) bool { return g.what == what })
		if i < 0 {
			i = len(all)
			all = append(all, growth{what: what, unit: f.Unit})
		}
		lines := &all[i].lines
		at := slices.IndexFunc(*lines, func(l line) bool { return l.name == f.Series })
		if at < 0 {
			at = len(*lines)
			*lines = append(*lines, line{name: f.Series})
		}
		(*lines)[at].points = append((*lines)[at].points, point{f.Objects, f.Value})
	}
	return all
}

// numbers returns all numbers of objects, from the smallest on.
func numbers(all []growth) []int {
	var found []int
	for _, g := range all {
		for _, l := range g.lines {
			for _, at := range l.points {
				found = append(found, at.objects)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// GrowthColumns returns the numbers of objects.
func (p page) GrowthColumns() []string {
	var names []string
	for _, n := range numbers(p.growths()) {
		names = append(names, thousands(n))
	}
	return names
}

// GrowthRows have what each series cost for each number of objects.
func (p page) GrowthRows() []Row {
	all := p.growths()
	counts := numbers(all)
	var rows []Row
	for _, g := range all {
		for _, l := range g.lines {
			row := Row{Name: cell(l.name + ": " + g.what + ", " + g.unit), Cells: make([]string, len(counts))}
			for i, n := range counts {
				row.Cells[i] = "–"
				if at := slices.IndexFunc(l.points, func(p point) bool { return p.objects == n }); at >= 0 {
					row.Cells[i] = number(l.points[at].value)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// thousands prints a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
