// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The grid of Grafana has 24 columns. All lengths are in pixels.
const (
	column   = 50
	rowUnit  = 26
	margin   = 4
	top      = 40
	fontSize = 11
	// character is the width of one.
	character = 6
)

// colors of lines, legible on light and on dark ground; a class of the style each.
var colors = []string{"#4a8f5b", "#3b76bd", "#c0741f", "#8a63a8", "#b5484c", "#2f8f93", "#8c8a2f", "#7a7f87"}

// draw returns a dashboard as SVG.
func draw(d dashboard, data recorded) []byte {
	height := 0
	for _, p := range d.Panels {
		height = max(height, p.GridPos.Y+p.GridPos.H)
	}
	var out bytes.Buffer
	width, total := 24*column, top+height*rowUnit+margin
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="%d">`+"\n", width, total, fontSize)
	fmt.Fprintf(&out, "  <title>Dashboard %s, a preview</title>\n  <style>\n", html.EscapeString(d.Title))
	out.WriteString("    .ground{fill:#f4f5f5} .panel{fill:#fff;stroke:#d8dee4} text{fill:#24292e} .grid{stroke:#e4e7eb} .none{fill:#8c959f}\n")
	out.WriteString("    @media (prefers-color-scheme:dark){ .ground{fill:#111217} .panel{fill:#181b1f;stroke:#2c3235} text{fill:#ccccdc} .grid{stroke:#2c3235} .none{fill:#8e8e9a} }\n")
	for i, color := range colors {
		fmt.Fprintf(&out, "    .c%d{stroke:%s;fill:none;stroke-width:1.4} .k%[1]d{fill:%[2]s}\n", i, color)
	}
	fmt.Fprintf(&out, "  </style>\n  <rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", width, total)
	text(&out, 10, 25, `font-size="17" font-weight="bold"`, d.Title)
	for _, p := range d.Panels {
		x, y := p.GridPos.X*column, top+p.GridPos.Y*rowUnit
		if p.Type == "row" {
			text(&out, x+8, y+18, `font-size="14"`, p.heading())
			continue
		}
		w, h := p.GridPos.W*column, p.GridPos.H*rowUnit
		fmt.Fprintf(&out, "  <rect class=\"panel\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\"/>\n", x+margin/2, y+margin/2, w-margin, h-margin)
		text(&out, x+10, y+19, `font-weight="bold"`, p.heading())
		lines := seriesOf(p, data)
		switch {
		case len(lines) == 0:
			text(&out, x+w/2, y+h/2+8, `class="none" text-anchor="middle"`, "No data")
		case p.Type == "stat":
			last := lines[0].points[len(lines[0].points)-1].value
			text(&out, x+w/2, y+h/2+22, `class="k0" font-size="30" text-anchor="middle"`, scaleOf(p.FieldConfig.Defaults.Unit, last).number(last))
		default:
			chart(&out, p, lines, x, y, w, h)
		}
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// heading returns the title of a panel, as long as its width allows, or that of a row.
func (p panel) heading() string {
	if p.Type == "row" {
		return "▾ " + p.Title
	}
	return fit(p.Title, p.GridPos.W*column-20)
}

// chart draws the lines of a panel, which is at (x, y).
func chart(out *bytes.Buffer, p panel, lines []series, x, y, w, h int) {
	const axis, legendHeight = 62, 24
	low, high := bounds(p, lines)
	unit := scaleOf(p.FieldConfig.Defaults.Unit, max(high, -low))
	step := unit.stepOf(high - low)
	low, high = math.Floor(low/step)*step, math.Ceil(high/step-1e-9)*step
	begin, end := math.Inf(1), math.Inf(-1)
	for _, line := range lines {
		begin, end = min(begin, line.points[0].at), max(end, line.points[len(line.points)-1].at)
	}
	left, right, upper, lower := float64(x+axis), float64(x+w-14), float64(y+34), float64(y+h-legendHeight-14)
	placeX := func(at float64) float64 { return left + (at-begin)/max(end-begin, 1)*(right-left) }
	placeY := func(value float64) float64 { return lower - (value-low)/(high-low)*(lower-upper) }
	for value := low; value <= high+step/2; value += step {
		fmt.Fprintf(out, "  <path class=\"grid\" d=\"M%.0f %.1fH%.0f\"/>\n", left, placeY(value), right)
		text(out, int(left)-6, int(placeY(value))+4, `text-anchor="end"`, unit.number(value))
	}
	for i, line := range slices.Backward(lines) { // of stacked lines that are equal, the first one has the value
		var path strings.Builder
		for j, point := range line.points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], placeX(point.at), placeY(point.value))
		}
		fmt.Fprintf(out, "  <path class=\"c%d\" d=\"%s\"/>\n", i%len(colors), path.String())
	}
	at := x + 12
	for i, line := range lines {
		rest := fmt.Sprintf("and %d more", len(lines)-i)
		if name := fit(line.name, w-24); i == len(lines)-1 && at+width(name) < x+w || at+width(name)+width(rest) < x+w {
			fmt.Fprintf(out, "  <rect class=\"k%d\" x=\"%d\" y=\"%d\" width=\"10\" height=\"3\"/>\n", i%len(colors), at, y+h-18)
			text(out, at+14, y+h-13, "", name)
			at += width(name)
			continue
		}
		text(out, at, y+h-13, "", rest)
		break
	}
}

// width is how much room the name of a line takes in a legend, with its mark.
func width(name string) int { return 24 + character*len([]rune(name)) }

// bounds returns the ends of the vertical axis.
func bounds(p panel, lines []series) (low, high float64) {
	high = math.Inf(-1)
	for _, line := range lines {
		for _, point := range line.points {
			low, high = min(low, point.value), max(high, point.value)
		}
	}
	if p.FieldConfig.Defaults.Min != nil {
		low = min(low, *p.FieldConfig.Defaults.Min)
	}
	if high <= low {
		high = low + 1
	}
	return low, high
}

// fit shortens a text to a width.
func fit(s string, width int) string {
	if runes := []rune(s); len(runes)*character > width {
		return string(runes[:max(0, width/character-1)]) + "…"
	}
	return s
}

func text(out *bytes.Buffer, x, y int, attributes, content string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(out, "  <text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y, attributes, html.EscapeString(content))
}
