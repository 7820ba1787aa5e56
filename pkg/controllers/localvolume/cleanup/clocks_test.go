// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// TestClocksDiffer checks that a record of a process whose clock is wrong never shortens the delay of a new absence: the node was back
// after the process was killed, and another process, with the clock of the API server, takes over after the second loss.
func TestClocksDiffer(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"ahead": 18600 * time.Millisecond, "far ahead": time.Hour, "behind": -20 * time.Second, "far behind": -time.Hour, "right": 0,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, "a", "b")
			_, claim := b.Bind("c", "a")
			b.Ahead = ahead
			b.LoseNode("a")
			for range 32 {
				b.pass(time.Second)
			}
			b.Clock.SetTime(b.Clock.Now().Add(20*time.Second - ahead)) // another machine; the node is back and lost again meanwhile
			b.Ahead = 0
			b.Restart(nil)
			b.r = newReconciler(b.Site)
			for range 59 {
				b.pass(time.Second)
			}
			b.kept("before the delay of the second absence", claim)
			b.pass(2 * time.Second)
			b.expectDeleted("after the delay of the second absence", claim)
		})
	}
}

// TestRestartWithClockAhead checks that a process whose clock differs continues an absence that another one confirmed a moment ago.
func TestRestartWithClockAhead(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.Ahead = time.Hour
	b.LoseNode("a")
	for range 50 {
		b.pass(time.Second)
	}
	b.Clock.SetTime(b.Clock.Now().Add(2*time.Second - b.Ahead))
	b.Ahead = 0
	b.Restart(nil)
	b.r = newReconciler(b.Site)
	b.pass(time.Second)
	b.kept("what was observed is less than the delay", claim)
	for range 15 {
		b.pass(time.Second)
	}
	b.expectDeleted("both processes have observed the whole delay", claim)
}

// TestSuspendedMachine checks that a process whose machine was suspended deletes nothing: its monotonic clock stood still, and the node
// may have been back.
func TestSuspendedMachine(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(localvolumetest.Delay - 4*time.Second)
	b.Ahead -= 10 * time.Minute
	b.Sync()
	b.Clock.Step(4 * time.Second) // the reconciliation comes before the next beat
	if _, err := b.r.Reconcile(t.Context(), localvolume.Pass{}); err != nil {
		t.Fatal(err)
	}
	b.kept("it is not known what happened meanwhile", claim)
	b.pass(localvolumetest.Delay - 10*time.Second)
	b.kept("the delay starts over", claim)
	b.pass(25 * time.Second)
	b.expectDeleted("after an observed delay", claim)
}
