// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// edit changes the content of a resource in the backend, as another client would.
func (w *world) edit(kind, scope, id string) {
	o := w.backend.objects[backend.Key{Kind: kind, Scope: scope, ID: id}]
	var body fakeBody
	_ = json.Unmarshal(o.Body, &body)
	body.V += 10
	o.Body, _ = json.Marshal(body)
}

// drifting creates a network in which another client changed 6 resources, each in another way.
func drifting(w *world) {
	small(w)
	w.put("more", rule("t", "m1", 1), rule("t", "m2", 1), rule("t", "m3", 1), wanted("Link", "p", fakeBody{V: 1, Needs: []string{"Port/p"}}),
		wanted("Route", "b", fakeBody{ID: "o", V: 1}))
	w.run(time.Minute)
	w.edit("Box", "", "b")
	w.edit("Rule", "", "r1")
	w.edit("Link", "p", "")
	w.backend.remove(backend.Key{Kind: "Route", ID: "o"})
	w.backend.remove(backend.Key{Kind: "Plug", Scope: "h", ID: "p"})
	// m1 is moved to the head, before m3 and m2.
	list := w.backend.lists[backend.Collection{Kind: "Rule", ParentKind: "Table", Parent: "t"}]
	i := slices.Index(list, backend.Key{Kind: "Rule", ID: "m1"})
	list = slices.Insert(slices.Delete(list, i, i+1), 0, backend.Key{Kind: "Rule", ID: "m1"})
	w.backend.lists[backend.Collection{Kind: "Rule", ParentKind: "Table", Parent: "t"}] = list
	w.resetCalls()
}

func TestDriftIsFoundAndRepaired(t *testing.T) {
	w := newWorld(t, Options{Concurrency: 3})
	drifting(w)
	r := w.drift()
	expect(t, "drifted", r.Drifted, 6)
	expect(t, "repaired", r.Repaired, 6)
	expect(t, "orphans", r.Orphans, 0)
	expect(t, "reads", r.Reads, len(w.backend.log))
	expect(t, "writes of the reconciliation itself", w.writes(), 0)
	w.run(time.Minute)
	w.expectSynced()
	w.checkBackend(map[backend.Key]bool{})
	mine := slices.DeleteFunc(w.list("Rule", "t"), func(id string) bool { return !strings.HasPrefix(id, "m") })
	expectList(t, "rules", mine, "m3", "m2", "m1")
	w.resetCalls()
	r = w.drift()
	expect(t, "drifted after the repair", r.Drifted, 0)
	w.run(time.Minute)
	expect(t, "writes after the repair", w.writes(), 0)
}

// TestDriftBesideInvalid checks that resources that the driver cannot parse are left alone, in lists and single reads, and that all
// others are compared.
func TestDriftBesideInvalid(t *testing.T) {
	w := newWorld(t, Options{})
	drifting(w)
	invalid := func(kind, scope, id string) {
		w.backend.objects[backend.Key{Kind: kind, Scope: scope, ID: id}].Invalid = errors.New("no id")
		w.backend.objects[backend.Key{Kind: kind, Scope: scope, ID: id}].Foreign = true
	}
	invalid("Box", "", "b")
	invalid("Rule", "", "r1")
	w.backend.after = func(op string, key backend.Key) error {
		if op == "get" && key.Kind == "Link" {
			return &backend.Error{Reason: backend.Transient, Message: "no id", Err: backend.ErrInvalid}
		}
		return nil
	}
	r := w.drift()
	expect(t, "drifted", r.Drifted, 3)
	expect(t, "repaired", r.Repaired, 3)
	expect(t, "invalid", r.Invalid, 3)
	expect(t, "orphans", r.Orphans, 0)
	w.run(time.Minute)
	expect(t, "updates", w.backend.calls["update"], 0)
	r = w.drift()
	expect(t, "drifted after the repair", r.Drifted, 0)
	expect(t, "invalid after the repair", r.Invalid, 3)
}

// TestInvalidIsNotReplaced checks that a replacement stops if the resource to replace, or its copy, cannot be parsed.
func TestInvalidIsNotReplaced(t *testing.T) {
	w := newWorld(t, Options{})
	small(w)
	w.run(time.Minute)
	rule := w.backend.objects[backend.Key{Kind: "Rule", ID: "r1"}]
	w.edit("Rule", "", "r1")
	w.drift()
	rule.Invalid = errors.New("no id")
	w.resetCalls()
	w.run(10 * time.Minute)
	expect(t, "writes", w.writes(), 0)
	rule.Invalid = nil
	w.run(time.Hour)
	w.expectSynced()
}

func TestEachCollectionIsReadOnce(t *testing.T) {
	w := newWorld(t, Options{})
	small(w)
	w.run(time.Minute)
	w.resetCalls()
	w.drift()
	slices.Sort(w.backend.log)
	expect(t, "calls", len(w.backend.log), len(slices.Compact(slices.Clone(w.backend.log))))
	expect(t, "single reads", w.backend.calls["get"], 1) // the zone, which is in no list
}

func TestDriftIsOnlyObserved(t *testing.T) {
	w := newWorld(t, Options{Mode: Observe})
	drifting(w)
	r := w.drift()
	expect(t, "drifted", r.Drifted, 6)
	expect(t, "repaired", r.Repaired, 0)
	w.run(time.Hour)
	expect(t, "writes", w.writes(), 0)
	expect(t, "reason", w.outcome("more").Reason, ReasonDrifted)
	expect(t, "stalled", w.outcome("more").Stalled, false)
	expect(t, "changed", w.stateOf("node", "Box", "b").Message, "it was changed in the backend: v")
	expect(t, "deleted", w.stateOf("more", "Route", "o").Message, "it was deleted in the backend")
	expect(t, "moved", w.stateOf("more", "Rule", "m1").Message, "it was moved among its siblings in the backend")
	expect(t, "drifted resources", w.engine.Counts()[Drifted], 6)

	// The state survives a restart, until a drift check finds the resource in sync, or the Claim changes.
	w.restart()
	w.run(time.Hour)
	expect(t, "writes", w.writes(), 0)
	expect(t, "state", w.stateOf("node", "Box", "b").State, Drifted)
	w.backend.objects[backend.Key{Kind: "Box", ID: "b"}].Body = json.RawMessage(`{"id":"b","v":1,"needs":["Table/t"]}`)
	w.drift()
	w.run(time.Minute)
	expect(t, "state", w.stateOf("node", "Box", "b").State, Synced)
	expect(t, "writes", w.writes(), 0)
	items := slices.Clone(w.claims[named("more")].Items.List())
	items[4] = wanted("Route", "b", fakeBody{ID: "o", V: 2})
	w.put("more", items...)
	w.run(time.Minute)
	expect(t, "state", w.stateOf("more", "Route", "o").State, Synced)
	expect(t, "creates", w.backend.calls["create"], 1)
}

func TestFindingsOutliveReports(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b1", 1), box("b2", 1))
	w.put("b", port("b2", "p", 1))
	w.run(time.Minute)
	w.restart()
	w.edit("Box", "", "b1")
	w.backend.remove(backend.Key{Kind: "Box", ID: "b2"})
	w.drift()
	// The Claims are observed again before their first push.
	for _, name := range w.names() {
		w.engine.Observe(*w.claims[name])
	}
	w.run(time.Minute)
	w.expectSynced()
	w.checkBackend(nil)
}

// TestLongListsAreComparedOneAfterTheOther checks that long lists are read serially, whatever the concurrency.
func TestLongListsAreComparedOneAfterTheOther(t *testing.T) {
	for listing, want := range map[int64]int{6: 1, 11: 1, 12: 2, 18: 3, 1: 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options{Concurrency: 4})
			for _, b := range []string{"b1", "b2", "b3"} {
				w.put(b, box(b, 1), port(b, b+"p1", 1), port(b, b+"p2", 1), port(b, b+"p3", 1), port(b, b+"p4", 1), port(b, b+"p5", 1))
			}
			w.run(time.Minute)
			w.engine.listing = listing
			gate, reading, most, lists := make(chan struct{}), 0, 0, 0
			var mu sync.Mutex
			count := func(n int) {
				mu.Lock()
				defer mu.Unlock()
				reading += n
				most, lists = max(most, reading), lists+max(n, 0)
			}
			w.backend.before = func(op string, key backend.Key) error {
				if op == "list" && key.Kind == "Port" {
					count(1)
					<-gate
					count(-1)
				}
				return nil
			}
			var ended sync.WaitGroup
			ended.Go(func() { w.drift() })
			for range 3 {
				synctest.Wait()
				gate <- struct{}{}
			}
			ended.Wait()
			expect(t, "lists", lists, 3)
			expect(t, fmt.Sprintf("immediately, of %d", listing), most, want)
		})
	}
}

func TestUncertainResourcesAreReadAgain(t *testing.T) {
	w := newWorld(t, Options{Mode: Observe})
	w.put("a", table("t", 1))
	w.put("b", rule("t", "r", 1))
	w.run(time.Minute)
	w.edit("Rule", "", "r")
	w.drift()
	w.run(time.Minute)
	expect(t, "state", w.stateOf("b", "Rule", "r").State, Drifted)
	w.engine.with(func(x *index) { x.invalidate(x.nodes[backend.Key{Kind: "Table", ID: "t"}]) })
	w.backend.objects[backend.Key{Kind: "Rule", ID: "r"}].Body = json.RawMessage(rule("t", "r", 1).Body)
	w.drift()
	w.run(time.Minute)
	w.expectSynced()
}

func TestDriftOfParentIncludesChildren(t *testing.T) {
	for _, mode := range []Mode{Repair, Observe} {
		w := newWorld(t, Options{Mode: mode})
		small(w)
		w.run(time.Minute)
		w.backend.remove(backend.Key{Kind: "Box", ID: "b"})
		w.resetCalls()
		r := w.drift()
		for _, call := range w.backend.log {
			if call == "list Port b" {
				t.Error("what lies under the missing box was requested")
			}
		}
		w.run(time.Minute)
		if mode == Observe {
			expect(t, "drifted", r.Drifted, 3)
			expect(t, "writes", w.writes(), 0)
			expect(t, "port", w.stateOf("pod", "Port", "p").State, Drifted)
			continue
		}
		w.expectSynced()
		expectList(t, "ports", w.list("Port", "b"), "p")
		expectList(t, "plugs", w.list("Plug", "h"), "p")
	}
}

func TestDriftPassDuringChanges(t *testing.T) {
	w := newWorld(t, Options{DeleteOrphans: true})
	padding(w)
	w.put("a", box("b1", 1), box("b2", 1), box("b3", 1))
	w.run(time.Minute)
	changed := false
	w.backend.before = func(op string, key backend.Key) error {
		if op == "list" && key.Kind == "Box" && !changed {
			changed = true
			w.put("a", box("b1", 2), box("b4", 1), box("b3", 1))
			if _, err := w.push(named("a")); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	r := w.drift()
	expect(t, "drifted", r.Drifted, 0)
	expect(t, "orphans", r.Orphans, 0)

	// The list is older than the change.
	changed = false
	w.backend.before = nil
	w.backend.after = func(op string, key backend.Key) error {
		if op == "list" && key.Kind == "Box" && !changed {
			changed = true
			w.put("a", box("b1", 3), box("b5", 1))
			if _, err := w.push(named("a")); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	r = w.drift()
	expect(t, "drifted", r.Drifted, 0)
	expect(t, "orphans", r.Orphans, 0)
}

func TestFailedListHasNoEffect(t *testing.T) {
	for _, list := range []string{"Box ", "Port b", "Zone z"} {
		w := newWorld(t, Options{DeleteOrphans: true})
		small(w)
		padding(w)
		w.run(time.Minute)
		stray, _ := w.backend.Resolve(box("stray", 1))
		w.backend.put(stray)
		w.backend.lists[w.backend.collectionOf(stray.Ref)] = append(w.backend.lists[w.backend.collectionOf(stray.Ref)], stray.Key)
		w.drift()
		w.resetCalls()
		w.backend.before = func(op string, key backend.Key) error {
			if (op == "list" || op == "get") && key.Kind+" "+key.ID == list {
				return fail(backend.Transient, "injected")
			}
			return nil
		}
		r, err := w.engine.Drift(context.Background())
		if err == nil || !strings.Contains(err.Error(), "injected") {
			t.Fatalf("%s: error %v", list, err)
		}
		expect(t, "drifted", r.Drifted, 0)
		expect(t, "deleted", r.Deleted, 0)
		w.run(time.Minute)
		expect(t, "writes", w.writes(), 0)
	}
}

func TestADriftPassEndsWithItsContext(t *testing.T) {
	w := newWorld(t, Options{})
	small(w)
	w.run(time.Minute)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := w.engine.Drift(ctx)
	if err == nil || r.Drifted > 0 {
		t.Fatalf("report %+v, error %v", r, err)
	}
}

func TestALeftCopyIsRemoved(t *testing.T) {
	w := newWorld(t, Options{Concurrency: 2})
	w.put("a", table("t", 1), rule("t", "r1", 1), rule("t", "r2", 1))
	w.run(time.Minute)
	r, _ := w.backend.Resolve(rule("t", "r1", 1))
	if err := w.backend.create(w.backend.Copy(r), 1); err != nil {
		t.Fatal(err)
	}
	report := w.drift()
	expect(t, "drifted", report.Drifted, 1)
	expect(t, "orphans", report.Orphans, 0)
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "rules", w.list("Rule", "t"), "r2", "r1")
}

// stray creates resources in the backend, as another client would.
func (w *world) stray(items ...backend.Item) {
	for _, item := range items {
		r, _ := w.backend.Resolve(item)
		if err := w.backend.create(r, map[bool]int{true: 1}[r.Ordered]); err != nil {
			w.t.Fatalf("%v", err)
		}
	}
}

func TestOrphansAreReportedThenDeleted(t *testing.T) {
	for _, deletes := range []bool{false, true} {
		w := newWorld(t, Options{DeleteOrphans: deletes})
		small(w)
		padding(w)
		w.run(time.Minute)
		w.stray(table("x", 1), rule("x", "x1", 1), rule("t", "x2", 1), box("y", 1), port("y", "y1", 1), plug("h", "y1", []string{"Port/y1"}, nil))
		w.backend.objects[backend.Key{Kind: "Box", ID: "y"}].Foreign = true
		w.resetCalls()
		r := w.drift()
		expect(t, "orphans", r.Orphans, 5)
		expect(t, "deleted", r.Deleted, 0)
		slices.Sort(r.Names)
		expectList(t, "names", r.Names, "Plug y1", "Port y1", "Rule x1", "Rule x2", "Table x")
		r = w.drift()
		if !deletes {
			expect(t, "writes", w.writes(), 0)
			continue
		}
		expect(t, "deleted", r.Deleted, 5)
		expect(t, "cascaded", len(w.backend.cascaded), 0)
		expect(t, "foreign one is there", w.backend.objects[backend.Key{Kind: "Box", ID: "y"}] != nil, true)
		expect(t, "orphans after that", w.drift().Orphans, 0)
		expectList(t, "rules", w.list("Rule", "t"), "r2", "r1")
	}
}

func TestOrphansAreRetainedWhenAClaimListsThem(t *testing.T) {
	w := newWorld(t, Options{DeleteOrphans: true})
	padding(w)
	w.run(time.Minute)
	w.stray(box("x", 1), box("y", 1))
	w.drift()
	w.put("a", box("x", 1))
	// A Claim lists y while y is being deleted.
	w.backend.before = func(op string, key backend.Key) error {
		if op == "delete" && key.ID == "y" {
			w.put("b", box("y", 1))
			o, err := w.push(named("b"))
			if err != nil || o.Pushed[0].State != Pending {
				t.Errorf("outcome %+v, error %v", o, err)
			}
		}
		return nil
	}
	r := w.drift()
	expect(t, "deleted", r.Deleted, 1)
	w.run(time.Minute)
	w.expectSynced()
	expectList(t, "boxes", w.list("Box", ""), "x", "y")
}

func TestOrphansAreNotDeletedWhenTheyAreMost(t *testing.T) {
	w := newWorld(t, Options{DeleteOrphans: true})
	w.put("a", box("b", 1))
	w.run(time.Minute)
	w.stray(box("x", 1), box("y", 1))
	w.drift()
	w.drift()
	expect(t, "deletes", w.backend.calls["delete"], 0)
}

func TestPlan(t *testing.T) {
	w := newWorld(t, Options{Mode: Plan, DeleteOrphans: true})
	w.stray(box("same", 1), box("other", 7), table("t", 1), rule("t", "r", 7), box("b1", 1), port("b1", "p", 1))
	w.put("a", box("same", 1), box("other", 1), box("new", 1), rule("t", "r", 1), port("b2", "p", 1), wanted("Ghost", "", fakeBody{ID: "g"}))
	w.run(time.Hour)
	o := w.outcome("a")
	var messages []string
	for _, p := range o.Pushed[:5] {
		expect(t, "state", p.State, Pending)
		messages = append(messages, p.Message)
	}
	expectList(t, "plan", messages, "would adopt", "would update: fields v", "would create", "would replace: fields v", "would move from b1")
	expect(t, "reason", o.Reason, ReasonUnknownKind)
	w.put("a", box("new", 1))
	w.run(time.Hour)
	expect(t, "reason", w.outcome("a").Reason, ReasonPlanned)

	w.put("b", box("same", 1), box("absent", 1))
	w.claims[named("b")].Pushed = []Pushed{{Kind: "Box", ID: "old", State: Synced, Hash: digestOf(nil, "").String()}}
	w.restart()
	w.run(time.Hour)
	expect(t, "shrink", w.stateOf("b", "Box", "old").Message, "would delete")
	w.delete("b")
	w.run(time.Hour)
	expect(t, "gone", w.outcome("b").Deleted, false)
	expect(t, "left", len(w.outcome("b").Pushed), 2)
	w.drift()
	w.drift()
	expect(t, "writes", w.writes(), 0)
	w.options.Mode = Repair
	w.restart()
	w.run(time.Hour)
	expect(t, "claims", len(w.claims), 1)
}

func TestPlanReadsNothingThatIsInSync(t *testing.T) {
	w := newWorld(t, Options{})
	small(w)
	w.run(time.Minute)
	w.options.Mode = Plan
	w.restart()
	w.resetCalls()
	w.run(time.Minute)
	w.expectSynced()
	expect(t, "calls", len(w.backend.log), 0)
	w.delete("pod")
	w.run(time.Minute)
	expect(t, "writes", w.writes(), 0)
	expect(t, "gone", w.outcome("pod").Deleted, false)
	w.change("pod", func(c *Claim) { c.UID = types.UID("x") })
}

// TestNoRequestsBelowUnpushedParents checks that a drift check that overlaps the first pushes does not read collections of parents
// that were not pushed yet.
func TestNoRequestsBelowUnpushedParents(t *testing.T) {
	w := newWorld(t, Options{})
	small(w)
	w.drift()
	expect(t, "reads", len(w.backend.log), len(w.backend.Roots()))
	w.run(time.Minute)
	w.expectSynced()
}

// TestFailedDriftReportsProgress checks that a drift check that could not read everything reports how many resources it compared.
func TestFailedDriftReportsProgress(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("a", box("b1", 1), port("b1", "p1", 1))
	w.put("b", box("b2", 1), port("b2", "p2", 1), port("b2", "p3", 1))
	w.run(time.Minute)
	w.backend.before = func(op string, key backend.Key) error {
		if op == "list" && key.Kind == "Port" && key.ID == "b2" {
			return &backend.Error{Reason: backend.Transient, Message: "timeout"}
		}
		return nil
	}
	r, err := w.engine.Drift(t.Context())
	if err == nil || !strings.Contains(err.Error(), "compared 3 of 5 resources, 1 of ") {
		t.Errorf("error = %v, want one with how many resources were compared", err)
	}
	expect(t, "compared", r.Compared, 3)
	expect(t, "expected", r.Expected, 5)
}

// sharing is a backend whose lists of one drift check share what they read.
type sharing struct {
	*fakeBackend
	comparisons, lists int
}

func (s *sharing) Comparison() func(context.Context, backend.Collection) ([]backend.Observed, error) {
	s.comparisons++
	return func(ctx context.Context, c backend.Collection) ([]backend.Observed, error) {
		s.lists++
		return s.List(ctx, c)
	}
}

// TestListsOfOneDriftCheck checks that a drift check reads all its lists by way of one Comparison, and the next one by another.
func TestListsOfOneDriftCheck(t *testing.T) {
	w := newWorld(t, Options{})
	small(w)
	w.run(time.Minute)
	s := &sharing{fakeBackend: w.backend}
	w.engine.b = s
	w.resetCalls()
	lists := 0
	for range 2 {
		w.drift()
	}
	for _, call := range w.backend.log {
		if strings.HasPrefix(call, "list ") {
			lists++
		}
	}
	expect(t, "comparisons", s.comparisons, 2)
	expect(t, "lists by way of them", s.lists, lists)
}
