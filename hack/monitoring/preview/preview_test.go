// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	for want, tc := range map[string]struct {
		value float64
		unit  string
	}{
		"0":        {0, "short"},
		"3":        {3, "short"},
		"12.5":     {12.5, "short"},
		"1.23 K":   {1234, "short"},
		"-1":       {-1, "short"},
		"0.04":     {0.04, "short"},
		"0 ms":     {0, "s"},
		"250 ms":   {0.25, "s"},
		"90.5 %":   {0.905, "percentunit"},
		"1.5 min":  {90, "s"},
		"1.25 d":   {108000, "s"},
		"64 MiB":   {64 << 20, "bytes"},
		"0.2/s":    {0.2, "ops"},
		"1.5 K/s":  {1500, "reqps"},
		"2 s":      {2000, "ms"},
		"100 %":    {1, "percentunit"},
		"0/s":      {0, "wps"},
		"2.5 M":    {2.5e6, "short"},
		"0.0012":   {0.0012, "short"},
		"1000 GiB": {1000 << 30, "bytes"},
	} {
		if got := scaleOf(tc.unit, tc.value).number(tc.value); got != want {
			t.Errorf("%v %s: %q, want %q", tc.value, tc.unit, got, want)
		}
	}
}

// TestStep checks that the lines of the grid are at round numbers of the unit.
func TestStep(t *testing.T) {
	for _, tc := range []struct {
		length float64
		unit   string
		want   float64
	}{
		{5.89, "reqps", 2}, {2, "short", 0.5}, {0.999, "s", 0.25}, {129, "s", 60}, {138.5 * (1 << 20), "bytes", 50 * (1 << 20)}, {0.0622, "short", 0.02}, {21, "short", 10}, {0.9, "percentunit", 0.25},
	} {
		if got := scaleOf(tc.unit, tc.length).stepOf(tc.length); math.Abs(got-tc.want) > tc.want*1e-6 {
			t.Errorf("%v %s: %v, want %v", tc.length, tc.unit, got, tc.want)
		}
	}
}

// textsOf returns the texts of a drawing, which must be well-formed.
func textsOf(t *testing.T, content []byte) []string {
	t.Helper()
	var texts []string
	decoder := xml.NewDecoder(bytes.NewReader(content))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			texts = append(texts, string(data))
		}
	}
}

// TestDraw checks that a preview is well-formed, and has each panel: with its lines, or as one without data. Stacked lines are above each
// other, and values that are not finite do not count.
func TestDraw(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("shop.json", `{"title": "Shop & more", "panels": [
		{"type": "row", "title": "First", "gridPos": {"h": 1, "w": 24, "x": 0, "y": 0}},
		{"type": "timeseries", "title": "Requests", "gridPos": {"h": 8, "w": 12, "x": 0, "y": 1}, "targets": [{"expr": "requests", "legendFormat": "{{ verb }} <{{code}}>"}],
		 "fieldConfig": {"defaults": {"unit": "reqps", "custom": {"stacking": {"mode": "normal"}}}}},
		{"type": "stat", "title": "Ready", "gridPos": {"h": 4, "w": 4, "x": 12, "y": 1}, "targets": [{"expr": "ready"}]},
		{"type": "timeseries", "title": "Errors", "gridPos": {"h": 8, "w": 8, "x": 16, "y": 1}, "targets": [{"expr": "errors"}]}]}`)
	panels := write("panels", `{
		"requests": [{"metric": {"verb": "get", "code": "200"}, "values": [[10, "1"], [12, "3"]]}, {"metric": {"verb": "list"}, "values": [[10, "2"], [12, "2"]]}],
		"ready": [{"metric": {}, "values": [[10, "6"], [12, "7"]]}],
		"errors": [{"metric": {}, "values": [[10, "NaN"]]}]}`)
	if err := run(panels, dir, dir); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "dashboard-shop.svg"))
	if err != nil {
		t.Fatal(err)
	}
	texts := textsOf(t, content)
	for _, want := range []string{"Shop & more", "▾ First", "Requests", "get <200>", "list <>", "4/s", "Ready", "7", "Errors", "No data"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no %q in %q", want, texts)
		}
	}
	if err := run(panels, filepath.Join(dir, "none"), dir); err == nil {
		t.Error("a directory without dashboards: no error")
	}
}

// TestPreviewsAreCurrent checks that each dashboard has its preview in the documentation, with all of its rows and panels.
func TestPreviewsAreCurrent(t *testing.T) {
	paths, err := filepath.Glob("../../../artifacts/monitoring/dashboards/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("dashboards %v, error %v", paths, err)
	}
	for _, path := range paths {
		var d dashboard
		if err := read(path, &d); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join("../../../docs/drawings", previewOf(path)))
		if err != nil {
			t.Fatalf("%v: run hack/monitoring/preview.sh", err)
		}
		texts := textsOf(t, content)
		for _, p := range d.Panels {
			if want := p.heading(); !slices.Contains(texts, want) {
				t.Errorf("the preview of %s has no %q: run hack/monitoring/preview.sh", filepath.Base(path), want)
			}
		}
	}
}
