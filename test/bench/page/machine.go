// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// describe describes this machine in words, as far as proc(5) has it: CPUs, memory and kernel. "" when it has nothing. Whose
// machine it is, and its name, do not belong on a page.
func describe(proc string) string {
	var parts []string
	if cpus := valuesOf(proc, "cpuinfo", "processor"); len(cpus) > 0 {
		text := fmt.Sprintf("%d CPUs", len(cpus))
		if models := valuesOf(proc, "cpuinfo", "model name"); len(models) > 0 {
			text += " (" + strings.Join(strings.Fields(models[0]), " ") + ")"
		}
		parts = append(parts, text)
	}
	if memory := valuesOf(proc, "meminfo", "MemTotal"); len(memory) > 0 {
		if kib, err := strconv.ParseFloat(strings.TrimSuffix(memory[0], " kB"), 64); err == nil {
			parts = append(parts, fmt.Sprintf("%.0f GiB of memory", kib/(1<<20)))
		}
	}
	if release, err := os.ReadFile(filepath.Join(proc, "sys", "kernel", "osrelease")); err == nil {
		parts = append(parts, "Linux "+strings.TrimSpace(string(release)))
	}
	return strings.Join(parts, ", ")
}

// valuesOf returns the values of all lines "name : value" of a file, none when it does not exist.
func valuesOf(proc, file, name string) []string {
	text, err := os.ReadFile(filepath.Join(proc, file)) //nolint:gosec // a file that Groundskeeper names
	if err != nil {
		return nil
	}
	var values []string
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}
