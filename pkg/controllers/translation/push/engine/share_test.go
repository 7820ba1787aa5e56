// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

func TestTheOlderClaimHasAResource(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("old", box("b", 1))
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.put("new", box("b", 2), box("c", 1))
	w.run(time.Minute)
	o := w.outcome("new")
	expect(t, "reason", o.Reason, ReasonConflict)
	expect(t, "stalled", o.Stalled, true)
	if !strings.Contains(o.Message, "default/old") {
		t.Fatalf("message %q does not name the winner", o.Message)
	}
	expect(t, "the other resource", w.stateOf("new", "Box", "c").State, Synced)
	w.resetCalls()

	// Deleting the Claim that did not win needs no request for the resource.
	w.put("third", box("b", 3))
	w.run(time.Minute)
	w.delete("third")
	w.run(time.Minute)
	expect(t, "calls", len(w.backend.log), 0)

	// Deleting the winner hands the resource over unchanged.
	w.delete("old")
	w.run(time.Minute)
	expect(t, "claims", len(w.claims), 1)
	w.expectSynced()
	expectList(t, "calls", w.backend.log, "update Box b")
}

func TestNextVersionTakesOverEqualResources(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("v4", box("b1", 1), box("b2", 1), box("b3", 1))
	w.change("v4", func(c *Claim) { c.Owner, c.Current = "o", true })
	w.run(time.Minute)
	w.resetCalls()
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.change("v4", func(c *Claim) { c.Current = false })
	w.put("v5", box("b1", 1), box("b2", 2))
	w.change("v5", func(c *Claim) { c.Owner, c.Current = "o", true })
	w.run(time.Minute)
	expect(t, "v5", w.outcome("v5").Reason, ReasonSynced)
	expect(t, "v4", w.outcome("v4").Reason, ReasonConflict)
	w.delete("v4")
	w.run(time.Minute)
	expectList(t, "calls", w.backend.log, "update Box b2", "delete Box b3")

	w.restart()
	w.run(time.Minute)
	w.expectSynced()
	expect(t, "calls after a restart", len(w.backend.log), 2)
}

func TestAResourceMovesToAnotherClaim(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1), port("b", "p", 1))
	w.run(time.Minute)
	w.put("b", port("b", "p", 1))
	w.put("a", box("b", 1))
	w.run(time.Minute)
	w.expectSynced()
	expect(t, "writes", w.writes(), 2)
}

func TestAResourceMovesToAnotherParent(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b1", 1), box("b2", 1), port("b1", "p", 1))
	w.put("pod", plug("h", "p", []string{"Port/p"}, nil))
	w.run(time.Minute)
	w.resetCalls()
	w.put("a", box("b1", 1), box("b2", 1), port("b2", "p", 1))
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "calls", w.backend.log, "delete Port p", "create Port p", "get Plug p", "create Plug p")
	expect(t, "parent", w.stateOf("a", "Port", "p").Parent, "b2")
}

func TestSlots(t *testing.T) {
	slot := []string{"eth0 of h"}
	t.Run("of the same Claim", func(t *testing.T) {
		w := newWorld(t, Options{})
		w.put("a", plug("h", "p1", nil, slot))
		w.run(time.Minute)
		w.resetCalls()
		w.put("a", plug("h", "p2", nil, slot))
		w.run(time.Minute)
		w.expectSynced()
		expectList(t, "calls", w.backend.log, "delete Plug p1", "create Plug p2")
	})
	t.Run("of a Claim being deleted", func(t *testing.T) {
		w := newWorld(t, Options{})
		w.put("z", plug("h", "p1", nil, slot))
		w.run(time.Minute)
		w.resetCalls()
		w.put("a", plug("h", "p2", nil, slot))
		w.delete("z")
		w.run(time.Minute)
		w.expectSynced()
		expectList(t, "calls", w.backend.log, "delete Plug p1", "create Plug p2")
	})
	t.Run("of a Claim that stays", func(t *testing.T) {
		w := newWorld(t, Options{})
		w.put("z", plug("h", "p1", nil, slot))
		w.run(time.Minute)
		w.resetCalls()
		w.put("a", plug("h", "p2", nil, slot))
		w.run(time.Minute)
		expect(t, "reason", w.outcome("a").Reason, ReasonConflict)
		expect(t, "message", w.outcome("a").Message, "Plug p2: Plug p1 is in its place")
		expect(t, "calls", len(w.backend.log), 0)
		w.put("z", plug("h", "p1", nil, []string{"eth1 of h"}))
		w.run(time.Minute)
		w.expectSynced()
	})
	t.Run("of what never had it", func(t *testing.T) {
		w := newWorld(t, Options{})
		w.put("z", plug("h", "p1", nil, slot))
		w.run(time.Minute)
		w.put("a", plug("h", "p2", nil, slot))
		w.run(time.Minute)
		w.resetCalls()
		w.restart()
		w.delete("a")
		w.run(time.Minute)
		expect(t, "claims", len(w.claims), 1)
		expect(t, "calls", len(w.backend.log), 0)
	})
	t.Run("unknown after a restart", func(t *testing.T) {
		w := newWorld(t, Options{})
		w.put("a", plug("h", "p1", nil, slot))
		w.run(time.Minute)
		w.claims[named("a")].Items = Listed{plug("h", "p2", nil, slot)}
		w.restart()
		w.run(time.Hour)
		w.expectSynced()
		expectList(t, "plugs", w.list("Plug", "h"), "p2")
	})
}

func TestDependentsThatGoAreWaitedForATime(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("node", box("b", 1))
	w.put("pod", port("b", "p", 1))
	w.run(time.Minute)
	on := true
	w.backend.before = failOp(&on, "delete", "Port p", backend.Refused)
	w.delete("node")
	w.delete("pod")
	w.run(graceDependents - time.Second)
	expect(t, "reason", w.outcome("node").Reason, ReasonWaiting)
	expect(t, "state", w.outcome("node").Pushed[0].State, Deleting)
	w.run(2 * time.Second)
	expect(t, "claims", len(w.claims), 1)
	on = false
	w.run(time.Hour)
	expect(t, "claims", len(w.claims), 0)
}

func TestDependentsThatStayAreVerified(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("node", box("b", 1))
	w.put("pod", port("b", "p", 1))
	w.run(time.Minute)
	w.delete("node")
	w.run(0)
	expect(t, "claims", len(w.claims), 1)
	w.run(time.Minute)
	expect(t, "reason", w.outcome("pod").Reason, ReasonWaiting)
	expect(t, "state", w.stateOf("pod", "Port", "p").State, Pending)
	w.put("node2", box("b", 1))
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "ports", w.list("Port", "b"), "p")
}

func TestUnlistedResourcesAreRetried(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("pod", port("b", "p", 1))
	w.run(graceUnlisted - time.Second)
	expect(t, "calls", len(w.backend.log), 0)
	expect(t, "message", w.outcome("pod").Message, "Port p: it waits for Box b, which no Claim lists")
	r, _ := w.backend.Resolve(box("b", 1))
	w.backend.put(r)
	w.run(2 * time.Second)
	w.expectSynced()

	w = newWorld(t, Options{})
	w.put("pod", table("t", 1), port("b", "p", 1, "Table/t"))
	w.run(time.Hour)
	expect(t, "gets", w.backend.calls["get"], 0)
	if n := w.backend.calls["create"] - 1; n < 10 || n > 25 {
		t.Fatalf("%d tries in an hour", n)
	}
	// It is tried immediately when it lands.
	w.put("node", box("b", 1))
	w.run(0)
	w.expectSynced()
}

func TestWaitingIsReportedLater(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("node", box("b", 1))
	w.put("pod", port("b", "p", 1))
	o, err := w.push(named("pod"))
	if err != nil || !o.Settling || o.RetryAfter != settleTime || o.Reason != ReasonWaiting {
		t.Fatalf("outcome %+v, error %v", o, err)
	}
	w.clock.SetTime(w.clock.Now().Add(settleTime))
	if o, _ = w.push(named("pod")); o.Settling || o.Message != "Port p: it waits for Box b" {
		t.Fatalf("outcome %+v", o)
	}
}

func TestInvalidItems(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1), port("b", "p", 1))
	w.run(time.Minute)
	w.put("a", box("b", 1), backend.Item{Kind: "Port", Parent: "b", Body: "{broken"}, wanted("Ghost", "", fakeBody{ID: "g"}), box("b", 2), box("c", 1))
	w.run(time.Minute)
	o := w.outcome("a")
	expect(t, "reason", o.Reason, ReasonInvalid)
	expect(t, "stalled", o.Stalled, true)
	expect(t, "broken", o.Pushed[1].State, Failed)
	expect(t, "unknown kind", o.Pushed[2].State, NotApplicable)
	expect(t, "listed twice", o.Pushed[3].Message, "it is listed twice: remove one")
	expect(t, "the rest", o.Pushed[4].State, Synced)
	// The invalid item may be about the existing port.
	expectList(t, "ports", w.list("Port", "b"), "p")
	expect(t, "port", o.Pushed[5].State, Deleting)

	w.restart()
	w.delete("a")
	w.run(time.Minute)
	expect(t, "objects", len(w.backend.objects), 0)
	expect(t, "claims", len(w.claims), 0)
}

func TestNeedsInACircle(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b1", 1, "Box/b2", "Box/b1"))
	w.put("b", box("b2", 1, "Box/b1"))
	w.run(time.Hour)
	expect(t, "reason", w.outcome("a").Reason, ReasonWaiting)
	w.delete("a")
	w.delete("b")
	w.run(time.Minute)
	expect(t, "claims", len(w.claims), 0)
}

func TestANewClaimOfTheSameNameIsAnother(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1))
	w.run(time.Minute)
	w.change("a", func(c *Claim) { c.UID = "other"; c.Pushed = nil })
	w.run(time.Minute)
	w.expectSynced()
	expect(t, "objects", len(w.backend.objects), 1)
	w.engine.Discard(named("a"))
	expect(t, "nodes", len(w.engine.x.nodes), 0)
	w.engine.Discard(named("a"))
	expect(t, "counts", w.engine.Counts()[Synced], 0)
}

func TestTimeToSyncIsReportedOnce(t *testing.T) {
	var took []time.Duration
	w := newWorld(t, Options{Pushed: func(d time.Duration) { took = append(took, d) }})
	w.put("pod", port("b", "p", 1))
	w.run(3 * time.Second)
	w.put("node", box("b", 1))
	w.run(time.Hour)
	w.restart()
	w.run(time.Minute)
	if len(took) != 2 || took[1] != 3*time.Second && took[0] != 3*time.Second {
		t.Fatalf("took %v", took)
	}
}

// TestAwaitedResourcesArePrioritized checks that resources that Claims wait for are pushed before others, at least once.
func TestAwaitedResourcesArePrioritized(t *testing.T) {
	for what, need := range map[string]string{"the resource": "Box/b", "an alias of it": "where"} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.put("node", wanted("Box", "", fakeBody{ID: "b", V: 1, Alias: "where"}))
			w.put("pod", box("p", 1, need))
			reject := true
			w.backend.before = failOp(&reject, "create", "Box b", backend.Refused)
			clear(w.queue)
			push := func(name string) {
				t.Helper()
				if _, err := w.push(named(name)); err != nil {
					t.Fatal(err)
				}
			}
			push("pod")
			expect(t, "woken", w.queue[named("node")], true)
			push("node")
			clear(w.queue)
			push("pod")
			expect(t, "woken again", len(w.queue), 0)
			reject = false
			w.run(time.Hour)
			w.expectSynced()
		})
	}
}

func TestUnchangedObservationWakesNoClaim(t *testing.T) {
	w := newWorld(t, Options{})
	small(w)
	w.run(time.Minute)
	for _, name := range w.names() {
		w.engine.Observe(*w.claims[name])
	}
	expect(t, "woken", len(w.queue), 0)
	w.change("pod", func(c *Claim) { c.UID = types.UID("other") })
	expect(t, "woken", w.queue[named("pod")], true)
}
