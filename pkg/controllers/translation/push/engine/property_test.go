// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// drawItems draws the items of a Claim from a small pool of resources, each at most once, in an order in which most follow their
// dependencies. Other Claims may list the same resources.
func drawItems(t *rapid.T) []backend.Item {
	v := func() int { return rapid.IntRange(1, 2).Draw(t, "v") }
	pool := []backend.Item{
		table("t1", v()), table("t2", v()), box("b1", v()), box("b2", v(), "Table/t1"),
		port(rapid.SampledFrom([]string{"b1", "b2"}).Draw(t, "parent"), "p1", v()), port("b1", "p2", v(), "Table/t2"),
		wanted("Route", "b1", fakeBody{ID: "o1", V: v(), Needs: []string{"Port/p2"}}),
		wanted("Link", "p1", fakeBody{V: v(), Needs: []string{"Port/p2"}, Slots: []string{"end of p1", "end of p2"}}),
		wanted("Zone", "", fakeBody{ID: "z", V: v()}), wanted("Seat", "z", fakeBody{ID: "h", V: v(), Alias: "seat of h"}),
		plug("h", "p1", []string{"Port/p1", "seat of h"}, []string{fmt.Sprint("eth", v())}),
		rule("t1", "r1", v()), rule("t1", "r2", v()), rule("t1", "r3", v(), "Table/t2"), rule("t1", "r4", v()), rule("t2", "r5", v()),
	}
	var items []backend.Item
	for i, picked := range rapid.SliceOfN(rapid.Bool(), len(pool), len(pool)).Draw(t, "picked") {
		if picked {
			items = append(items, pool[i])
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "shuffled") == 0 && len(items) > 1 {
		items = rapid.Permutation(items).Draw(t, "order")
	}
	return items
}

// padding adds so many resources that orphans are never the majority.
func padding(w *world) {
	var items []backend.Item
	for i := range 40 {
		items = append(items, wanted("Pad", "", fakeBody{ID: fmt.Sprint(i)}))
	}
	w.put("padding", items...)
}

// expected returns the expected content of the backend: what the winners of all keys list, as far as the dependencies exist. Other
// listed resources may exist in their previous state.
func (w *world) expected() (all map[backend.Key]backend.Resource, listed map[backend.Key][]*Claim) {
	winners := map[backend.Key]*Claim{}
	all = map[backend.Key]backend.Resource{}
	byKey := map[backend.Key][]*Claim{}
	for _, c := range w.claims {
		for _, item := range c.Items.List() {
			if r, err := w.backend.Resolve(item); err == nil && !c.Deleting {
				byKey[r.Key] = append(byKey[r.Key], c)
			}
		}
	}
	for key, claims := range byKey {
		slices.SortFunc(claims, func(a, b *Claim) int {
			return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
		})
		best := claims[0]
		for _, c := range claims {
			if best.Owner != "" && c.Owner == best.Owner && c.Current && !best.Current {
				best = c
				break
			}
		}
		winners[key] = best
	}
	for key, c := range winners {
		for _, item := range c.Items.List() {
			if r, err := w.backend.Resolve(item); err == nil && r.Key == key {
				all[key] = r
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for key, r := range all {
			if slices.ContainsFunc(r.Needs, func(need backend.Key) bool { return !satisfied(all, need) }) {
				delete(all, key)
				changed = true
			}
		}
	}
	return all, byKey
}

// satisfied reports whether one of the resources has the key, or has it as an alias.
func satisfied(all map[backend.Key]backend.Resource, need backend.Key) bool {
	if _, ok := all[need]; ok {
		return true
	}
	for _, r := range all {
		if slices.Contains(r.Aliases, need) {
			return true
		}
	}
	return false
}

// checkBackend fails unless the backend has exactly the expected content, in order, except for excused keys.
func (w *world) checkBackend(excused map[backend.Key]bool) {
	w.t.Helper()
	want, listed := w.expected()
	for key, r := range want {
		have := w.backend.objects[key]
		if have == nil {
			w.t.Fatalf("%s is missing\n%s", key, w.dump())
		}
		if diff := w.backend.Differences(r, have.Observed); len(diff) > 0 || have.Parent != r.Parent {
			w.t.Fatalf("%s is otherwise: %v\n%s", key, diff, w.dump())
		}
	}
	for key := range w.backend.objects {
		if len(listed[key]) == 0 && !excused[key] {
			w.t.Fatalf("%s is left\n%s", key, w.dump())
		}
	}
	w.checkOrder(want)
}

// checkOrder fails unless the rules that one Claim has won are in the reverse order of its list.
func (w *world) checkOrder(want map[backend.Key]backend.Resource) {
	for _, c := range w.claims {
		places := map[string][]string{}
		for _, item := range slices.Backward(c.Items.List()) {
			r, _ := w.backend.Resolve(item)
			if have, ok := want[r.Key]; ok && r.Ordered && string(have.Body) == string(r.Body) && w.owns(c, r.Key) {
				places[r.Parent] = append(places[r.Parent], r.ID)
			}
		}
		for parent, ids := range places {
			var have []string
			for _, id := range w.list("Rule", parent) {
				if slices.Contains(ids, id) {
					have = append(have, id)
				}
			}
			if !slices.Equal(have, ids) {
				w.t.Fatalf("rules of %s in %s: have %v, want %v\n%s", c.Name, parent, have, ids, w.dump())
			}
		}
	}
}

func (w *world) owns(c *Claim, key backend.Key) bool {
	n := w.engine.x.nodes[key]
	return n != nil && n.winner != nil && n.winner.name == c.Name
}

// dump returns a description of the whole state, for failure messages.
func (w *world) dump() string {
	var s strings.Builder
	for _, name := range w.names() {
		if name.Name == "padding" {
			continue
		}
		c, o := w.claims[name], w.last[name]
		fmt.Fprintf(&s, "%s deleting %v owner %q current %v: %s, retry %v: %s\n", name.Name, c.Deleting, c.Owner, c.Current, o.Reason, o.RetryAfter, o.Message)
		for _, item := range c.Items.List() {
			fmt.Fprintf(&s, "  %s %s %s\n", item.Kind, item.Parent, item.Body)
		}
		for _, p := range o.Pushed {
			fmt.Fprintf(&s, "    %+v\n", p)
		}
	}
	for key, o := range w.backend.objects {
		if n := w.engine.x.nodes[key]; key.Kind != "Pad" && n != nil {
			fmt.Fprintf(&s, "%s of %s %s know %d busy %v drift %q\n", key, o.Parent, o.Body, n.know, n.busy, n.drift())
		}
	}
	for _, l := range w.backend.log[max(0, len(w.backend.log)-60):] {
		s.WriteString(l + "\n")
	}
	return s.String()
}

// drift runs a drift check and fails if it cannot.
func (w *world) drift() Report {
	w.t.Helper()
	r, err := w.engine.Drift(context.Background())
	if err != nil {
		w.t.Fatalf("drift: %v", err)
	}
	return r
}

// TestBackendConvergesToDesiredState checks the main property of the engine: after any sequence of changes and faults, the backend
// finally has the desired content and nothing else.
func TestBackendConvergesToDesiredState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, Options{DeleteOrphans: true, Concurrency: 1})
		padding(w)
		w.run(time.Minute)
		excused := map[backend.Key]bool{}
		restart := func() {
			w.excuse(excused)
			w.restart()
		}
		names := []string{"a", "b", "c", "d"}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "claim")
			c := w.claims[named(name)]
			switch action := rapid.IntRange(0, 11).Draw(t, "action"); {
			case action <= 3 && (c == nil || !c.Deleting):
				w.put(name, drawItems(t)...)
			case action == 4 && c != nil:
				w.delete(name)
			case action == 5 && c != nil:
				w.change(name, func(c *Claim) { c.Owner, c.Current = "owner", rapid.Bool().Draw(t, "current") })
			case action == 6:
				w.tamper(t)
			case action == 7:
				restart()
			case action == 8:
				w.drift()
			case action == 9:
				w.pushSome(t, restart)
			default:
				w.run(time.Duration(rapid.IntRange(0, 100).Draw(t, "seconds")) * time.Second)
			}
			w.clock.SetTime(w.clock.Now().Add(time.Second))
		}
		w.run(2 * time.Hour)
		for range 4 {
			w.drift()
			w.run(2 * time.Hour)
		}
		w.checkBackend(excused)
		if r := w.drift(); r.Drifted > 0 {
			t.Fatalf("%d resources drift in the end\n%s", r.Drifted, w.dump())
		}
	})
}

// excuse records the resources that may have been created but not reported before a crash. If no Claim lists them after the crash,
// the engine cannot know them.
func (w *world) excuse(excused map[backend.Key]bool) {
	unreported := func(c *Claim, key backend.Key) {
		if !slices.ContainsFunc(c.Pushed, func(p Pushed) bool { return p.Kind == key.Kind && p.ID == key.ID }) {
			excused[key] = true
		}
	}
	for _, c := range w.claims {
		for _, item := range c.Items.List() {
			if r, err := w.backend.Resolve(item); err == nil {
				unreported(c, r.Key)
			}
		}
	}
	w.engine.with(func(x *index) {
		for name, c := range x.claims {
			for i := range c.tail {
				unreported(w.claims[name], c.tail[i].node.key)
			}
		}
	})
}

// tamper changes the backend, as another client would.
func (w *world) tamper(t *rapid.T) {
	keys := slices.SortedFunc(maps.Keys(w.backend.objects), func(a, b backend.Key) int { return cmp.Compare(a.String(), b.String()) })
	keys = slices.DeleteFunc(keys, func(k backend.Key) bool { return k.Kind == "Pad" })
	if len(keys) == 0 {
		return
	}
	key := rapid.SampledFrom(keys).Draw(t, "key")
	o := w.backend.objects[key]
	switch rapid.IntRange(0, 2).Draw(t, "how") {
	case 0:
		w.backend.remove(key)
	case 1:
		var body fakeBody
		_ = json.Unmarshal(o.Body, &body)
		body.V += 10
		o.Body, _ = json.Marshal(body)
	default:
		list := w.backend.lists[w.backend.collectionOf(o.Ref)]
		slices.Reverse(list)
	}
}

// pushSome pushes with faults: calls that fail, calls that succeed without a response, and the end of the process.
func (w *world) pushSome(t *rapid.T, restart func()) {
	after := rapid.IntRange(0, 6).Draw(t, "calls")
	kind := rapid.IntRange(0, 6).Draw(t, "fault")
	calls := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fault := func(op string, _ backend.Key) error {
		if calls++; calls <= after {
			return nil
		}
		switch kind {
		case 0, 1:
			return fail(backend.Transient, "no response")
		case 2:
			return fail(backend.Refused, "not today")
		case 5:
			return fail(backend.Conflict, "another client was quicker")
		case 6:
			if op != "create" {
				return nil // reads return the actual state
			}
			return fail(backend.NotFound, "something is missing")
		default:
			cancel()
			return context.Canceled
		}
	}
	switch kind {
	case 1, 4:
		w.backend.after = fault
	default:
		w.backend.before = fault
	}
	defer func() { w.backend.before, w.backend.after = nil, nil }()
	names := slices.SortedFunc(maps.Keys(w.queue), func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	for _, name := range names {
		if w.claims[name] == nil {
			continue
		}
		if _, err := w.pushWith(ctx, name); err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("push %s: %v", name, err)
			}
			w.backend.before, w.backend.after = nil, nil
			restart()
			return
		}
	}
}

// closed returns the items whose dependencies are among them.
func (w *world) closed(items []backend.Item) []backend.Item {
	for {
		there := map[backend.Key]backend.Resource{}
		for _, item := range items {
			r, _ := w.backend.Resolve(item)
			there[r.Key] = r
		}
		before := len(items)
		items = slices.DeleteFunc(items, func(item backend.Item) bool {
			r, _ := w.backend.Resolve(item)
			return slices.ContainsFunc(r.Needs, func(need backend.Key) bool { return !satisfied(there, need) })
		})
		if len(items) == before {
			return items
		}
	}
}

// TestEachResourceCostsOneRequest checks that, without conflicts and failures, each resource costs one request in whatever order
// Claims are observed, and that the backend rejects none.
func TestEachResourceCostsOneRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, Options{})
		items := w.closed(drawItems(t))
		claims := rapid.IntRange(1, 5).Draw(t, "claims")
		lists := make([][]backend.Item, claims)
		for _, item := range items {
			i := rapid.IntRange(0, claims-1).Draw(t, "claim")
			lists[i] = append(lists[i], item)
		}
		for i, list := range lists {
			w.put(string(rune('a'+i)), list...)
			if rapid.Bool().Draw(t, "run") {
				w.run(time.Second)
			}
		}
		w.run(4 * time.Second)
		w.checkBackend(nil)
		if len(w.backend.rejected) > 0 || w.backend.calls["create"] != len(w.backend.objects) || w.backend.calls["get"]+w.backend.calls["update"]+w.backend.calls["delete"] > 0 {
			t.Fatalf("calls %v, rejected %v", w.backend.calls, w.backend.rejected)
		}
		for _, name := range rapid.Permutation(w.names()).Draw(t, "deleted") {
			w.delete(name.Name)
		}
		w.run(time.Minute)
		if len(w.backend.objects) > 0 || len(w.engine.x.nodes) > 0 || len(w.backend.rejected) > 0 || len(w.backend.cascaded) > 0 {
			t.Fatalf("left %v, rejected %v, cascaded %v\n%s", w.backend.objects, w.backend.rejected, w.backend.cascaded, w.dump())
		}
	})
}
