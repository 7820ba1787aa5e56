// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// tester is the common part of rapid's T and testing's.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a backend, an engine, and the caller of the engine: a store of Claims with their reports, and a queue. Time advances
// when the queue is empty.
type world struct {
	t       tester
	backend *fakeBackend
	clock   *clocktesting.FakePassiveClock
	options Options
	engine  *Engine
	claims  map[types.NamespacedName]*Claim
	last    map[types.NamespacedName]Outcome
	queue   map[types.NamespacedName]bool
	due     map[types.NamespacedName]time.Time
	pushes  int
}

func newWorld(t tester, o Options) *world {
	w := &world{
		t: t, backend: newFake(), clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), options: o,
		claims: map[types.NamespacedName]*Claim{}, last: map[types.NamespacedName]Outcome{},
	}
	w.restart()
	return w
}

// restart starts a new engine, which receives only what was reported.
func (w *world) restart() {
	o := w.options
	o.Mode = cmp.Or(o.Mode, Repair)
	o.Clock, o.Log = w.clock, logr.Discard()
	o.Wake = func(name types.NamespacedName) { w.queue[name] = true }
	w.queue, w.due = map[types.NamespacedName]bool{}, map[types.NamespacedName]time.Time{}
	w.engine = New(w.backend, o)
	for _, name := range w.names() {
		w.observe(w.claims[name])
	}
}

func (w *world) names() []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(w.claims), func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
}

// uidOf returns a uid that is derived from a name.
func uidOf(name string) types.UID {
	return types.UID(uuid.NewSHA1(uuid.Nil, []byte(name)).String())
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// observe passes a changed Claim to the engine, and queues it.
func (w *world) observe(c *Claim) {
	w.engine.Observe(*c)
	w.queue[c.Name] = true
}

// put creates or updates a Claim.
func (w *world) put(name string, items ...backend.Item) *Claim {
	c := w.claims[named(name)]
	if c == nil {
		c = &Claim{Name: named(name), UID: uidOf(name), Created: w.clock.Now()}
		w.claims[c.Name] = c
	}
	c.Items = Listed(items)
	w.observe(c)
	return c
}

// change updates a Claim in another way.
func (w *world) change(name string, fn func(c *Claim)) {
	c := w.claims[named(name)]
	fn(c)
	w.observe(c)
}

func (w *world) delete(name string) { w.change(name, func(c *Claim) { c.Deleting = true }) }

// push pushes one Claim and stores the report.
func (w *world) push(name types.NamespacedName) (Outcome, error) {
	return w.pushWith(context.Background(), name)
}

func (w *world) pushWith(ctx context.Context, name types.NamespacedName) (Outcome, error) {
	w.pushes++
	delete(w.queue, name)
	delete(w.due, name)
	o, err := w.engine.Push(ctx, name)
	if err != nil {
		return o, err
	}
	c := w.claims[name]
	w.last[name] = o
	if !o.Settling {
		c.Pushed = o.Pushed
	}
	if o.Deleted {
		delete(w.claims, name)
		w.engine.Discard(name)
		return o, nil
	}
	if o.RetryAfter > 0 {
		w.due[name] = w.clock.Now().Add(o.RetryAfter)
	}
	return o, nil
}

// run pushes until the queue stays empty for the given time, which passes on the clock.
func (w *world) run(during time.Duration) {
	w.t.Helper()
	end := w.clock.Now().Add(during)
	for range 20000 {
		if len(w.queue) > 0 {
			names := slices.SortedFunc(maps.Keys(w.queue), func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
			for _, name := range names {
				if w.claims[name] == nil {
					delete(w.queue, name)
					continue
				}
				if _, err := w.push(name); err != nil {
					w.t.Fatalf("push %s: %v", name, err)
				}
			}
			continue
		}
		next := end
		for _, at := range w.due {
			if at.Before(next) {
				next = at
			}
		}
		if next.After(w.clock.Now()) {
			w.clock.SetTime(next)
		}
		for name, at := range w.due {
			if !at.After(w.clock.Now()) {
				delete(w.due, name)
				w.queue[name] = true
			}
		}
		if len(w.queue) == 0 {
			return
		}
	}
	w.t.Fatalf("the pushes do not come to an end: %v", w.last)
}

// wanted returns a desired resource of the fake network.
func wanted(kind, parent string, body fakeBody) backend.Item {
	text, _ := json.Marshal(body)
	return backend.Item{Kind: kind, Parent: parent, Body: string(text)}
}

func box(id string, v int, needs ...string) backend.Item {
	return wanted("Box", "", fakeBody{ID: id, V: v, Needs: needs})
}
func table(id string, v int) backend.Item { return wanted("Table", "", fakeBody{ID: id, V: v}) }
func port(parent, id string, v int, needs ...string) backend.Item {
	return wanted("Port", parent, fakeBody{ID: id, V: v, Needs: needs})
}
func rule(parent, id string, v int, needs ...string) backend.Item {
	return wanted("Rule", parent, fakeBody{ID: id, V: v, Needs: needs})
}
func plug(host, id string, needs, slots []string) backend.Item {
	return wanted("Plug", host, fakeBody{ID: id, Needs: needs, Slots: slots})
}

// outcome returns the last Outcome of a Claim.
func (w *world) outcome(name string) Outcome { return w.last[named(name)] }

// expectSynced fails unless all Claims are in sync.
func (w *world) expectSynced() {
	w.t.Helper()
	for _, name := range w.names() {
		if o := w.last[name]; o.Reason != ReasonSynced || o.Stalled {
			w.t.Fatalf("%s is not in sync: %+v", name, o)
		}
	}
}

// list returns the ids of a collection in their order.
func (w *world) list(kind, parent string) []string {
	var ids []string
	for _, key := range w.backend.lists[backend.Collection{Kind: kind, ParentKind: w.backend.kinds[kind].parent, Parent: parent}] {
		ids = append(ids, key.ID)
	}
	return ids
}

// writes returns the number of calls that wrote or tried to.
func (w *world) writes() int {
	return w.backend.calls["create"] + w.backend.calls["update"] + w.backend.calls["delete"]
}

func (w *world) resetCalls() {
	w.backend.calls, w.backend.log, w.backend.rejected = map[string]int{}, nil, nil
}

func expect[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func expectList(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
