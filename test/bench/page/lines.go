// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

const (
	panelColumns = 2
	panelWidth   = chartWidth / panelColumns
	panelHeight  = 190
	// panelLeft and panelTop are the room for what stands at the axes, panelRight and panelBottom that on the other sides.
	panelLeft, panelTop, panelRight, panelBottom = 62, 34, 24, 26
	legendHeight                                 = 64
	// panelSteps is how many parts the axis of the cost has at most.
	panelSteps = 4
	// objectsEach is the number of objects per unit of a value, so that lines are flat where the cost is proportional to the number
	// of objects.
	objectsEach = 1000
)

// growthChart draws a panel for each thing that was measured, with a line for each series over the number of objects on a
// logarithmic axis. It is empty when there is nothing to draw.
func growthChart(all []growth) string {
	if len(all) == 0 {
		return ""
	}
	const title = "Cost of 1,000 objects as their number grows: a line that does not rise is linear growth; less is better"
	height := legendHeight + (len(all)+panelColumns-1)/panelColumns*panelHeight + 10
	var out strings.Builder
	begin(&out, title, height)
	x := 10
	for _, name := range series(all) {
		fmt.Fprintf(&out, "  <rect class=\"%s\" x=\"%d\" y=\"36\" width=\"14\" height=\"10\"/>\n", class(name), x)
		fmt.Fprintf(&out, "  <text x=\"%d\" y=\"46\">%s</text>\n", x+20, html.EscapeString(name))
		x += 44 + 8*len(name) // wider than any font draws it
	}
	counts := numbers(all)
	for i, g := range all {
		drawPanel(&out, g, counts, i%panelColumns*panelWidth, legendHeight+i/panelColumns*panelHeight)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// series returns the names of all lines.
func series(all []growth) []string {
	var names []string
	for _, g := range all {
		for _, l := range g.lines {
			if !slices.Contains(names, l.name) {
				names = append(names, l.name)
			}
		}
	}
	return names
}

// drawPanel draws one panel, whose upper left corner is at left and top.
func drawPanel(out *strings.Builder, g growth, counts []int, left, top int) {
	most := 0.0
	for _, l := range g.lines {
		for _, p := range l.points {
			most = max(most, p.each())
		}
	}
	axis := ticks(most, panelSteps)
	width, height := float64(panelWidth-panelLeft-panelRight), float64(panelHeight-panelTop-panelBottom)
	x := func(n int) float64 {
		least, decades := math.Log10(float64(counts[0])), math.Log10(float64(counts[len(counts)-1])/float64(counts[0]))
		if decades == 0 {
			return float64(left+panelLeft) + width/2
		}
		return float64(left+panelLeft) + (math.Log10(float64(n))-least)/decades*width
	}
	y := func(value float64) float64 {
		if most == 0 {
			return float64(top+panelTop) + height
		}
		return float64(top+panelTop) + height*(1-max(0, value)/axis[len(axis)-1].value)
	}
	fmt.Fprintf(out, "  <text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s, %s</text>\n", left+10, top+18, html.EscapeString(g.what), html.EscapeString(g.unit))
	for _, tick := range axis {
		fmt.Fprintf(out, "  <path class=\"grid\" d=\"M%d %.1f h%.1f\"/>\n", left+panelLeft, y(tick.value), width)
		fmt.Fprintf(out, "  <text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" font-size=\"11\">%s</text>\n", left+panelLeft-6, y(tick.value)+4, tick.label)
	}
	for _, n := range counts {
		fmt.Fprintf(out, "  <text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" font-size=\"11\">%s</text>\n", x(n), top+panelHeight-10, thousands(n))
	}
	for _, l := range g.lines {
		drawLine(out, l, x, y)
	}
}

// drawLine draws a line, and a dot for each of its points.
func drawLine(out *strings.Builder, l line, x func(int) float64, y func(float64) float64) {
	var corners []string
	for _, p := range l.points {
		corners = append(corners, fmt.Sprintf("%.1f,%.1f", x(p.objects), y(p.each())))
	}
	fmt.Fprintf(out, "  <polyline class=\"%s\" points=\"%s\" stroke-width=\"2\"/>\n", class(l.name), strings.Join(corners, " "))
	for _, p := range l.points {
		fmt.Fprintf(out, "  <circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s, %s objects: %s</title></circle>\n",
			class(l.name), x(p.objects), y(p.each()), html.EscapeString(l.name), thousands(p.objects), number(p.each()))
	}
}

// each returns the value for objectsEach of the objects.
func (p point) each() float64 { return p.value / float64(p.objects) * objectsEach }
