// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// failOp returns a function that fails each call of an operation on a named resource while *on is true.
func failOp(on *bool, op, name string, reason backend.Reason) func(string, backend.Key) error {
	return func(o string, key backend.Key) error {
		if *on && o == op && key.String() == name {
			return fail(reason, "injected")
		}
		return nil
	}
}

// stateOf returns the last report of one resource.
func (w *world) stateOf(claim, kind, id string) Pushed {
	for _, p := range w.outcome(claim).Pushed {
		if p.Kind == kind && p.ID == id {
			return p
		}
	}
	return Pushed{}
}

func TestLostResponseIsVerifiedBeforeRetry(t *testing.T) {
	for _, op := range []string{"create", "update", "delete"} {
		for _, done := range []bool{true, false} {
			w := newWorld(t, Options{})
			on := true
			fault := failOp(&on, op, "Box b", backend.Transient)
			w.put("a", box("b", 1))
			if op != "create" {
				w.run(time.Minute)
				w.resetCalls()
			}
			if op == "update" {
				w.put("a", box("b", 2))
			}
			if op == "delete" {
				w.delete("a")
			}
			if done {
				w.backend.after = fault
			} else {
				w.backend.before = fault
			}
			w.run(0)
			o := w.outcome("a")
			expect(t, "reason", o.Reason, ReasonRetrying)
			expect(t, "stalled", o.Stalled, false)
			if o.RetryAfter < 900*time.Millisecond || o.RetryAfter > time.Second {
				t.Fatalf("retry after %v", o.RetryAfter)
			}
			expect(t, "code", o.Pushed[0].Code, 403)

			// A new process reads it, too.
			on = false
			w.restart()
			w.run(time.Minute)
			want := map[string]int{"create": 2, "update": 1, "delete": 0}[op]
			if op == "create" && done {
				want = 1
			}
			expect(t, op+"s of both", len(w.backend.rejected), 0)
			if op == "delete" {
				expect(t, "claims", len(w.claims), 0)
				continue
			}
			w.expectSynced()
			if got := w.backend.calls[op]; op == "create" && got != want {
				t.Fatalf("%d creates, want %d", got, want)
			}
			expect(t, "gets", w.backend.calls["get"], 1)
		}
	}
}

func TestTransientErrorsBackOffAndBlockTheClaim(t *testing.T) {
	w := newWorld(t, Options{})
	on := true
	w.backend.before = failOp(&on, "create", "Box b1", backend.Transient)
	w.put("a", box("b1", 1), box("b2", 1))
	w.run(10 * time.Minute)
	expect(t, "message", w.outcome("a").Message, "Box b1: injected")
	expect(t, "the next resource", w.stateOf("a", "Box", "b2"), Pushed{Kind: "Box", ID: "b2", State: Pending, Message: "it waits until Box b1 was tried again"})
	expect(t, "its calls", strings.Contains(strings.Join(w.backend.log, " "), "b2"), false)
	if n := w.backend.calls["create"]; n < 12 || n > 20 {
		t.Fatalf("%d creates in 10 minutes", n)
	}
	on = false
	w.run(time.Minute)
	w.expectSynced()
}

func TestRejectionStallsOneResourceOnly(t *testing.T) {
	w := newWorld(t, Options{})
	on := true
	w.backend.before = failOp(&on, "create", "Box b1", backend.Refused)
	w.put("a", box("b1", 1), port("b1", "p", 1), box("b2", 1))
	w.run(0)
	o := w.outcome("a")
	expect(t, "reason", o.Reason, ReasonRefused)
	expect(t, "stalled", o.Stalled, true)
	expect(t, "b1", w.stateOf("a", "Box", "b1"), Pushed{Kind: "Box", ID: "b1", State: Failed, Code: 400, Message: "injected"})
	expect(t, "p", w.stateOf("a", "Port", "p").Message, "it waits for Box b1")
	expect(t, "b2", w.stateOf("a", "Box", "b2").State, Synced)
	w.run(24 * time.Hour)
	if n := w.backend.calls["create"]; n < 50 || n > 60 {
		t.Fatalf("%d creates in a day", n)
	}
	// New content is tried immediately.
	on = false
	w.put("a", box("b1", 2), port("b1", "p", 1), box("b2", 1))
	w.run(0)
	w.expectSynced()
}

func TestAFencedWriteEndsThePush(t *testing.T) {
	w := newWorld(t, Options{})
	on := true
	w.backend.before = failOp(&on, "create", "Box b1", backend.Fenced)
	w.put("a", box("b1", 1), box("b2", 1))
	_, err := w.push(named("a"))
	if err == nil || backend.ReasonOf(err) != backend.Fenced {
		t.Fatalf("error: %v", err)
	}
	expect(t, "calls", len(w.backend.log), 1)
	// Nothing was sent, so the state of the resource is known.
	on = false
	if o, err := w.push(named("a")); err != nil || o.Reason != ReasonSynced {
		t.Fatalf("outcome %+v, error %v", o, err)
	}
	expect(t, "gets", w.backend.calls["get"], 0)
	w.delete("a")
	on = true
	w.backend.before = failOp(&on, "delete", "Box b1", backend.Fenced)
	if _, err := w.push(named("a")); backend.ReasonOf(err) != backend.Fenced {
		t.Fatalf("error: %v", err)
	}
	on = false
	if o, err := w.push(named("a")); err != nil || !o.Deleted {
		t.Fatalf("outcome %+v, error %v", o, err)
	}
}

func TestPushEndsWithItsContext(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b1", 1), box("b2", 1))
	ctx, cancel := context.WithCancel(context.Background())
	w.backend.after = func(string, backend.Key) error { cancel(); return context.Canceled }
	if _, err := w.pushWith(ctx, named("a")); !errors.Is(err, context.Canceled) {
		t.Fatalf("error: %v", err)
	}
	expect(t, "calls", len(w.backend.log), 1)
	w.backend.after = nil
	if _, err := w.push(named("a")); err != nil {
		t.Fatal(err)
	}
	w.expectSynced()
	expect(t, "creates", w.backend.calls["create"], 2)
	if _, err := w.push(named("other")); !errors.Is(err, ErrUnknownClaim) {
		t.Fatalf("error: %v", err)
	}
}

func TestAConflictIsReadAndEndsWell(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b1", 1), box("b2", 1), table("t", 1), rule("t", "r", 1))
	for _, item := range []backend.Item{box("b1", 1), box("b2", 7), table("t", 1), rule("t", "x", 1), rule("t", "r", 7)} {
		r, _ := w.backend.Resolve(item)
		if err := w.backend.create(r, map[bool]int{true: 1}[r.Ordered]); err != nil {
			t.Fatal(err)
		}
	}
	w.run(time.Minute)
	w.expectSynced()
	expect(t, "updates", w.backend.calls["update"], 1)
	expectList(t, "rules", w.list("Rule", "t"), "r", "x")
	w.claims[named("a")].Pushed = nil
	w.checkBackend(map[backend.Key]bool{{Kind: "Rule", ID: "x"}: true})
}

func TestConflictWithoutOwnerIsRetriedThenStalls(t *testing.T) {
	w := newWorld(t, Options{})
	on := true
	w.backend.before = failOp(&on, "create", "Box b", backend.Conflict)
	w.put("a", box("b", 1))
	w.run(0)
	expect(t, "reason", w.outcome("a").Reason, ReasonRetrying)
	w.run(5 * time.Second)
	expect(t, "creates", w.backend.calls["create"], 3)
	o := w.outcome("a")
	expect(t, "reason", o.Reason, ReasonConflict)
	expect(t, "stalled", o.Stalled, true)
	expect(t, "message", o.Message, "Box b: injected")
	if o.RetryAfter < time.Minute {
		t.Fatalf("retry after %v", o.RetryAfter)
	}
	on = false
	w.run(time.Hour)
	w.expectSynced()
}

func TestAMissingReferentIsVerified(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("node", box("b", 1))
	w.run(time.Minute)
	w.backend.remove(backend.Key{Kind: "Box", ID: "b"})
	w.put("pod", port("b", "p", 1))
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "ports", w.list("Port", "b"), "p")
	expect(t, "refusals", len(w.backend.rejected), 1)
}

func TestUpdateOfADeletedResourceCreatesIt(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1))
	w.put("pod", port("b", "p", 1))
	w.run(time.Minute)
	w.backend.remove(backend.Key{Kind: "Box", ID: "b"})
	w.put("a", box("b", 2))
	w.run(time.Minute)
	w.expectSynced()
	// Its dependents were read.
	expectList(t, "ports", w.list("Port", "b"), "p")
}

func TestRejectedDeleteKeepsTheClaim(t *testing.T) {
	w := newWorld(t, Options{})
	on := true
	w.put("a", box("b1", 1), box("b2", 1))
	w.run(time.Minute)
	w.backend.before = failOp(&on, "delete", "Box b2", backend.Refused)
	w.delete("a")
	w.run(0)
	o := w.outcome("a")
	expect(t, "reason", o.Reason, ReasonRefused)
	expect(t, "gone", o.Deleted, false)
	expect(t, "left", len(o.Pushed), 1)
	expect(t, "state", o.Pushed[0].State, Failed)
	on = false
	w.run(time.Hour)
	expect(t, "claims", len(w.claims), 0)
	expect(t, "objects", len(w.backend.objects), 0)
}

// TestReplacementSurvivesACrashAtAnyCall ends the process at each call of a replacement in turn.
func TestReplacementSurvivesACrashAtAnyCall(t *testing.T) {
	for _, done := range []bool{true, false} {
		for at := range 6 {
			for _, deleted := range []bool{false, true} {
				w := newWorld(t, Options{})
				w.put("a", table("t", 1), rule("t", "r1", 1), rule("t", "r2", 1), rule("t", "r3", 1))
				w.run(time.Minute)
				w.put("a", table("t", 1), rule("t", "r1", 1), rule("t", "r2", 2), rule("t", "r3", 1))
				ctx, cancel := context.WithCancel(context.Background())
				calls := 0
				fault := func(string, backend.Key) error {
					if calls++; calls <= at {
						return nil
					}
					cancel()
					return context.Canceled
				}
				if done {
					w.backend.after = fault
				} else {
					w.backend.before = fault
				}
				_, _ = w.pushWith(ctx, named("a"))
				cancel()
				w.backend.before, w.backend.after = nil, nil
				if r2 := w.list("Rule", "t"); len(r2) < 3 {
					t.Fatalf("call %d: not even a copy is there: %v", at, r2)
				}
				w.restart()
				if deleted {
					w.delete("a")
					w.run(time.Minute)
					expect(t, "objects left", len(w.backend.objects), 0)
					continue
				}
				w.run(time.Minute)
				w.expectSynced()
				expectList(t, "rules", w.list("Rule", "t"), "r3", "r2", "r1")
			}
		}
	}
}

func TestAfterAnOutageNoListIsRead(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", table("t", 1))
	w.run(time.Minute)
	on := true
	w.backend.before = failOp(&on, "create", "Rule r", backend.Transient)
	w.put("b", rule("t", "r", 1))
	w.run(0)
	expect(t, "state", w.stateOf("b", "Rule", "r").State, Failed)
	on = false
	w.resetCalls()
	w.restart()
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "calls", w.backend.log, "get Rule r-copy", "get Rule r", "create Rule r")
}
