// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command preview draws the dashboards as SVG, with the layout that Grafana gives them and data that a test recorded:
//
//	preview PANELS DASHBOARDS DIRECTORY
//
// PANELS is the file that TestMetrics of test/integration writes. preview.sh runs both.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// dashboard is the part of a dashboard that is drawn.
type dashboard struct {
	Title  string
	Panels []panel
}

// panel is a panel or a row.
type panel struct {
	Type, Title string
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ Expr, LegendFormat string }
	FieldConfig struct {
		Defaults struct {
			Unit   string
			Min    *float64
			Custom struct{ Stacking struct{ Mode string } }
		}
	}
}

// recorded are the series of each expression. A value is a pair: seconds since 1970, and the number as text.
type recorded map[string][]struct {
	Metric map[string]string
	Values [][2]any
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: preview PANELS DASHBOARDS DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(panels, dashboards, directory string) error {
	var data recorded
	if err := read(panels, &data); err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(dashboards, "*.json"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("there is no dashboard in %s", dashboards)
	}
	for _, path := range paths {
		var d dashboard
		if err := read(path, &d); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, previewOf(path)), draw(d, data), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// previewOf returns the name of the preview of the dashboard in a file.
func previewOf(path string) string {
	return "dashboard-" + strings.TrimSuffix(filepath.Base(path), ".json") + ".svg"
}

func read(path string, into any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
