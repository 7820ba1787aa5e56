// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// series is a line of a panel.
type series struct {
	name   string
	points []point
}

// point is a value at a time, in seconds since 1970.
type point struct{ at, value float64 }

// seriesOf returns the lines of a panel, by name. Values that are not finite are left out, as Grafana does.
func seriesOf(p panel, data recorded) []series {
	var lines []series
	for _, target := range p.Targets {
		for _, result := range data[target.Expr] {
			line := series{name: legend(target.LegendFormat, result.Metric)}
			for _, pair := range result.Values {
				at, isNumber := pair[0].(float64)
				text, isText := pair[1].(string)
				value, err := strconv.ParseFloat(text, 64)
				if isNumber && isText && err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
					line.points = append(line.points, point{at, value})
				}
			}
			if len(line.points) > 0 {
				lines = append(lines, line)
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b series) int { return cmp.Compare(a.name, b.name) })
	if p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal" {
		stack(lines)
	}
	return lines
}

// stack adds to each line the ones before it.
func stack(lines []series) {
	sums := map[float64]float64{}
	for _, line := range lines {
		for i, p := range line.points {
			sums[p.at] += p.value
			line.points[i].value = sums[p.at]
		}
	}
}

// placeholder is a label in the format of a legend.
var placeholder = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// legend returns the name of a line.
func legend(format string, labels map[string]string) string {
	return strings.TrimSpace(placeholder.ReplaceAllStringFunc(format, func(match string) string {
		return labels[placeholder.FindStringSubmatch(match)[1]]
	}))
}

// scale is a unit of which a value is a multiple.
type scale struct {
	factor float64
	name   string
}

var rates = []scale{{1, "/s"}, {1e3, " K/s"}, {1e6, " M/s"}}

// scales are those of the units that the dashboards use, the smallest first.
var scales = map[string][]scale{
	"percentunit": {{0.01, " %"}},
	"bytes":       {{1, " B"}, {1 << 10, " KiB"}, {1 << 20, " MiB"}, {1 << 30, " GiB"}},
	"s":           {{1e-3, " ms"}, {1, " s"}, {60, " min"}, {3600, " h"}, {24 * 3600, " d"}},
	"ms":          {{1, " ms"}, {1000, " s"}},
	"ops":         rates,
	"reqps":       rates,
	"wps":         rates,
	"short":       {{1, ""}, {1e3, " K"}, {1e6, " M"}},
}

// scaleOf returns the largest scale of a unit that a value has at least one of.
func scaleOf(unit string, value float64) scale {
	all := scales[cmp.Or(unit, "short")]
	if all == nil {
		all = scales["short"]
	}
	chosen := all[0]
	for _, s := range all {
		if math.Abs(value) >= s.factor {
			chosen = s
		}
	}
	return chosen
}

// number formats a value with three digits.
func (s scale) number(value float64) string {
	value /= s.factor
	text := fmt.Sprintf("%.*f", decimals(value), value)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + s.name
}

// stepOf returns the distance of lines that divide a range into at most four parts: 1, 2, 2.5 or 5 times a power of ten.
func (s scale) stepOf(length float64) float64 {
	quarter := length / s.factor / 4
	power := math.Pow(10, math.Floor(math.Log10(quarter)))
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if factor*power >= quarter*(1-1e-9) {
			return factor * power * s.factor
		}
	}
	return 10 * power * s.factor
}

// decimals is how many decimals show three digits of a value; at least one, which number removes if it is zero.
func decimals(value float64) int {
	if value == 0 {
		return 1
	}
	return min(4, max(1, 2-int(math.Floor(math.Log10(math.Abs(value))))))
}
