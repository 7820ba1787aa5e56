// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

// scripted is an engine that records its calls and returns scripted outcomes.
type scripted struct {
	newEvents []string
	outcome   engine.Outcome
	err       error
	// onPush, if not nil, runs during a push.
	onPush func()
	items  map[types.NamespacedName]engine.Items
}

func (s *scripted) Observe(c engine.Claim) {
	what := "observe "
	if c.Deleting {
		what = "observe deleting "
	}
	s.newEvents = append(s.newEvents, what+c.Name.Name)
	if s.items == nil {
		s.items = map[types.NamespacedName]engine.Items{}
	}
	s.items[c.Name] = c.Items
}

func (s *scripted) Items(name types.NamespacedName) engine.Items { return s.items[name] }

func (s *scripted) Discard(name types.NamespacedName) {
	s.newEvents = append(s.newEvents, "discard "+name.Name)
	delete(s.items, name)
}

func (s *scripted) Push(_ context.Context, name types.NamespacedName) (engine.Outcome, error) {
	s.newEvents = append(s.newEvents, "push "+name.Name)
	if s.onPush != nil {
		s.onPush()
	}
	return s.outcome, s.err
}

func (s *scripted) Drift(context.Context) (engine.Report, error) { return engine.Report{}, nil }
func (s *scripted) Counts() map[engine.State]int                 { return map[engine.State]int{engine.Synced: 3} }

// added records what is added to a queue, with its priority.
type added struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	names      []string
	priorities []int
}

func (a *added) Add(request reconcile.Request) {
	a.AddWithOpts(priorityqueue.AddOpts{}, request)
}

func (a *added) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		a.names = append(a.names, request.Name)
		priority := 0
		if o.Priority != nil {
			priority = *o.Priority
		}
		a.priorities = append(a.priorities, priority)
	}
}

// at returns a Translation with the given resource version.
func at(version string, edits ...func(*midonetv1.Translation)) *midonetv1.Translation {
	tr := translation("a", chain(chainID, "a"))
	tr.ResourceVersion = version
	for _, edit := range edits {
		edit(tr)
	}
	return tr
}

// TestBacklog checks that what existed at startup is queued in parts, with a lower priority than later changes.
func TestBacklog(t *testing.T) {
	const there = 3*mostQueued + 1
	engine := &scripted{}
	r := &reconciler{engine: engine, checks: newDemand()}
	q := priorityqueue.New[reconcile.Request]("backlog")
	defer q.ShutDown()
	if err := r.useQueue(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	h := r.handler()
	for i := range there {
		tr := at("2")
		tr.Name = fmt.Sprint(i)
		h.Create(t.Context(), event.CreateEvent{Object: tr, IsInInitialList: true}, q)
	}
	if n := q.Len(); n != mostQueued {
		t.Errorf("%d are queued, not %d", n, mostQueued)
	}
	changed := at("3")
	changed.Name = "changed"
	h.Create(t.Context(), event.CreateEvent{Object: changed}, q)
	seen := map[string]bool{}
	for i := range there + 1 {
		request, _ := q.Get()
		if i == 0 && request.Name != "changed" {
			t.Errorf("%s comes before what changed", request.Name)
		}
		seen[request.Name] = true
		r.discard(request.NamespacedName) // nothing to write
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		q.Done(request)
		if n := q.Len(); n > mostQueued {
			t.Fatalf("%d are queued", n)
		}
	}
	if len(seen) != there+1 || q.Len() > 0 || r.memory.backlog != nil {
		t.Errorf("%d of %d were queued, %d are left and %d in the backlog", len(seen), there+1, q.Len(), len(r.memory.backlog))
	}
}

func deleting(tr *midonetv1.Translation) { tr.DeletionTimestamp = new(metav1.NewTime(start)) }

func withoutFinalizer(tr *midonetv1.Translation) { tr.Finalizers = []string{"foreign"} }

func annotated(value string) func(*midonetv1.Translation) {
	return func(tr *midonetv1.Translation) { tr.Annotations = map[string]string{checkDriftAnnotation: value} }
}

// TestHandler checks that the engine receives every change before it is queued, and that the controller's own writes are not
// queued.
func TestHandler(t *testing.T) {
	create := func(initial bool, tr *midonetv1.Translation) func(handler.EventHandler, *added) {
		return func(h handler.EventHandler, q *added) {
			h.Create(t.Context(), event.CreateEvent{Object: tr, IsInInitialList: initial}, q)
		}
	}
	update := func(before, after *midonetv1.Translation) func(handler.EventHandler, *added) {
		return func(h handler.EventHandler, q *added) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		}
	}
	for name, tc := range map[string]struct {
		event     func(handler.EventHandler, *added)
		newEvents []string
		queued    []string
		urgency   []int
		seen      string
		check     bool
	}{
		"new":                      {create(false, at("2")), []string{"observe a"}, []string{"a"}, []int{0}, "2", false},
		"there at the start":       {create(true, at("2")), []string{"observe a"}, []string{"a"}, []int{handler.LowPriority}, "2", false},
		"changed":                  {update(at("1"), at("3")), []string{"observe a"}, []string{"a"}, []int{0}, "3", false},
		"written by Groundskeeper": {update(at("1"), at("2")), []string{"observe a"}, nil, nil, "2", false},
		"again":                    {update(at("2"), at("2")), []string{"observe a"}, []string{"a"}, []int{handler.LowPriority}, "2", false},
		"being deleted":            {update(at("1"), at("3", deleting)), []string{"observe deleting a"}, []string{"a"}, []int{0}, "3", false},
		"released":                 {update(at("1"), at("3", deleting, withoutFinalizer)), []string{"discard a"}, []string{"a"}, []int{0}, "", false},
		"alive without Groundskeeper's finalizer": {update(at("1"), at("3", withoutFinalizer)), []string{"observe a"}, []string{"a"}, []int{0}, "3", false},
		"annotated":             {update(at("1"), at("3", annotated("now"))), []string{"observe a"}, []string{"a"}, []int{0}, "3", true},
		"annotated again":       {update(at("1", annotated("now")), at("3", annotated("later"))), []string{"observe a"}, []string{"a"}, []int{0}, "3", true},
		"annotation stays":      {update(at("1", annotated("now")), at("3", annotated("now"))), []string{"observe a"}, []string{"a"}, []int{0}, "3", false},
		"annotated at creation": {create(false, at("2", annotated("now"))), []string{"observe a"}, []string{"a"}, []int{0}, "2", false},
		"gone": {func(h handler.EventHandler, q *added) {
			h.Delete(t.Context(), event.DeleteEvent{Object: at("3")}, q)
		}, []string{"discard a"}, nil, nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			engine := &scripted{}
			r := &reconciler{engine: engine, checks: newDemand()}
			before := pack(t, at("1"))
			r.observe(before, at("1"))
			r.wrote(before, pack(t, at("2")))
			engine.newEvents = nil
			q := &added{}
			tc.event(r.handler(), q)
			if diff := cmp.Diff(tc.newEvents, engine.newEvents); diff != "" {
				t.Errorf("notified the engine: %s", diff)
			}
			if !cmp.Equal(tc.queued, q.names) || !cmp.Equal(tc.urgency, q.priorities) {
				t.Errorf("queued %v with priorities %v", q.names, q.priorities)
			}
			seen := ""
			if tr := r.latest(client.ObjectKeyFromObject(at("2"))); tr != nil {
				seen = tr.GetResourceVersion()
			}
			if seen != tc.seen {
				t.Errorf("saw version %q last, want %q", seen, tc.seen)
			}
			if requested := len(r.checks) > 0; requested != tc.check {
				t.Errorf("requested a drift check: %v", requested)
			}
		})
	}
}

// TestLatest checks that another object with the same name and version is not mistaken for a write by Groundskeeper, whose writes
// are the latest version until the watch delivers them or a newer one.
func TestLatest(t *testing.T) {
	r := &reconciler{engine: &scripted{}}
	observe := func(tr *midonetv1.Translation) *packed.Translation {
		kept := pack(t, tr)
		r.observe(kept, tr)
		return kept
	}
	name := client.ObjectKeyFromObject(at("1"))
	if r.isLatest(at("1")) || r.latest(name) != nil {
		t.Error("nothing was seen")
	}
	before := observe(at("1"))
	if other := at("1", func(tr *midonetv1.Translation) { tr.UID = "other" }); r.isLatest(other) || !r.isLatest(at("1")) {
		t.Error("another uid is another object")
	}
	written := pack(t, at("2"))
	if r.wrote(before, written); r.latest(name) != written {
		t.Error("what Groundskeeper wrote is not known")
	}
	again := pack(t, at("3"))
	if r.wrote(written, again); r.latest(name) != again {
		t.Error("what Groundskeeper wrote to that is not known")
	}
	if shown := observe(at("3")); r.latest(name) != shown || len(r.memory.written) > 0 {
		t.Error("what the watch has shown is kept twice")
	}
	newer := observe(at("5"))
	if r.wrote(again, pack(t, at("4"))); r.latest(name) != newer {
		t.Error("the watch was quicker, and what Groundskeeper wrote is old")
	}
	r.wrote(newer, pack(t, at("6")))
	r.discard(name)
	if r.wrote(newer, pack(t, at("7"))); r.latest(name) != nil {
		t.Error("what has been deleted came back")
	}
}

// TestWake checks that wakes are queued once there is a queue, and never block.
func TestWake(t *testing.T) {
	r := &reconciler{}
	r.wake(types.NamespacedName{Name: "early"})
	q := &added{}
	if err := r.useQueue(t.Context(), workqueue.TypedRateLimitingInterface[reconcile.Request](q)); err != nil {
		t.Fatal(err)
	}
	r.wake(types.NamespacedName{Name: "a"})
	if diff := cmp.Diff([]string{"a"}, q.names); diff != "" {
		t.Error(diff)
	}
}

// syncs is a source that implements only the sync.
type syncs struct {
	source.SyncingSource
	err error
}

func (s syncs) WaitForSync(context.Context) error { return s.err }

// TestSynced checks that drift checks wait until all Translations were delivered, and indefinitely if that fails.
func TestSynced(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		err  error
		done bool
	}{
		"synced": {t.Context(), nil, true},
		"failed": {t.Context(), errors.New("no cache"), false},
		"ended":  {ended, nil, false},
	} {
		s := &synced{SyncingSource: syncs{err: tc.err}, done: make(chan struct{})}
		for range 2 {
			if err := s.WaitForSync(tc.ctx); !errors.Is(err, tc.err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		select {
		case <-s.done:
			if !tc.done {
				t.Errorf("%s: it reports that all was shown", name)
			}
		default:
			if tc.done {
				t.Errorf("%s: it does not report that all was shown", name)
			}
		}
	}
}
