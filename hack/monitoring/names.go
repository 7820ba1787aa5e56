// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// The parts of an expression that are not names of metrics: strings, selectors, ranges, lists of labels.
	texts     = regexp.MustCompile(`"(\\.|[^"\\])*"|'(\\.|[^'\\])*'`)
	selectors = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`)
	lists     = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*(\([^)]*\))?`)
	words     = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
	operators = []string{"and", "or", "unless", "bool", "offset", "inf", "nan"}
	// suffixes are those of the parts of a histogram.
	suffixes = regexp.MustCompile(`_(bucket|sum|count)$`)
	// fromPrometheus are metrics that Prometheus makes itself.
	fromPrometheus = []string{"up", "ALERTS"}
)

// metricsOf returns the names of the metrics in an expression of Prometheus, those of histograms without what their parts
// add. Those of Prometheus itself are left out.
func metricsOf(expr string) []string {
	var names []string
	for _, p := range metricPlaces(expr) {
		if name := expr[p.start:p.end]; !slices.Contains(fromPrometheus, name) {
			names = append(names, suffixes.ReplaceAllString(name, ""))
		}
	}
	return names
}

// place is where a name of a metric begins and ends in an expression.
type place struct{ start, end int }

// metricPlaces finds the names of all metrics in an expression.
func metricPlaces(expr string) []place {
	for _, noise := range []*regexp.Regexp{texts, selectors, lists} {
		expr = noise.ReplaceAllStringFunc(expr, func(found string) string { return strings.Repeat(" ", len(found)) })
	}
	var places []place
	for _, at := range words.FindAllStringIndex(expr, -1) {
		name := strings.TrimSpace(expr[at[0]:at[1]])
		if strings.HasSuffix(name, "(") || slices.Contains(operators, strings.ToLower(name)) {
			continue
		}
		places = append(places, place{at[0], at[0] + len(name)})
	}
	return places
}
