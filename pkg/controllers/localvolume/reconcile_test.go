// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

func TestPace(t *testing.T) {
	const patience = 3 * time.Second
	// A step is what happens at a time after the start: a change, a reconciliation that wants to begin and how long it must wait,
	// or the end of one that has begun.
	type step struct {
		at   time.Duration
		what string
		rest time.Duration
	}
	for name, steps := range map[string][]step{
		"nothing has changed":               {{0, "begin", 0}},
		"one change":                        {{0, "change", 0}, {0, "begin", quiet}, {quiet, "begin", 0}},
		"quiet starts over":                 {{0, "change", 0}, {quiet - 1, "change", 0}, {quiet, "begin", quiet - 1}, {2*quiet - 1, "begin", 0}},
		"patience ends":                     {{0, "change", 0}, {patience - 1, "change", 0}, {patience - 1, "begin", 1}, {patience, "change", 0}, {patience, "begin", 0}},
		"a reconciliation too soon":         {{0, "begin", 0}, {1, "end", 0}, {2, "begin", PassInterval - 1}, {PassInterval + 1, "begin", 0}},
		"quiet, but too soon":               {{0, "end", 0}, {1, "change", 0}, {quiet + 1, "begin", PassInterval - quiet - 1}, {PassInterval, "begin", 0}},
		"a change during a reconciliation":  {{0, "begin", 0}, {1, "change", 0}, {2, "end", 0}, {PassInterval + 2, "begin", 0}},
		"what a reconciliation saw is done": {{0, "change", 0}, {quiet, "begin", 0}, {quiet, "end", 0}, {quiet + PassInterval, "begin", 0}},
		"patience is for new crowd":         {{0, "change", 0}, {quiet, "begin", 0}, {quiet, "end", 0}, {2 * patience, "change", 0}, {2 * patience, "begin", quiet}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			clock := testingclock.NewFakePassiveClock(start)
			site := &Site{Dependencies: Dependencies{Clock: clock}}
			pace := site.NewPace(patience)
			for i, s := range steps {
				clock.SetTime(start.Add(s.at))
				switch s.what {
				case "change":
					site.memory.notify()
				case "end":
					pace.End()
				case "begin":
					if rest := pace.Begin(); rest != s.rest {
						t.Fatalf("step %d: must wait %s, want %s", i, rest, s.rest)
					}
				}
			}
		})
	}
}
