// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"math"
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	for name, c := range map[string]struct {
		done     passed
		min, max time.Duration
	}{
		"clean":   {passed{}, 5 * time.Minute, 330 * time.Second},
		"waiting": {passed{result: Result{Again: 30 * time.Second}}, 30 * time.Second, 30 * time.Second},
		"failed":  {passed{err: errFailed}, time.Minute, 66 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				if got := pause(c.done, 5*time.Minute); got < c.min || got > c.max {
					t.Errorf("pause = %s, want %s to %s", got, c.min, c.max)
				}
			}
		})
	}
}

// An interval that leaves no room for jitter is not due immediately.
func TestPauseDoesNotOverflow(t *testing.T) {
	for range 100 {
		if got := pause(passed{}, math.MaxInt64); got != math.MaxInt64 {
			t.Fatalf("pause = %s, want %s", got, time.Duration(math.MaxInt64))
		}
	}
}
