// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package report prints what benchmarks measure: each figure as a line of aligned text and as a line of JSON for programs.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// What each benchmark reports about the machine, before and after it: how much it has to do, and how long a piece of work takes
// that is always the same.
const (
	LoadAverage = "load average (1 min)"
	Speed       = "a fixed piece of work"
)

// Figure is one measured value. Its JSON form is the format of all benchmarks.
type Figure struct {
	// Benchmark names the benchmark, Process the process measured, "" for all together.
	Benchmark string `json:"benchmark"`
	Process   string `json:"process,omitempty"`
	// Series names what is compared with others under the same name, "" where nothing is.
	Series string `json:"series,omitempty"`
	// Name identifies what was measured, and is the same in every run.
	Name string `json:"name"`
	// Value is in Unit: s, CPU-s, MiB, ms, µs, B (bytes), 1 (a count).
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Least and Most are the bounds of several rounds of which Value is the median; nil where it was measured once.
	Least *float64 `json:"least,omitempty"`
	Most  *float64 `json:"most,omitempty"`
	// Objects is how many objects the load had.
	Objects int `json:"objects,omitempty"`
	// Goal is the most the value should be, nil without one.
	Goal *float64 `json:"goal,omitempty"`
}

// Met reports whether the value is within its goal. Without a goal it is.
func (f Figure) Met() bool { return f.Goal == nil || f.Value <= *f.Goal }

// Reporter writes figures.
type Reporter struct {
	// Users receives aligned text, Programs one line of JSON per figure.
	Users, Programs io.Writer
	missed          int
}

// Add writes a figure.
func (r *Reporter) Add(f Figure) error {
	goal := ""
	if f.Goal != nil {
		goal = fmt.Sprintf("goal %g", *f.Goal)
		if !f.Met() {
			goal += ", MISSED"
			r.missed++
		}
	}
	subject := f.Name
	for _, of := range []string{f.Process, f.Series} {
		if of != "" {
			subject = of + ": " + subject
		}
	}
	if f.Least != nil && f.Most != nil {
		goal = strings.TrimSpace(fmt.Sprintf("%.2f to %.2f  %s", *f.Least, *f.Most, goal))
	}
	if _, err := fmt.Fprintf(r.Users, "%-12s %-70s %10.3f %-6s %s\n", f.Benchmark, subject, f.Value, f.Unit, goal); err != nil {
		return err
	}
	return json.NewEncoder(r.Programs).Encode(f)
}

// Missed is how many figures were beyond their goals.
func (r *Reporter) Missed() int { return r.missed }
