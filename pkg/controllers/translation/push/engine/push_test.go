// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// small creates a network of three Claims that depend on each other.
func small(w *world) {
	w.put("pod", port("b", "p", 1), plug("h", "p", []string{"Port/p", "seat of h"}, []string{"eth0 of h"}))
	w.put("node", box("b", 1, "Table/t"), wanted("Seat", "z", fakeBody{ID: "h", Alias: "seat of h"}))
	w.put("global", wanted("Zone", "", fakeBody{ID: "z"}), table("t", 1), table("s", 1), rule("t", "r1", 1, "Table/s"), rule("t", "r2", 1))
}

func TestEachResourceIsMadeOnce(t *testing.T) {
	w := newWorld(t, Options{})
	small(w)
	w.run(time.Minute)
	w.expectSynced()
	expect(t, "requests", w.writes()+w.backend.calls["get"]+w.backend.calls["list"], 9)
	expect(t, "refusals", len(w.backend.rejected), 0)
	expectList(t, "rules", w.list("Rule", "t"), "r2", "r1")
	expect(t, "synced", w.engine.Counts()[Synced], 9)

	// Neither this process nor the next one queries the backend again.
	w.resetCalls()
	w.restart()
	w.run(time.Minute)
	w.expectSynced()
	expect(t, "calls after a restart", len(w.backend.log), 0)
}

func TestDeletingInAnyOrderLeavesNothing(t *testing.T) {
	w := newWorld(t, Options{})
	small(w)
	w.run(time.Minute)
	w.resetCalls()
	w.delete("global")
	w.delete("node")
	w.delete("pod")
	w.run(time.Minute)
	expect(t, "claims left", len(w.claims), 0)
	expect(t, "objects left", len(w.backend.objects), 0)
	expect(t, "requests", len(w.backend.log), 9)
	expect(t, "nodes left in the index", len(w.engine.x.nodes), 0)
	expect(t, "objects that went before their time", len(w.backend.cascaded), 0)
}

// TestWritesNameTheirClaim checks that the backend gets the Claim for which it compares, updates and deletes, because some resources show
// by their name alone whose they are, and none for an orphan.
func TestWritesNameTheirClaim(t *testing.T) {
	w := newWorld(t, Options{DeleteOrphans: true})
	w.put("a", box("b", 1), box("c", 1), port("b", "p", 1))
	w.run(time.Minute)
	w.backend.mu.Lock()
	w.backend.put(backend.Resource{Ref: w.backend.ref("Box", "", "b"), Body: []byte(`{"id":"b","v":7}`)}) // by another client
	w.backend.mu.Unlock()
	for range 2 {
		stranger := backend.Resource{Ref: w.backend.ref("Pad", "", "x"), Body: []byte(`{"id":"x"}`)}
		if w.backend.objects[stranger.Key] == nil {
			w.backend.put(stranger)
			w.backend.lists[w.backend.collectionOf(stranger.Ref)] = []backend.Key{stranger.Key}
		}
		if _, err := w.engine.Drift(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.run(time.Minute)
	}
	w.put("a", box("b", 1), box("c", 1), port("c", "p", 1)) // it moves
	w.run(time.Minute)
	w.delete("a")
	w.run(time.Minute)
	slices.Sort(w.backend.claimed)
	expectList(t, "calls", slices.Compact(w.backend.claimed),
		"compare Box b for a", "compare Box c for a", "compare Port p for a",
		"delete Box b for a", "delete Box c for a", "delete Pad x for ", "delete Port p for a", "update Box b for a")
}

func TestUnlistedResourcesAreDeletedLast(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1), port("b", "p1", 1), port("b", "p2", 1))
	w.run(time.Minute)
	w.resetCalls()
	w.put("a", box("b", 1), port("b", "p3", 1))
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "calls", w.backend.log, "create Port p3", "delete Port p2", "delete Port p1")
	expect(t, "reported", len(w.outcome("a").Pushed), 2)
}

// TestUnlistedResourcesStayWhileListedOnesCannotBeMade checks that a port is not taken away before the one in its place exists, for a
// limited time.
func TestUnlistedResourcesStayWhileListedOnesCannotBeMade(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1), port("b", "p1", 1))
	w.run(time.Minute)
	w.put("a", box("b", 1), port("b", "p2", 1, "Box/missing"))
	w.run(graceDependents - time.Second)
	expectList(t, "ports", w.list("Port", "b"), "p1")
	w.run(2 * graceDependents)
	expectList(t, "ports", w.list("Port", "b"))
}

func TestUnlistedResourcesAreDeletedAfterARestart(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1), port("b", "p1", 1))
	w.run(time.Minute)
	w.claims[named("a")].Items = Listed{box("b", 1)}
	w.restart()
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "ports", w.list("Port", "b"))
}

func TestContentIsUpdatedOrReplaced(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1), table("t", 1), rule("t", "r1", 1), rule("t", "r2", 1), rule("t", "r3", 1))
	w.run(time.Minute)
	w.resetCalls()
	w.put("a", box("b", 2), table("t", 1), rule("t", "r1", 1), rule("t", "r2", 2), rule("t", "r3", 1))
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "calls", w.backend.log,
		"update Box b", "list Rule t", "create Rule r2-copy", "delete Rule r2", "create Rule r2", "delete Rule r2-copy")
	expectList(t, "rules", w.list("Rule", "t"), "r3", "r2", "r1")
	expect(t, "refusals", len(w.backend.rejected), 0)
}

func TestReplacingATableBringsBackItsRules(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", table("t", 1))
	w.put("b", rule("t", "r1", 1), rule("t", "r2", 1))
	w.run(time.Minute)
	w.put("a", table("t", 2))
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "rules", w.list("Rule", "t"), "r2", "r1")
}

func TestWithoutAModeNothingIsWritten(t *testing.T) {
	f := newFake()
	e := New(f, Options{})
	e.Observe(Claim{Name: named("a"), Items: Listed{box("b", 1)}})
	o, err := e.Push(t.Context(), named("a"))
	if err != nil || o.Reason != ReasonPlanned {
		t.Fatalf("outcome %+v, error %v", o, err)
	}
	expectList(t, "calls", f.log, "get Box b")
	for state, n := range e.Counts() {
		expect(t, string(state), n, map[State]int{Pending: 1}[state])
	}
}

// TestRejectionForAMissingResourceEndsWithIt checks that a resource that was rejected while a dependency was missing is tried again
// once the dependency exists, without the delay after a rejection.
func TestRejectionForAMissingResourceEndsWithIt(t *testing.T) {
	for name, reason := range map[string]backend.Reason{
		"not found": backend.NotFound, "refused": backend.Refused, "in conflict": backend.Conflict,
	} {
		t.Run(name, func(t *testing.T) {
			for _, late := range []backend.Item{wanted("Seat", "z", fakeBody{ID: "h", Alias: "seat of h"}), box("b", 1)} {
				w := newWorld(t, Options{})
				w.put("zone", wanted("Zone", "", fakeBody{ID: "z"}))
				need := "Box/b"
				if late.Kind == "Seat" {
					need = "seat of h"
				}
				on := true
				w.backend.before = failOp(&on, "create", "Plug p", reason)
				w.put("a", plug("h", "p", []string{need}, nil))
				w.run(graceUnlisted + 20*time.Second)
				if o := w.outcome("a"); o.Reason == ReasonSynced || w.backend.calls["create"] < 2 {
					t.Fatalf("it was not tried: %+v", o)
				}
				on = false
				w.put("late", late)
				w.run(0)
				w.expectSynced()
			}
		})
	}
}
