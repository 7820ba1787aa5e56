// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"strings"
)

// colours are the class of a series, and its colours on light and on dark ground. What is compared with is grey, requests through
// the aggregator are green, direct ones blue, and the one that is in JSON is the darker of two.
var colours = []struct{ series, class, light, dark string }{
	{"CRD, JSON", "crd", "#8c959f", "#8b949e"},
	{"aggregated, JSON", "aggregated-json", "#2c7a45", "#3f9d5c"},
	{"aggregated, protobuf", "aggregated-protobuf", "#7cc492", "#8fd6a5"},
	{"direct, JSON", "direct-json", "#2f66ad", "#4a86d4"},
	{"direct, protobuf", "direct-protobuf", "#8db7e8", "#a5c9f2"},
	{"Groundskeeper", "groundskeeper", "#b5651d", "#d9873f"},
	{"etcd", "etcd", "#8a63a8", "#a982c7"},
}

// class returns the class of a series. One without a colour has the class "other".
func class(series string) string {
	for _, c := range colours {
		if c.series == series {
			return c.class
		}
	}
	return "other"
}

// begin writes the head of a drawing: its size, its title, and the colours, which follow those of the reader's browser.
func begin(out *strings.Builder, title string, height int) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, height)
	fmt.Fprintf(out, "  <title>%s</title>\n  <style>\n", html.EscapeString(title))
	light := "    .ground{fill:#fff} text{fill:#1f2328} .grid{stroke:#d8dee4} .range{stroke:#1f2328} .other{fill:#59636e;stroke:#59636e}"
	dark := "    .ground{fill:#0d1117} text{fill:#d1d7e0} .grid{stroke:#30363d} .range{stroke:#f0f6fc} .other{fill:#9198a1;stroke:#9198a1}"
	for _, c := range colours {
		light += fmt.Sprintf(" .%s{fill:%s;stroke:%[2]s}", c.class, c.light)
		dark += fmt.Sprintf(" .%s{fill:%s;stroke:%[2]s}", c.class, c.dark)
	}
	fmt.Fprintf(out, "%s\n    @media (prefers-color-scheme:dark){\n%s }\n    rect{stroke:none} polyline{fill:none!important}\n  </style>\n", light, dark)
	fmt.Fprintf(out, "  <rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", chartWidth, height)
	fmt.Fprintf(out, "  <text x=\"10\" y=\"22\" font-size=\"15\" font-weight=\"bold\">%s</text>\n", html.EscapeString(title))
}
