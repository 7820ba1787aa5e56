// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDescribe(t *testing.T) {
	proc := t.TempDir()
	if text := describe(proc); text != "" {
		t.Errorf("nothing is known, and the machine has %s", text)
	}
	if err := os.MkdirAll(filepath.Join(proc, "sys", "kernel"), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(file, content string) {
		if err := os.WriteFile(filepath.Join(proc, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("cpuinfo", "processor\t: 0\nprocessor variant\t: 7\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n")
	put("meminfo", "MemTotal:       24683128 kB\nMemFree:         1000 kB\n")
	put("sys/kernel/osrelease", "6.1.0-40-cloud\n")
	put("sys/kernel/hostname", "secret\n")
	if got, want := describe(proc), "2 CPUs, 24 GiB of memory, Linux 6.1.0-40-cloud"; got != want {
		t.Errorf("without a model: %q, not %q", got, want)
	}
	put("cpuinfo", "processor\t: 0\nmodel name\t: Fast  CPU @ 2.00GHz\nmodel\t: 7\n")
	if got, want := describe(proc), "1 CPUs (Fast CPU @ 2.00GHz), 24 GiB of memory, Linux 6.1.0-40-cloud"; got != want {
		t.Errorf("with a model: %q, not %q", got, want)
	}
}
