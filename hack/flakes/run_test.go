// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMain lets the test's own binary be the load, as the command's binary is.
func TestMain(m *testing.M) {
	if loads() {
		return
	}
	os.Exit(m.Run())
}

// TestRepeat repeats a package with a test that fails only beside a load.
func TestRepeat(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/flaky\n\ngo 1.26\n",
		"flaky_test.go": `package flaky
import ("os"; "testing")
func TestSteady(*testing.T) {}
func TestFlaky(t *testing.T) { if os.Getenv("GOMAXPROCS") == "1" { t.Fatal("slow") } }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out bytes.Buffer
	err := repeat(t.Context(), options{times: 2, run: regexp.MustCompile(""), logs: filepath.Join(dir, "logs"), packages: []string{"."}}, &out)
	if err == nil || strings.Count(err.Error(), "example.com/flaky TestFlaky, beside a load") != 2 || strings.Contains(err.Error(), "alone") {
		t.Errorf("error = %v, want two failures beside a load", err)
	}
	if want := "2 tests, 8 runs, 0 of them left out by the limit, 2 failed"; !strings.Contains(out.String(), want) {
		t.Errorf("output = %s, want %q", out.String(), want)
	}
	log, err := os.ReadFile(filepath.Join(dir, "logs", "flaky-TestFlaky-1.log"))
	if err != nil || !strings.Contains(string(log), "slow") {
		t.Errorf("log = %s, %v, want the output of the test", log, err)
	}
}
