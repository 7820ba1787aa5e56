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
	labelWidth = 250
	valueWidth = 90
	barHeight  = 16
	barGap     = 4
	groupGap   = 26
)

// chart draws groups of bars below each other as SVG. Each group has a scale of its own, since a listing of 10,000 objects and
// a read of one have none in common. Without groups it is empty.
func chart(title, unit string, groups []group) string {
	if len(groups) == 0 {
		return ""
	}
	var out strings.Builder
	height := 40
	for _, g := range groups {
		height += groupGap + len(g.bars)*(barHeight+barGap)
	}
	begin(&out, title, height+10)
	y := 40
	for _, g := range groups {
		fmt.Fprintf(&out, "  <text x=\"10\" y=\"%d\" font-weight=\"bold\">%s</text>\n", y+12, html.EscapeString(g.name))
		y += groupGap - barGap
		longest := 0.0
		for _, b := range g.bars {
			longest = max(longest, b.value, b.most)
		}
		for _, b := range g.bars {
			drawBar(&out, b, y, longest, unit)
			y += barHeight + barGap
		}
		y += barGap
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// begin writes the head of a drawing: its size, its title, and a ground that is white in dark pages, too.
func begin(out *strings.Builder, title string, height int) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, height)
	fmt.Fprintf(out, "  <title>%s</title>\n  <rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", html.EscapeString(title), chartWidth, height)
	fmt.Fprintf(out, "  <text x=\"10\" y=\"22\" font-size=\"15\" font-weight=\"bold\">%s</text>\n", html.EscapeString(title))
}

func drawBar(out *strings.Builder, b bar, y int, longest float64, unit string) {
	const room = chartWidth - labelWidth - valueWidth - 20
	at := func(value float64) float64 {
		if longest == 0 {
			return 0
		}
		return max(0, value) / longest * room
	}
	fmt.Fprintf(out, "  <text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", labelWidth, y+barHeight-4, html.EscapeString(b.name))
	fmt.Fprintf(out, "  <rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", labelWidth+8, y, at(b.value), barHeight, colour(b.name))
	end := at(b.value)
	if b.most > b.least {
		middle := y + barHeight/2
		fmt.Fprintf(out, "  <path d=\"M%.1f %d H%.1f\" stroke=\"#222\"/>\n", labelWidth+8+at(b.least), middle, labelWidth+8+at(b.most))
		end = max(end, at(b.most))
	}
	fmt.Fprintf(out, "  <text x=\"%.1f\" y=\"%d\">%s %s</text>\n", labelWidth+14+end, y+barHeight-4, number(b.value), html.EscapeString(unit))
}

// colour is grey for what is compared with, and a green for each way to ours.
func colour(name string) string {
	switch {
	case strings.HasPrefix(name, "aggregated"):
		return "#3c8a52"
	case strings.HasPrefix(name, "direct"), name == "Groundskeeper":
		return "#8cc59b"
	default:
		return "#9aa3ad"
	}
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
