// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// drawing is what the test reads of an SVG.
type drawing struct {
	Style string `xml:"style"`
	Rects []struct {
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Class  string  `xml:"class,attr"`
	} `xml:"rect"`
	Texts []struct {
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Size   float64 `xml:"font-size,attr"`
		Anchor string  `xml:"text-anchor,attr"`
		Text   string  `xml:",chardata"`
	} `xml:"text"`
}

// glyphWidth is how wide a character is, as a part of the size of its font: an average of the sans-serif fonts of browsers.
const glyphWidth = 0.52

// TestDrawings checks that each label of a drawing lies inside or outside of a box, never across its border, and that there are
// colors for dark pages.
func TestDrawings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docs", "drawings", "*.svg"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files = %v, error = %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d drawing
		if err := xml.Unmarshal(content, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !strings.Contains(d.Style, "prefers-color-scheme:dark") || strings.Contains(string(content), `fill="#`) {
			t.Errorf("%s: has colours that do not follow those of the page", filepath.Base(file))
		}
		for _, text := range d.Texts {
			size := max(text.Size, 11)
			width := glyphWidth * size * float64(utf8.RuneCountInString(text.Text))
			left := text.X - map[string]float64{"middle": width / 2, "end": width}[text.Anchor]
			for _, r := range d.Rects {
				apart := left >= r.X+r.Width || left+width <= r.X || text.Y-size*0.7 >= r.Y+r.Height || text.Y <= r.Y
				within := left >= r.X && left+width <= r.X+r.Width && text.Y-size*0.7 >= r.Y && text.Y <= r.Y+r.Height
				if !apart && !within {
					t.Errorf("%s: %q lies across the border of the %s at %g,%g", filepath.Base(file), text.Text, r.Class, r.X, r.Y)
				}
			}
		}
	}
}
