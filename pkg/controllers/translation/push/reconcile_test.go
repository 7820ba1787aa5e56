// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

var requestA = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "a"}}

// scriptedStore returns a store with the observed Translation a, and an engine with a scripted outcome.
func scriptedStore(t *testing.T, outcome engine.Outcome, err error, edits ...func(*midonetv1.Translation)) (*store, *scripted) {
	t.Helper()
	tr := translation("a", chain(chainID, "a"))
	for _, edit := range edits {
		edit(tr)
	}
	s := newStore(t, tr)
	responses := &scripted{outcome: outcome, err: err}
	s.engine = responses
	s.watch("a")
	return s, responses
}

var (
	isSynced  = engine.Outcome{Reason: engine.ReasonSynced, Pushed: []engine.Pushed{{Kind: "Chain", ID: chainID, State: engine.Synced, Hash: "h"}}}
	isDeleted = engine.Outcome{Reason: engine.ReasonSynced, Deleted: true}
)

func TestReconcile(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "translations"}, "a", errors.New("it changed"))
	for name, tc := range map[string]struct {
		outcome engine.Outcome
		err     error
		edit    func(*midonetv1.Translation)
		fault   error
		writes  []string
		after   time.Duration
		fails   string
	}{
		"in sync":                  {outcome: isSynced, writes: []string{"status of a"}},
		"to be tried again":        {outcome: engine.Outcome{Reason: engine.ReasonRetrying, RetryAfter: time.Minute}, writes: []string{"status of a"}, after: time.Minute},
		"settling":                 {outcome: engine.Outcome{Reason: engine.ReasonWaiting, Settling: true, RetryAfter: time.Second}, after: time.Second},
		"gone":                     {outcome: isDeleted, edit: deleting, writes: []string{"finalizers of a"}},
		"absent, but not deleted":  {outcome: isDeleted, writes: []string{"status of a"}},
		"waits for others":         {outcome: engine.Outcome{Reason: engine.ReasonWaiting, RetryAfter: time.Minute}, edit: deletedAt(start.Add(-time.Second)), after: leaveTime},
		"waits for long":           {outcome: engine.Outcome{Reason: engine.ReasonWaiting, RetryAfter: time.Minute}, edit: deletedAt(start.Add(-leaveTime)), writes: []string{"status of a"}, after: time.Minute},
		"deleted in the future":    {outcome: engine.Outcome{Reason: engine.ReasonWaiting}, edit: deletedAt(start.Add(time.Second)), writes: []string{"status of a"}},
		"not deleted":              {outcome: engine.Outcome{Reason: engine.ReasonRetrying}, edit: deleting, writes: []string{"status of a"}},
		"status lost a race":       {outcome: isSynced, fault: conflict, writes: []string{"status of a"}, after: conflictPause},
		"finalizer lost a race":    {outcome: isDeleted, edit: deleting, fault: conflict, writes: []string{"finalizers of a"}, after: conflictPause},
		"deleted meanwhile":        {outcome: isSynced, fault: apierrors.NewNotFound(schema.GroupResource{}, "a"), writes: []string{"status of a"}},
		"API server broken":        {outcome: isSynced, fault: apierrors.NewInternalError(errors.New("broken")), writes: []string{"status of a"}, fails: `update the status of translation default/a`},
		"API server broken at end": {outcome: isDeleted, edit: deleting, fault: apierrors.NewInternalError(errors.New("broken")), writes: []string{"finalizers of a"}, fails: `release translation default/a`},
		"unknown to the engine":    {err: fmt.Errorf("a: %w", engine.ErrUnknownClaim)},
		"fenced":                   {err: &backend.Error{Reason: backend.Fenced, Message: "no Lease"}, after: fencedPause},
		"took too long":            {err: context.DeadlineExceeded, fails: "push translation default/a"},
	} {
		t.Run(name, func(t *testing.T) {
			var edits []func(*midonetv1.Translation)
			if tc.edit != nil {
				edits = append(edits, tc.edit)
			}
			s, _ := scriptedStore(t, tc.outcome, tc.err, edits...)
			s.fault = tc.fault
			result, err := s.Reconcile(t.Context(), requestA)
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("it fails with %v, want %q", err, tc.fails)
			}
			if result.RequeueAfter != tc.after {
				t.Errorf("it comes again after %s, want %s", result.RequeueAfter, tc.after)
			}
			if diff := cmp.Diff(tc.writes, s.Writes()); diff != "" {
				t.Errorf("writes: %s", diff)
			}
		})
	}
}

func deletedAt(at time.Time) func(*midonetv1.Translation) {
	return func(tr *midonetv1.Translation) { tr.DeletionTimestamp = new(metav1.NewTime(at)) }
}

// TestReconcileNothing checks that unobserved Translations are not pushed, and that a canceled context is not a failure.
func TestReconcileNothing(t *testing.T) {
	s, responses := scriptedStore(t, isSynced, nil)
	responses.newEvents = nil
	if result, err := s.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "b"}}); err != nil || result != (reconcile.Result{}) || responses.newEvents != nil {
		t.Errorf("%v, %v, %v", result, err, responses.newEvents)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	responses.err = ended.Err()
	if _, err := s.Reconcile(ended, requestA); err != nil || s.Count() > 0 {
		t.Errorf("at the end: %v, %v", err, s.Writes())
	}
}

// TestReconcileWritesOnce checks that an outcome is written once, even before the watch shows the write.
func TestReconcileWritesOnce(t *testing.T) {
	s, responses := scriptedStore(t, isSynced, nil)
	for range 3 {
		if _, err := s.Reconcile(t.Context(), requestA); err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(time.Hour)
	}
	s.watch("a")
	if _, err := s.Reconcile(t.Context(), requestA); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"status of a"}, s.Writes()); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(responses.newEvents, "push a") || !s.isLatest(s.read("a")) {
		t.Errorf("the engine was notified %v", responses.newEvents)
	}
}

// TestReconcileLosesToAnUpdate checks that a write that is based on an old Translation fails: the API server has recorded in the
// status which resources the update removes.
func TestReconcileLosesToAnUpdate(t *testing.T) {
	noted := midonetv1.BackendResourceStatus{Kind: "Chain", ID: preID, State: midonetv1.BackendResourceDeleting, BodyHash: "old"}
	s, responses := scriptedStore(t, isSynced, nil)
	responses.onPush = func() {
		s.change("a", func(tr *midonetv1.Translation) { tr.Resources = nil })
		tr := s.read("a")
		tr.Status.Resources = []midonetv1.BackendResourceStatus{noted}
		if err := s.Status().Update(t.Context(), tr); err != nil {
			t.Fatal(err)
		}
	}
	result, err := s.Reconcile(t.Context(), requestA)
	if err != nil || result.RequeueAfter != conflictPause {
		t.Fatalf("%v, %v", result, err)
	}
	if diff := cmp.Diff([]midonetv1.BackendResourceStatus{noted}, s.read("a").Status.Resources); diff != "" {
		t.Errorf("what the server noted is lost: %s", diff)
	}
}

// TestReleaseLeavesForeignFinalizers checks that other finalizers remain, and with them the Translation.
func TestReleaseLeavesForeignFinalizers(t *testing.T) {
	s, _ := scriptedStore(t, isDeleted, nil, deleting, func(tr *midonetv1.Translation) {
		tr.Finalizers = []string{"first", midonetv1.FinalizerName, "last"}
	})
	if _, err := s.Reconcile(t.Context(), requestA); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"first", "last"}, s.read("a").Finalizers); diff != "" {
		t.Error(diff)
	}
	s, _ = scriptedStore(t, isDeleted, nil, deleting)
	if _, err := s.Reconcile(t.Context(), requestA); err != nil || s.read("a") != nil {
		t.Errorf("it is still there: %v", err)
	}
}

// TestEvents checks that one event is sent when a Translation begins to need a user.
func TestEvents(t *testing.T) {
	stalled := engine.Outcome{Reason: engine.ReasonRefused, Stalled: true, Message: "Chain x: no\nreally",
		Pushed: []engine.Pushed{{Kind: "Chain", ID: chainID, State: engine.Failed, Message: "no"}}}
	drifted := engine.Outcome{Reason: engine.ReasonDrifted, Message: "Chain x: name",
		Pushed: []engine.Pushed{{Kind: "Chain", ID: chainID, State: engine.Drifted, Message: "fields differ: name"}}}
	s, responses := scriptedStore(t, isSynced, nil)
	for _, step := range []struct {
		name    string
		outcome engine.Outcome
		fault   error
		want    []string
	}{
		{"pushed", isSynced, nil, nil},
		{"rejected, and not written", stalled, apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("x")), nil},
		{"refused", stalled, nil, []string{"Warning Refused Chain x: no; really"}},
		{"still rejected", engine.Outcome{Reason: engine.ReasonRefused, Stalled: true, Message: "Chain x: no, again"}, nil, nil},
		{"repaired", isSynced, nil, nil},
		{"drifted", drifted, nil, []string{"Warning Drifted Chain " + chainID + ": fields differ: name"}},
		{"still drifted", drifted, nil, nil},
		{"waiting", engine.Outcome{Reason: engine.ReasonWaiting}, nil, nil},
	} {
		responses.outcome, s.fault = step.outcome, step.fault
		if _, err := s.Reconcile(t.Context(), requestA); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, s.newEvents()); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
}

// TestFenced checks that a leader that may not write says so, with the remedy, as soon as that is more than a lost Lease, and until it may; and
// that neither a comparison nor a push revokes what the other found.
func TestFenced(t *testing.T) {
	s, responses := scriptedStore(t, isSynced, &backend.Error{Reason: backend.Fenced, Message: "another leader: remove the record"})
	p := &passes{}
	ctx := instrument.With(t.Context(), p)
	reconcile := func(want ...string) {
		t.Helper()
		p.found = nil
		if _, err := s.Reconcile(ctx, requestA); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, slices.Concat(p.found...)); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	}
	const why = "the network backend is not written: another leader: remove the record"
	reconcile() // the process may be about to exit
	reconcile(why)
	responses.err = &backend.Error{Reason: backend.Fenced, Message: "the Lease was renewed 11s ago"}
	reconcile() // nothing new
	responses.err = &backend.Error{Reason: backend.Fenced, Message: "another leader: remove the record"}
	reconcile()
	if got, want := s.newEvents(), []string{"Warning Fenced another leader: remove the record"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
	if got, want := s.memory.compared([]string{"orphans"}), []string{"orphans", why}; !slices.Equal(got, want) {
		t.Errorf("findings of a comparison = %q, want %q", got, want)
	}
	responses.err = nil
	reconcile("orphans")
	for name, gone := range map[string]func(){
		"it was deleted": func() { s.discard(requestA.NamespacedName) },
		"it is deleted":  func() { responses.err = engine.ErrUnknownClaim },
	} {
		t.Run(name, func(t *testing.T) {
			responses.err = &backend.Error{Reason: backend.Fenced, Message: "another leader: remove the record"}
			s.watch("a")
			reconcile()
			reconcile("orphans", why)
			gone()
			reconcile("orphans")
		})
	}
}
