// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"slices"
	"strings"
	"text/template"
)

//go:embed performance.md.tmpl
var text string

// page is what the template sees.
type page struct {
	input
	Machine  string
	drawings map[string]string
}

// comparison names the benchmark whose figures are drawn; its names are "<operation>: <what>".
const comparison = "sidebyside"

// render returns the page, and its drawings by the names of their files. One of which nothing was measured is empty.
func render(all input, machine string) (string, map[string]string, error) {
	p := page{input: all, Machine: machine}
	bars := func(title, unit, better, suffix string, wanted func(string) bool) string {
		return chart(title, unit, better, p.groups(suffix, wanted))
	}
	p.drawings = map[string]string{
		"performance-cpu.svg":    bars("CPU of the API servers for one operation", "ms", "less", ": CPU of the API servers", isOperation),
		"performance-rate.svg":   bars("Operations per second", "1/s", "more", ": rate", isOperation),
		"performance-lists.svg":  bars("CPU of the API servers for one list", "ms", "less", ": CPU of the API servers", isListing),
		"performance-watch.svg":  bars("Time until the last watcher receives a change", "ms", "less", ": until the last one receives it", isAny),
		"performance-memory.svg": bars("Memory of 10,000 objects", "MiB", "less", " for 10,000 objects", isAny),
		"performance-growth.svg": growthChart(p.growths()),
	}
	parsed, err := template.New("performance.md").Parse(text)
	if err != nil {
		return "", nil, err
	}
	var out strings.Builder
	if err := parsed.Execute(&out, p); err != nil {
		return "", nil, err
	}
	return out.String(), p.drawings, nil
}

// Drawn reports whether there is a drawing.
func (p page) Drawn(name string) bool { return p.drawings["performance-"+name+".svg"] != "" }

func isOperation(name string) bool {
	return strings.Contains(name, ", 16 concurrent") && !strings.Contains(name, "ordinary")
}
func isListing(name string) bool { return strings.HasPrefix(name, "list ") }
func isAny(string) bool          { return true }

// groups returns the figures whose name ends so, by what stands before that.
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
		name = strings.TrimSuffix(strings.TrimSpace(name), ", 16 concurrent")
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{name: name})
		}
		groups[i].bars = append(groups[i].bars, b)
	}
	return groups
}
