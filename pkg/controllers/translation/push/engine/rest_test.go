// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// left counts the nodes and traces that are in the index.
func (x *index) left() int { return x.nodes.count + len(x.resting) }

// atRest are the names of the Claims at rest.
func (w *world) atRest() []string {
	var names []string
	for _, name := range w.names() {
		if c := w.engine.x.claims[name]; c != nil && c.work == nil {
			names = append(names, name.Name)
		}
	}
	return names
}

// checkRest fails unless each Claim at rest is loaded to a state in which it can rest, and leaves nothing else when it does again.
func (w *world) checkRest() {
	w.engine.with(func(x *index) {
		for _, c := range slices.Collect(maps.Values(x.claims)) {
			if c.work != nil {
				continue
			}
			nodes, traces, counts := x.nodes.count, maps.Clone(x.resting), x.counts
			x.load(c)
			for i := range c.items {
				if c.items[i].node == nil || x.nodes.get(c.items[i].node.key) != c.items[i].node {
					w.t.Fatalf("%s: item %d of a Claim that was at rest has no separate node", c.name, i)
				}
			}
			if x.rest(c); c.work != nil {
				w.t.Fatalf("%s was loaded to a state in which it cannot rest", c.name)
			}
			if x.nodes.count != nodes || !maps.Equal(x.resting, traces) || x.counts != counts {
				w.t.Fatalf("%s: %d nodes and %d traces before it was loaded, %d and %d after it rests again", c.name, nodes, len(traces), x.nodes.count, len(x.resting))
			}
		}
		if len(x.woken) > 0 {
			w.t.Fatalf("rousing Claims woke %v", x.woken)
		}
	})
}

func TestWhatIsInSyncRests(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("node", box("b", 1))
	w.put("pod", port("b", "p", 1))
	w.put("table", table("c", 1), rule("c", "r1", 1), rule("c", "r2", 1))
	expectList(t, "before the push", w.atRest(), "pod", "table")
	w.run(time.Minute)
	w.expectSynced()
	// The box is needed by what another Claim lists.
	expectList(t, "pushed", w.atRest(), "pod", "table")
	expect(t, "nodes", w.engine.x.nodes.count, 1)
	expect(t, "synced", w.engine.Counts()[Synced], 5)
	w.checkRest()
	w.restart()
	expectList(t, "restarted", w.atRest(), "pod", "table")
	w.checkRest()
	calls := maps.Clone(w.backend.calls)
	w.run(time.Minute)
	if !maps.Equal(calls, w.backend.calls) {
		t.Errorf("calls %v after the restart, %v before", w.backend.calls, calls)
	}
	expectList(t, "pushed again", w.atRest(), "pod", "table")
	w.delete("pod")
	expectList(t, "what is deleted", w.atRest(), "table")
	w.run(time.Minute)
	w.expectSynced()
}

// What touches a Claim at rest finds what it would find otherwise.
func TestRestIsDisturbed(t *testing.T) {
	rested := func(t *testing.T, claims map[string][]backend.Item, want ...string) *world {
		t.Helper()
		w := newWorld(t, Options{})
		for name, items := range claims {
			w.put(name, items...)
		}
		w.run(time.Minute)
		expectList(t, "at rest", w.atRest(), want...)
		return w
	}
	t.Run("by another that lists the same", func(t *testing.T) {
		w := rested(t, map[string][]backend.Item{"a": {box("b", 1)}}, "a")
		w.put("z", box("b", 2))
		w.run(time.Minute)
		expect(t, "reason of the younger", w.outcome("z").Reason, ReasonConflict)
		expect(t, "updates", w.backend.calls["update"], 0)
		expectList(t, "at rest", w.atRest())
		w.delete("z")
		w.run(time.Minute)
		expectList(t, "at rest when it has been deleted", w.atRest(), "a")
	})
	t.Run("by another that needs it", func(t *testing.T) {
		w := rested(t, map[string][]backend.Item{"a": {box("b", 1)}}, "a")
		w.put("z", port("b", "p", 1))
		w.run(time.Minute)
		w.expectSynced()
		expectList(t, "at rest", w.atRest(), "z")
	})
	t.Run("by another that wants its place", func(t *testing.T) {
		w := rested(t, map[string][]backend.Item{"a": {plug("h", "p", nil, []string{"eth0"})}}, "a")
		w.put("z", plug("h", "q", nil, []string{"eth0"}))
		w.run(time.Minute)
		expect(t, "reason of the second", w.outcome("z").Reason, ReasonConflict)
		expect(t, "objects", len(w.backend.objects), 1)
		w.delete("a")
		w.run(time.Hour)
		w.expectSynced()
		expect(t, "objects", len(w.backend.objects), 1)
		expectList(t, "at rest", w.atRest(), "z")
	})
	t.Run("by another content", func(t *testing.T) {
		w := rested(t, map[string][]backend.Item{"a": {box("b", 1), box("c", 1)}}, "a")
		w.put("a", box("b", 1))
		w.run(time.Minute)
		w.expectSynced()
		expect(t, "objects", len(w.backend.objects), 1)
		expectList(t, "at rest", w.atRest(), "a")
	})
	t.Run("by the loss of what it needs", func(t *testing.T) {
		w := rested(t, map[string][]backend.Item{"node": {box("b", 1)}, "pod": {port("b", "p", 1)}}, "pod")
		w.backend.remove(backend.Key{Kind: "Box", ID: "b"})
		w.drift()
		expectList(t, "at rest", w.atRest())
		w.run(time.Minute)
		w.checkBackend(nil)
		expectList(t, "at rest when all is repaired", w.atRest(), "pod")
	})
	t.Run("by what a reconciliation finds", func(t *testing.T) {
		w := rested(t, map[string][]backend.Item{"a": {box("b", 1)}, "c": {box("d", 1)}}, "a", "c")
		w.backend.remove(backend.Key{Kind: "Box", ID: "b"})
		expect(t, "drifted", w.drift().Drifted, 1)
		expectList(t, "at rest", w.atRest(), "c")
		w.run(time.Minute)
		w.checkBackend(nil)
		expectList(t, "at rest when it is repaired", w.atRest(), "a", "c")
	})
	t.Run("by its end", func(t *testing.T) {
		w := rested(t, map[string][]backend.Item{"a": {box("b", 1)}}, "a")
		w.engine.Discard(named("a"))
		expect(t, "left", w.engine.x.left(), 0)
		expect(t, "counts", sum(w.engine.Counts()), 0)
	})
}

// A Claim rests only when its content is all that is known of it.
func TestWhatKeepsAClaimFromRest(t *testing.T) {
	other := &claim{name: named("other")}
	foreign := &node{own: other}
	// n is the node of the first item, m of the second, a that of the alias of the first.
	type parts struct {
		x       *index
		c       *claim
		n, m, a *node
	}
	slotted := idOf("slot")
	either := map[string]func(p parts){
		"it is deleted":                     func(p parts) { p.c.deleting = true },
		"it is pushed now":                  func(p parts) { p.c.pushing = true },
		"something is to be deleted":        func(p parts) { p.c.tail = []item{{node: p.n}} },
		"it waits":                          func(p parts) { p.c.waits.add(foreign) },
		"the backend did not respond":       func(p parts) { p.c.retry = &trouble{} },
		"a delete was blocked":              func(p parts) { p.c.blocked = 1 },
		"a resource was rejected":           func(p parts) { p.c.items[1].trouble = &trouble{} },
		"the first is not understood":       func(p parts) { p.c.items[0].node = nil },
		"one is not understood":             func(p parts) { p.c.items[1].node = nil },
		"another state was reported":        func(p parts) { p.c.counted[stateNumber(Failed)]++ },
		"one belongs to another":            func(p parts) { p.m.own = other },
		"another lists one, too":            func(p parts) { p.n.refs.add(other) },
		"a call is under way":               func(p parts) { p.n.busy = true },
		"a copy may be there":               func(p parts) { p.n.copied = true },
		"one is misplaced":                  func(p parts) { p.n.misplaced = true },
		"one was verified":                  func(p parts) { p.m.proven = !p.m.proven },
		"one has been deleted":              func(p parts) { p.m.know = deleted },
		"all have been deleted":             func(p parts) { p.n.know, p.m.know = deleted, deleted },
		"one has other content":             func(p parts) { p.n.hash[0]++ },
		"one lies elsewhere":                func(p parts) { p.n.parent = "elsewhere" },
		"one has drifted":                   func(p parts) { p.n.setDrift("changed") },
		"one is an alias of another's":      func(p parts) { p.n.rarely().providers.add(foreign) },
		"another needs one":                 func(p parts) { p.n.needers.add(foreign) },
		"another waits for one":             func(p parts) { p.n.rarely().waiters.add(other) },
		"another at rest needs one":         func(p parts) { p.n.rarely().resters.add(other) },
		"another has the slot":              func(p parts) { p.x.slots.add(slotted, foreign) },
		"one has another slot":              func(p parts) { p.n.rarely().held = []slot{idOf("x")} },
		"the alias is listed":               func(p parts) { p.a.refs.add(other) },
		"a call for the alias is under way": func(p parts) { p.a.busy = true },
		"the alias is there":                func(p parts) { p.a.know = deleted },
		"a copy of the alias may be there":  func(p parts) { p.a.copied = true },
		"the alias was verified":            func(p parts) { p.a.proven = true },
		"another needs the alias":           func(p parts) { p.a.needers.add(foreign) },
		"another waits for the alias":       func(p parts) { p.a.rarely().waiters.add(other) },
		"another provides the alias":        func(p parts) { p.a.rare.providers.add(foreign) },
		"the alias has a slot":              func(p parts) { p.a.rare.held = []slot{slotted} },
		"the trace is that of another":      func(p parts) { p.x.resting[slotted.trace()] = other },
	}
	landedOnly := map[string]func(p parts){
		"one does not exist":   func(p parts) { p.m.know, p.m.hash = absent, digest{} },
		"the slot is not held": func(p parts) { p.x.release(p.n) },
	}
	check := func(what string, pushed bool, spoil func(p parts)) {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.put("a", wanted("Box", "", fakeBody{ID: "b", V: 1, Alias: "where", Slots: []string{"slot"}}), table("c", 1))
			if pushed {
				w.run(time.Minute)
			}
			expectList(t, "at rest", w.atRest(), "a")
			w.engine.with(func(x *index) {
				c := x.claims[named("a")]
				x.load(c)
				if spoil(parts{x, c, c.items[0].node, c.items[1].node, c.items[0].more.aliases[0]}); c.work == nil {
					t.Fatal("it is at rest")
				}
				if x.rest(c); c.work == nil {
					t.Error("it rests even so")
				}
			})
		})
	}
	for what, spoil := range either {
		check(what+", new", false, spoil)
		check(what+", pushed", true, spoil)
	}
	for what, spoil := range landedOnly {
		check(what, true, spoil)
	}
}

// What a drift pass saw of a Claim at rest counts unless something happened to it since.
func TestFindingsOfWhatRests(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b", 1))
	w.run(time.Minute)
	w.engine.with(func(x *index) {
		c := x.claims[named("a")]
		f := finding{entry: entry{c: c, gen: c.gen, seq: c.seq}, kind: isMissing}
		x.load(c)
		c.items[0].node.seq++
		if x.rest(c); c.work != nil {
			t.Fatal("it does not rest")
		}
		expect(t, "found, of a node that changed", x.found(&f), nil)
		f.seq = c.seq
		c.gen++
		expect(t, "found, of a Claim that changed", x.found(&f), nil)
		c.gen--
		f.c = &claim{name: c.name, gen: c.gen, seq: c.seq}
		expect(t, "found, of a Claim that had the name before", x.found(&f), nil)
		f.c, f.kind = c, asWanted
		expect(t, "found, as wanted", x.found(&f), nil)
		expect(t, "at rest", c.work == nil, true)
		f.kind = isMissing
		n := x.found(&f)
		if n == nil || n.key.ID != "b" || c.work == nil {
			t.Errorf("found %v", n)
		}
	})
}

// A Claim at rest is verified when a drift pass saw all it has.
func TestWhatRestsIsVerified(t *testing.T) {
	for n, want := range map[int]bool{1: true, 2: true, 31: true, 32: false, 70: false} {
		c := claim{unseen: placesOf(n)}
		for place := range n {
			expect(t, fmt.Sprintf("verified, %d of %d seen", place, n), c.proven, false)
			c.see(place)
			c.see(place)
		}
		expect(t, fmt.Sprintf("verified, all of %d seen", n), c.proven, want)
	}
	w := newWorld(t, Options{})
	w.put("a", table("t", 1), rule("t", "r", 1))
	w.run(time.Minute)
	w.restart()
	w.run(time.Minute)
	expectList(t, "at rest", w.atRest(), "a")
	w.drift()
	w.delete("a")
	w.run(time.Minute)
	expect(t, "refused", len(w.backend.rejected), 0)
	expect(t, "deletes", w.backend.calls["delete"], 2) // none of a copy
}

func TestEvictedResourcesBelowMissingParents(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", table("c", 1), rule("c", "r", 1))
	w.run(time.Minute)
	expectList(t, "at rest", w.atRest(), "a")
	before := w.drift()
	w.backend.remove(backend.Key{Kind: "Table", ID: "c"})
	r := w.drift()
	expect(t, "drifted", r.Drifted, 1) // and with it, what lies under it
	expect(t, "reads", r.Reads, before.Reads-1)
	w.run(time.Minute)
	w.checkBackend(nil)
}

// What a Claim at rest needs stays known, although no Claim lists it any more.
func TestWhatRestersNeedIsKept(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("node", box("b", 1))
	w.put("pod", port("b", "p", 1))
	w.run(time.Minute)
	expectList(t, "at rest", w.atRest(), "pod")
	w.engine.Discard(named("node"))
	w.engine.with(func(x *index) {
		n := x.nodes.get(backend.Key{Kind: "Box", ID: "b"})
		if n == nil || n.rare == nil || n.rare.resters.size() != 1 {
			t.Errorf("the node is %+v", n)
		}
	})
	w.engine.Discard(named("pod"))
	expect(t, "left", w.engine.x.left(), 0)
}
