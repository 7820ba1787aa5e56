// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// parseDuration reads a Go duration, or a bare number of units, as the documentation of the original has them.
func parseDuration(text string, unit time.Duration) (time.Duration, error) {
	if parsed, err := time.ParseDuration(text); err == nil {
		return parsed, nil
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || math.Abs(number*float64(unit)) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is neither a duration, for instance 90s, nor a number of %s", text, unitName(unit))
	}
	return time.Duration(number * float64(unit)), nil
}

func unitName(unit time.Duration) string {
	if unit == time.Minute {
		return "minutes"
	}
	return "seconds"
}
