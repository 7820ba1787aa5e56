// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// element is one of an SVG, with the text that it has itself.
type element struct {
	name, text string
	attributes map[string]string
}

// elementsOf decodes a drawing. One that is no XML fails the test.
func elementsOf(t *testing.T, drawing string) []element {
	t.Helper()
	var all []element
	var open []int
	decoder := xml.NewDecoder(strings.NewReader(drawing))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, drawing)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			open = append(open, len(all))
			all = append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(token)
			}
		}
	}
}

// of returns the values of an attribute of all elements of a name; "" is their text.
func of(all []element, name, attribute string) []string {
	var values []string
	for _, e := range all {
		switch {
		case e.name != name:
		case attribute == "":
			values = append(values, e.text)
		default:
			values = append(values, e.attributes[attribute])
		}
	}
	return values
}

func TestChart(t *testing.T) {
	all := elementsOf(t, chart(`A & B <"c">`, "ms", "less", []group{
		{"create", []bar{{name: "CRD, JSON", value: 2, least: 1, most: 4}, {name: "aggregated, JSON", value: 1}}},
		{"get < all", []bar{{name: "direct & quick", value: 50}, {name: "a loss", value: -3}}},
	}))
	// The first rectangle is the ground. A bar is as long as its part of the axis of its group, which has room for the bounds.
	if diff := cmp.Diff([]string{"900", "285.0", "142.5", "570.0", "0.0"}, of(all, "rect", "width")); diff != "" {
		t.Errorf("bars: %s", diff)
	}
	if diff := cmp.Diff([]string{"ground", "crd", "aggregated-json", "other", "other"}, of(all, "rect", "class")); diff != "" {
		t.Errorf("colours: %s", diff)
	}
	if bounds := of(all, "path", "d"); !slices.Contains(bounds, "M300.5 80 H728.0") {
		t.Errorf("bounds are missing in %q", bounds)
	}
	if diff := cmp.Diff([]string{
		`A & B <"c">`, "less is better", "median (minimum–maximum)",
		"create", "0", "1", "2", "3", "4", "CRD, JSON", "2.00 ms (1.00–4.00)", "aggregated, JSON", "1.00 ms",
		"get < all", "0", "10", "20", "30", "40", "50", "direct & quick", "50.0 ms", "a loss", "-3.00 ms",
	}, of(all, "text", "")); diff != "" {
		t.Errorf("texts: %s", diff)
	}
	if titles := of(all, "title", ""); !slices.Equal(titles, []string{`A & B <"c">`}) {
		t.Errorf("title %q", titles)
	}
}

// TestColours checks that no two series have the same color on a light or dark page, and that each drawing supports both.
func TestColours(t *testing.T) {
	used := map[string]string{}
	for _, c := range colours {
		for _, colour := range []string{"." + c.class, c.light, c.dark} {
			if other := used[colour]; other != "" && other != c.series {
				t.Errorf("%s and %s share %s", c.series, other, colour)
			}
			used[colour] = c.series
		}
	}
	if drawing := chart("x", "ms", "less", []group{{"get", []bar{{name: "CRD, JSON", value: 1}}}}); !strings.Contains(drawing, "@media (prefers-color-scheme:dark)") {
		t.Errorf("no colours for dark pages in %s", drawing)
	}
}

func TestEmptyChart(t *testing.T) {
	if drawing := chart("none", "ms", "less", nil); drawing != "" {
		t.Errorf("no groups make %s", drawing)
	}
	if widths := of(elementsOf(t, chart("zero", "ms", "less", []group{{"get", []bar{{name: "etcd"}}}})), "rect", "width"); !slices.Equal(widths, []string{"900", "0.0"}) {
		t.Errorf("nothing was measured, and the bars are %v long", widths)
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		most  float64
		steps int
		want  []string
	}{
		{0, 4, []string{"0"}},
		{-1, 4, []string{"0"}},
		{1, 5, []string{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{4, 4, []string{"0", "1", "2", "3", "4"}},
		{9.29, 4, []string{"0", "5", "10"}},
		{36.7, 4, []string{"0", "10", "20", "30", "40"}},
		{155, 4, []string{"0", "50", "100", "150", "200"}},
		{0.034, 4, []string{"0", "0.01", "0.02", "0.03", "0.04"}},
		{3500, 5, []string{"0", "1,000", "2,000", "3,000", "4,000"}},
	} {
		var got []string
		for _, tick := range ticks(test.most, test.steps) {
			got = append(got, tick.label)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("ticks(%g, %d): %s", test.most, test.steps, diff)
		}
	}
}

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{1234.5: "1234", 99.96: "100.0", 12.34: "12.3", 1.234: "1.23", 0.0123: "0.012", 0: "0.00", -2.5: "-2.50"} {
		if got := number(value); got != want {
			t.Errorf("number(%g) is %s, not %s", value, got, want)
		}
	}
}
