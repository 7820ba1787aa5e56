// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package soaktest reads how often random tests repeat.
package soaktest

import (
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable with the number of rounds, which "make soak" sets.
const Variable = "SOAK"

// Rounds returns the number of rounds of a random test: that of the environment, or the default.
func Rounds(t testing.TB, byDefault int) int {
	t.Helper()
	if n, ok := Requested(t); ok {
		return n
	}
	return byDefault
}

// Requested returns the number of rounds in the environment, and false if there is none. A test fails if it is not a positive number:
// it would otherwise pass after fewer rounds than intended.
func Requested(t testing.TB) (rounds int, ok bool) {
	t.Helper()
	text := os.Getenv(Variable)
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a positive number", Variable, text)
	}
	return n, true
}
