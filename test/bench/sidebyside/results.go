// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"fmt"
	"strings"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

// benchmark names all figures of this package.
const benchmark = "sidebyside"

// Goals, as parts of what the CustomResourceDefinition takes.
const (
	goalSingle = 1.5
	goalLists  = 0.5
	goalHeap   = 0.55
	goalStored = 0.9
)

// tableHead begins the table of a run.
const tableHead = `| | CRD | ours, JSON | ours, protobuf | ratio, JSON | ratio, protobuf |
|---|---|---|---|---|---|
`

// values are those of the rounds, by contender.
type values map[string][]float64

// ratio is the median of the ratios of a contender's rounds to the CustomResourceDefinition's, round by round: what slowed down the
// machine for a while slowed down both.
func (v values) ratio(name string) (_ float64, known bool) {
	var all []float64
	for i := range min(len(v[name]), len(v[crdName])) {
		if other := v[crdName][i]; other > 0 {
			all = append(all, v[name][i]/other)
		}
	}
	return median(all), len(all) > 0
}

// add reports medians and ratios, and adds them to the table. Without a goal (0), no ratio misses it.
func (c *comparison) add(what, unit string, goal float64, v values) error {
	for _, name := range []string{crdName, jsonName, protobufName} {
		if len(v[name]) == 0 {
			continue
		}
		if err := c.reporter.Add(report.Figure{Benchmark: benchmark, Series: name, Name: what, Value: median(v[name]), Unit: unit}); err != nil {
			return err
		}
		ratio, known := v.ratio(name)
		if name == crdName || !known {
			continue
		}
		f := report.Figure{Benchmark: benchmark, Series: name, Name: what + ", relative to the CRD's", Value: ratio, Unit: "1"}
		if goal > 0 {
			f.Goal = &goal
		}
		if err := c.reporter.Add(f); err != nil {
			return err
		}
	}
	c.table.WriteString(v.row(what, unit))
	return nil
}

// row is that of the table.
func (v values) row(what, unit string) string {
	cells := []string{what + ", " + unit}
	for _, name := range []string{crdName, jsonName, protobufName} {
		cell := ""
		if len(v[name]) > 0 {
			cell = threeDigits(median(v[name]))
		}
		cells = append(cells, cell)
	}
	for _, name := range []string{jsonName, protobufName} {
		cell := ""
		if ratio, known := v.ratio(name); known {
			cell = fmt.Sprintf("%.2f", ratio)
		}
		cells = append(cells, cell)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// threeDigits writes a figure as precisely as it is measured.
func threeDigits(value float64) string {
	switch {
	case value < 10:
		return fmt.Sprintf("%.2f", value)
	case value < 100:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.0f", value)
	}
}
