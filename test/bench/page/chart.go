// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"strings"
)

// bar is one value of a chart, with the bounds of its rounds when they are known.
type bar struct {
	name        string
	value       float64
	least, most float64
}

// group are the bars that are compared with each other.
type group struct {
	name string
	bars []bar
}

const (
	chartWidth = 900
	labelWidth = 150
	valueWidth = 160
	barHeight  = 16
	barGap     = 4
	groupGap   = 26
	axisHeight = 20
	// barSteps is how many parts the axis of a group has at most.
	barSteps = 5
)

// chart draws groups of bars below each other as SVG. Each group has a dedicated scale, since a listing of 10,000 objects and a
// read of one have none in common. better is "less" or "more". Without groups it is empty.
func chart(title, unit, better string, groups []group) string {
	if len(groups) == 0 {
		return ""
	}
	var out strings.Builder
	height := 60
	for _, g := range groups {
		height += groupGap + len(g.bars)*(barHeight+barGap) + axisHeight
	}
	begin(&out, title, height)
	fmt.Fprintf(&out, "  <text x=\"10\" y=\"40\">%s is better</text>\n", better)
	fmt.Fprintf(&out, "  <text x=\"%d\" y=\"40\" text-anchor=\"end\">%s</text>\n", chartWidth-10, heading(groups))
	y := 50
	for _, g := range groups {
		fmt.Fprintf(&out, "  <text x=\"10\" y=\"%d\" font-weight=\"bold\">%s</text>\n", y+12, html.EscapeString(g.name))
		y += groupGap - barGap
		longest := 0.0
		for _, b := range g.bars {
			longest = max(longest, b.value, b.most)
		}
		axis := ticks(longest, barSteps)
		bottom := y + len(g.bars)*(barHeight+barGap)
		at := func(value float64) float64 {
			if longest == 0 {
				return labelWidth + 8
			}
			return labelWidth + 8 + max(0, value)/axis[len(axis)-1].value*(chartWidth-labelWidth-valueWidth-20)
		}
		for _, tick := range axis {
			fmt.Fprintf(&out, "  <path class=\"grid\" d=\"M%.1f %d V%d\"/>\n", at(tick.value), y-barGap, bottom)
			fmt.Fprintf(&out, "  <text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" font-size=\"11\">%s</text>\n", at(tick.value), bottom+12, tick.label)
		}
		for _, b := range g.bars {
			drawBar(&out, b, y, at, unit)
			y += barHeight + barGap
		}
		y += barGap + axisHeight
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// heading names what stands right of the bars.
func heading(groups []group) string {
	for _, g := range groups {
		for _, b := range g.bars {
			if b.most > b.least {
				return "median (minimum–maximum)"
			}
		}
	}
	return ""
}

// drawBar draws a bar. Its value stands at the right margin: beside the end of the bar it would seem to be the maximum.
func drawBar(out *strings.Builder, b bar, y int, at func(float64) float64, unit string) {
	text := y + barHeight - 4
	fmt.Fprintf(out, "  <text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", labelWidth, text, html.EscapeString(b.name))
	fmt.Fprintf(out, "  <rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", class(b.name), labelWidth+8, y, at(b.value)-at(0), barHeight)
	value := number(b.value) + " " + unit
	if b.most > b.least {
		fmt.Fprintf(out, "  <path class=\"range\" d=\"M%.1f %d H%.1f\"/>\n", at(b.least), y+barHeight/2, at(b.most))
		value += " (" + number(b.least) + "–" + number(b.most) + ")"
	}
	fmt.Fprintf(out, "  <text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", chartWidth-10, text, html.EscapeString(value))
}

// number prints a value with three digits that count.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v > 0 && v < 0.1:
		return fmt.Sprintf("%.2g", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
