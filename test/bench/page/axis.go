// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"strconv"
)

// tick is a value on an axis, and how it is written.
type tick struct {
	value float64
	label string
}

// ticks divides an axis from 0 to at least most into at most steps equal parts of 1, 2 or 5 times a power of ten.
func ticks(most float64, steps int) []tick {
	if most <= 0 {
		return []tick{{0, "0"}}
	}
	power := int(math.Floor(math.Log10(most / float64(steps))))
	for _, factor := range []float64{1, 2, 5, 10, 20, 50} {
		step := factor * math.Pow10(power)
		n := int(math.Ceil(most/step - 1e-9))
		if n > steps {
			continue
		}
		decimals := max(0, -power)
		if factor >= 10 {
			decimals = max(0, -power-1)
		}
		all := make([]tick, 0, n+1)
		for i := range n + 1 {
			value := float64(i) * step
			label := strconv.FormatFloat(value, 'f', decimals, 64)
			if value >= 1000 {
				label = thousands(int(math.Round(value)))
			}
			if i == 0 {
				label = "0"
			}
			all = append(all, tick{value, label})
		}
		return all
	}
	return nil // one step of 50 times the power is longer than most
}
