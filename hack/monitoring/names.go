// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// What is in an expression beside names of metrics: texts, selectors, ranges, lists of labels.
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
	for _, noise := range []*regexp.Regexp{texts, selectors, lists} {
		expr = noise.ReplaceAllString(expr, " ")
	}
	var names []string
	for _, word := range words.FindAllString(expr, -1) {
		name := strings.TrimSpace(word)
		if strings.HasSuffix(name, "(") || slices.Contains(operators, strings.ToLower(name)) || slices.Contains(fromPrometheus, name) {
			continue
		}
		names = append(names, suffixes.ReplaceAllString(name, ""))
	}
	return names
}
