// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package report prints what benchmarks measure: each figure as a line for people and as a line of JSON for programs.
package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// Figure is one measured value. Its JSON form is the format of all benchmarks.
type Figure struct {
	// Benchmark names the benchmark, Process the process measured, "" for all together.
	Benchmark string `json:"benchmark"`
	Process   string `json:"process,omitempty"`
	// Name says what was measured, in words that stay the same from run to run.
	Name string `json:"name"`
	// Value is in Unit: s, CPU-s, MiB, ms, µs, B (bytes), 1 (a count).
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Objects is how many objects the load had.
	Objects int `json:"objects,omitempty"`
	// Goal is the most the value should be, nil without one.
	Goal *float64 `json:"goal,omitempty"`
}

// Met says whether the value is within its goal. Without a goal it is.
func (f Figure) Met() bool { return f.Goal == nil || f.Value <= *f.Goal }

// Reporter writes figures.
type Reporter struct {
	// People gets aligned text, Programs a line of JSON a figure.
	People, Programs io.Writer
	missed           int
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
	if f.Process != "" {
		subject = f.Process + ": " + f.Name
	}
	if _, err := fmt.Fprintf(r.People, "%-12s %-58s %10.2f %-6s %s\n", f.Benchmark, subject, f.Value, f.Unit, goal); err != nil {
		return err
	}
	return json.NewEncoder(r.Programs).Encode(f)
}

// Missed is how many figures were beyond their goals.
func (r *Reporter) Missed() int { return r.missed }
