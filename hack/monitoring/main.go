// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command monitoring generates files in artifacts/monitoring: the dashboards, and the rules as an object of the Prometheus
// operator. Run it in its directory.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// Directories and files, relative to this directory.
const (
	artifacts = "../../artifacts/monitoring"
	ruleText  = artifacts + "/alerts/groundskeeper.rules.yaml"
)

func main() {
	files, err := generate()
	for path, content := range files {
		if err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate returns all files by their paths.
func generate() (map[string][]byte, error) {
	rules, err := os.ReadFile(ruleText)
	if err != nil {
		return nil, err
	}
	object, err := prometheusRule(rules)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{filepath.Join(artifacts, "prometheus-operator/rules.yaml"): object}
	for _, b := range boards() {
		if files[filepath.Join(artifacts, "dashboards", b.name+".json")], err = b.build(); err != nil {
			return nil, err
		}
	}
	return files, nil
}
