// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// once calls fn after the first call of an operation on a resource.
func (w *world) once(op, name string, fn func()) {
	called := false
	w.backend.after = func(o string, key backend.Key) error {
		if !called && o == op && key.String() == name {
			called = true
			fn()
		}
		return nil
	}
}

func TestDependencyIsReplacedDuringCreation(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("global", table("t", 1))
	w.put("node", box("b", 1))
	w.run(time.Minute)
	w.put("pod", port("b", "p", 1, "Table/t"))
	w.once("create", "Port p", func() {
		w.put("global", table("t", 2))
		if _, err := w.push(named("global")); err != nil {
			t.Error(err)
		}
	})
	o, err := w.push(named("pod"))
	if err != nil || o.Pushed[0].State == Synced {
		t.Fatalf("outcome %+v, error %v", o, err)
	}
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "ports", w.list("Port", "b"), "p")
}

func TestTheListChangesWhileItIsPushed(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b1", 1), box("b2", 1), box("b3", 1))
	w.once("create", "Box b1", func() { w.put("a", box("b3", 1), box("b4", 1)) })
	o, err := w.push(named("a"))
	if err != nil || !o.Settling || o.RetryAfter == 0 {
		t.Fatalf("outcome %+v, error %v", o, err)
	}
	expectList(t, "calls", w.backend.log, "create Box b1")
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "boxes", w.list("Box", ""), "b3", "b4")
}

func TestClaimIsDiscardedWhilePushed(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b1", 1), box("b2", 1))
	w.once("create", "Box b1", func() { w.engine.Discard(named("a")) })
	if _, err := w.push(named("a")); err != nil {
		t.Fatal(err)
	}
	expect(t, "nodes", len(w.engine.x.nodes), 0)
	expect(t, "calls", len(w.backend.log), 1)
}

func TestAResourceIsListedAgainWhileItIsDeleted(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1))
	w.run(time.Minute)
	w.delete("a")
	w.once("delete", "Box b", func() {
		w.put("b", box("b", 1))
		o, err := w.push(named("b"))
		if err != nil || o.Reason != ReasonWaiting {
			t.Errorf("outcome %+v, error %v", o, err)
		}
	})
	w.run(time.Minute)
	w.expectSynced()
	expect(t, "claims", len(w.claims), 1)
	expectList(t, "boxes", w.list("Box", ""), "b")
}

func TestASlotThatCannotBeCleared(t *testing.T) {
	w := newWorld(t, Options{})
	on := true
	w.put("a", plug("h", "p1", nil, []string{"s"}))
	w.run(time.Minute)
	w.backend.before = failOp(&on, "delete", "Plug p1", backend.Refused)
	w.put("a", plug("h", "p2", nil, []string{"s"}))
	w.run(0)
	o := w.outcome("a")
	expect(t, "reason", o.Reason, ReasonRefused)
	expect(t, "new", o.Pushed[0].State, Pending)
	expect(t, "old", o.Pushed[1].State, Failed)
	on = false
	w.run(time.Hour)
	w.expectSynced()
	w.backend.before = failOp(&on, "delete", "Plug p2", backend.Fenced)
	on = true
	w.put("a", plug("h", "p3", nil, []string{"s"}))
	if _, err := w.push(named("a")); backend.ReasonOf(err) != backend.Fenced {
		t.Fatalf("error %v", err)
	}
}

func TestRejectedMove(t *testing.T) {
	w := newWorld(t, Options{})
	on := true
	w.put("a", box("b1", 1), box("b2", 1), port("b1", "p", 1))
	w.run(time.Minute)
	w.backend.before = failOp(&on, "delete", "Port p", backend.Refused)
	w.put("a", box("b1", 1), box("b2", 1), port("b2", "p", 1))
	w.run(0)
	expect(t, "state", w.stateOf("a", "Port", "p").State, Failed)
	expect(t, "parent", w.stateOf("a", "Port", "p").Parent, "b1")
	on = false
	w.restart()
	w.run(time.Hour)
	w.expectSynced()
	expectList(t, "ports", w.list("Port", "b2"), "p")
}

func TestAnOrphanThatCannotBeDeleted(t *testing.T) {
	w := newWorld(t, Options{DeleteOrphans: true})
	padding(w)
	w.run(time.Minute)
	nodes := len(w.engine.x.nodes)
	w.stray(box("x", 1), box("y", 1))
	w.drift()
	on := true
	w.backend.before = failOp(&on, "delete", "Box y", backend.Refused)
	expect(t, "deleted", w.drift().Deleted, 1)
	w.backend.before = failOp(&on, "delete", "Box y", backend.Fenced)
	if _, err := w.engine.Drift(t.Context()); backend.ReasonOf(err) != backend.Fenced {
		t.Fatalf("error %v", err)
	}
	on = false
	expect(t, "deleted", w.drift().Deleted, 1)
	expect(t, "nodes without those of orphans", len(w.engine.x.nodes), nodes)
}

// TestAnOrphanIsListedBeforeItIsDeleted checks that a resource that a Claim lists while orphans are being deleted is not deleted,
// even if the Claim is pushed later.
func TestAnOrphanIsListedBeforeItIsDeleted(t *testing.T) {
	w := newWorld(t, Options{DeleteOrphans: true})
	padding(w)
	w.run(time.Minute)
	w.stray(box("x", 1), box("y", 1))
	w.drift()
	w.once("delete", "Box y", func() {
		w.put("a", box("x", 1))
	})
	expect(t, "deleted", w.drift().Deleted, 1)
	w.run(time.Minute)
	w.expectSynced()
	expect(t, "deletes", w.backend.calls["delete"], 1)
	if w.backend.objects[backend.Key{Kind: "Box", ID: "x"}] == nil {
		t.Error("it was deleted")
	}
}

func TestPlanOfSharedResources(t *testing.T) {
	w := newWorld(t, Options{Mode: Plan})
	w.put("a", box("b", 1))
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.put("z", box("b", 1))
	w.run(time.Minute)
	expect(t, "reason", w.outcome("z").Reason, ReasonConflict)
	w.delete("z")
	w.run(time.Minute)
	expect(t, "claims", len(w.claims), 1)

	// A resource that another Claim lists now is handed over, not deleted.
	w.put("y", box("c", 1))
	w.claims[named("y")].Pushed = []Pushed{{Kind: "Box", ID: "b", State: Synced, Hash: digestOf(nil, "").String()}}
	w.restart()
	w.run(time.Minute)
	expect(t, "message", w.stateOf("y", "Box", "b").Message, "would hand over to default/a")

	// A failed read is retried.
	on := true
	w.backend.before = failOp(&on, "get", "Box c", backend.Transient)
	w.restart()
	w.run(0)
	expect(t, "reason", w.outcome("y").Reason, ReasonRetrying)
	expect(t, "code", w.stateOf("y", "Box", "c").Code, 403)
	on = false
	w.run(time.Hour)
	expect(t, "message", w.stateOf("y", "Box", "c").Message, "would create")

	// Invalid items of a Claim that is being deleted need no deletion.
	w.put("x", backend.Item{Kind: "Box", Body: "{"})
	w.delete("x")
	w.run(time.Minute)
	expect(t, "gone", w.outcome("x").Deleted, true)
	expect(t, "writes", w.writes(), 0)
}
