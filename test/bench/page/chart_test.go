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

// of are the values of an attribute of all elements of a name; "" is their text.
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
	all := elementsOf(t, chart(`A & B <"c">`, "ms", []group{
		{"create", []bar{{name: "CRD, JSON", value: 2, least: 1, most: 4}, {name: "aggregated, JSON", value: 1}}},
		{"get < all", []bar{{name: "direct & quick", value: 50}, {name: "a loss", value: -3}}},
	}))
	// The first rectangle is the ground. A bar is as long as its part of the longest of its group, bounds included.
	if diff := cmp.Diff([]string{"900", "270.0", "135.0", "540.0", "0.0"}, of(all, "rect", "width")); diff != "" {
		t.Errorf("bars: %s", diff)
	}
	if diff := cmp.Diff([]string{"#fff", "#9aa3ad", "#3c8a52", "#8cc59b", "#9aa3ad"}, of(all, "rect", "fill")); diff != "" {
		t.Errorf("colours: %s", diff)
	}
	if diff := cmp.Diff([]string{"M393.0 70 H798.0"}, of(all, "path", "d")); diff != "" {
		t.Errorf("bounds: %s", diff)
	}
	if diff := cmp.Diff([]string{
		`A & B <"c">`, "create", "CRD, JSON", "2.00 ms", "aggregated, JSON", "1.00 ms",
		"get < all", "direct & quick", "50.0 ms", "a loss", "-3.00 ms",
	}, of(all, "text", "")); diff != "" {
		t.Errorf("texts: %s", diff)
	}
	if titles := of(all, "title", ""); !slices.Equal(titles, []string{`A & B <"c">`}) {
		t.Errorf("title %q", titles)
	}
}

func TestChartOfNothing(t *testing.T) {
	if drawing := chart("none", "ms", nil); drawing != "" {
		t.Errorf("no groups make %s", drawing)
	}
	if widths := of(elementsOf(t, chart("zero", "ms", []group{{"get", []bar{{name: "etcd"}}}})), "rect", "width"); !slices.Equal(widths, []string{"900", "0.0"}) {
		t.Errorf("nothing was measured, and the bars are %v long", widths)
	}
}

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{1234.5: "1234", 99.96: "100.0", 12.34: "12.3", 1.234: "1.23", 0.0123: "0.012", 0: "0.00", -2.5: "-2.50"} {
		if got := number(value); got != want {
			t.Errorf("number(%g) is %s, not %s", value, got, want)
		}
	}
}
