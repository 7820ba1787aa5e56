// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Helm generates the Helm chart from the kustomizations: helm ARTIFACTS CHART rewrites the directory CHART. What is in both is in
// artifacts only; what is the chart's own is in the directory chart beside this file.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: helm ARTIFACTS CHART")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the chart. Files that it no longer has go.
func run(artifacts, directory string) error {
	files, err := chart(artifacts)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(directory, "Chart.yaml")); err == nil {
		if err := os.RemoveAll(directory); err != nil {
			return err
		}
	}
	for name, content := range files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
