// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

var start = time.Unix(1_800_000_000, 0)

func TestLedger(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	l := NewLedger(clock)
	collision := Problem{gimbalv1.ErrorNameCollision, "two of one name"}
	unreachable := Problem{gimbalv1.ErrorConnection, "no response"}
	if news := l.Set("shop/a", collision); len(news) != 1 {
		t.Error(news)
	}
	if news := l.Set("shop/b", collision); len(news) != 1 {
		t.Error(news)
	}
	if news := l.Set("shop/a", collision); len(news) != 0 {
		t.Error("reported twice")
	}
	l.Set("backend", unreachable)
	entries := l.Entries()
	if len(entries) != 2 || entries[0].Problem != unreachable || entries[1].Problem != collision || len(l.subjects) != 3 {
		t.Fatalf("%v", entries)
	}
	// The time is that when it was last seen, to the second; while it lasts, noted once a minute.
	if !entries[0].Seen.Equal(start) {
		t.Error(entries[0].Seen)
	}
	clock.Step(59 * time.Second)
	l.Set("shop/b", collision)
	if entries := l.Entries(); !entries[1].Seen.Equal(start) {
		t.Error(entries)
	}
	clock.Step(time.Second + time.Millisecond)
	l.Set("shop/b", collision)
	if entries := l.Entries(); !entries[1].Seen.Equal(start.Add(time.Minute)) || !entries[0].Seen.Equal(start) {
		t.Error(entries)
	}
	// One of the two is fixed, then the other.
	l.Set("shop/a")
	if len(l.Entries()) != 2 {
		t.Error(l.Entries())
	}
	l.Set("shop/b")
	l.Set("backend")
	if len(l.Entries()) != 0 || len(l.subjects) != 0 {
		t.Error(l.Entries())
	}
}

func TestLedgerIsBounded(t *testing.T) {
	l := NewLedger(clocktesting.NewFakeClock(start))
	for i := range gimbalv1.MaxErrorsPerWriter {
		l.Set(fmt.Sprint(i), Problem{gimbalv1.ErrorConflict, fmt.Sprintf("%02d", i)})
	}
	if entries := l.Entries(); len(entries) != gimbalv1.MaxErrorsPerWriter || entries[49].Message != "49" {
		t.Error(len(entries), entries[49])
	}
	l.Set("more", Problem{gimbalv1.ErrorConflict, "50"})
	if entries := l.Entries(); len(entries) != gimbalv1.MaxErrorsPerWriter || !strings.Contains(entries[49].Message, "more errors") || entries[48].Message != "48" {
		t.Error(len(entries), entries[49])
	}
	l = NewLedger(clocktesting.NewFakeClock(start))
	l.Set("long", Problem{gimbalv1.ErrorConflict, strings.Repeat("x", 10000)})
	if got := len(l.Entries()[0].Message); got != maxMessage {
		t.Error(got)
	}
}

// fakeClient has one DiscoveryBackend and counts what is written to it.
type fakeClient struct {
	backend *gimbalv1.DiscoveryBackend
	writes  []document
	options metav1.PatchOptions
	fails   error
}

func (f *fakeClient) Get(context.Context, string, metav1.GetOptions) (*gimbalv1.DiscoveryBackend, error) {
	return f.backend.DeepCopy(), nil
}

func (f *fakeClient) Patch(_ context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (*gimbalv1.DiscoveryBackend, error) {
	if f.fails != nil {
		return nil, f.fails
	}
	var sent document
	if err := json.Unmarshal(patch, &sent); err != nil || name != sent.Metadata.Name || kind != types.ApplyPatchType || !slices.Equal(subresources, []string{"status"}) {
		return nil, fmt.Errorf("%s, %v, %s, %s: %w", name, subresources, kind, patch, err)
	}
	f.writes, f.options = append(f.writes, sent), options
	f.backend.Status.Conditions = sent.Status.Conditions
	return f.backend.DeepCopy(), nil
}

func (f *fakeClient) last() *status {
	return f.writes[len(f.writes)-1].Status
}

func TestWriter(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	client := &fakeClient{backend: &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: "us", UID: "u", Generation: 3}}}
	client.backend.Status.Services, client.backend.Status.Endpoints = new(int32(7)), new(int32(8))
	state := State{Discovered: metav1.Condition{Status: metav1.ConditionFalse, Reason: ReasonPending, Message: "first"}}
	ledger := NewLedger(clock)
	w := &Writer{Client: client, Namespace: "gimbal-discovery", Name: "us", Ledger: ledger, State: func() State { return state }, Clock: clock, Contact: NewContact(clock)}
	write := func(want int) {
		t.Helper()
		if err := w.write(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(client.writes) != want {
			t.Fatalf("%d writes, want %d", len(client.writes), want)
		}
	}
	write(1)
	if s := client.last(); *s.Services != 7 || *s.Endpoints != 8 || s.LastSyncTime != nil || len(s.Errors) != 0 {
		t.Errorf("what is not known yet was changed: %+v", s)
	}
	if c := client.writes[0]; c.Metadata.UID != "u" || c.APIVersion != "gimbal.heptio.com/v1" || c.Kind != "DiscoveryBackend" ||
		client.options.FieldManager != fieldOwner || !*client.options.Force || c.Status.Conditions[0].ObservedGeneration != 3 {
		t.Errorf("%+v, %+v", c, client.options)
	}
	write(1) // nothing changed
	state = State{Discovered: metav1.Condition{Status: metav1.ConditionTrue, Reason: ReasonSynced, Message: "all"}, Counted: true, Services: 2, Endpoints: 10, LastSync: start}
	clock.Step(10 * time.Second)
	write(2)
	if s := client.last(); *s.Services != 2 || *s.Endpoints != 10 || !s.LastSyncTime.Equal(new(metav1.NewTime(start))) || !s.Conditions[0].LastTransitionTime.Equal(new(metav1.NewTime(start.Add(10*time.Second)))) {
		t.Errorf("%+v", s)
	}
	ledger.Set("backend", Problem{gimbalv1.ErrorConnection, "no response"})
	state.Discovered.Message = "changed"
	clock.Step(10 * time.Second)
	write(3)
	if s := client.last(); len(s.Errors) != 1 || s.Errors[0].Type != gimbalv1.ErrorConnection || !s.Conditions[0].LastTransitionTime.Equal(new(metav1.NewTime(start.Add(10*time.Second)))) {
		t.Errorf("%+v", s)
	}
	// Seen again within the minute, it is no news.
	ledger.Set("backend", Problem{gimbalv1.ErrorConnection, "no response"})
	write(3)
	ledger.Set("backend")
	write(4)
	if s := client.last(); len(s.Errors) != 0 {
		t.Errorf("%+v", s)
	}
}

// TestWriterAfterRestart checks that a restart reports nothing before it has a result.
func TestWriterAfterRestart(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	client := &fakeClient{backend: &gimbalv1.DiscoveryBackend{}}
	client.backend.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionDiscovered, Status: metav1.ConditionTrue}}
	w := &Writer{Client: client, Ledger: NewLedger(clock), Clock: clock, Contact: NewContact(clock), State: func() State {
		return State{Discovered: metav1.Condition{Status: metav1.ConditionFalse, Reason: ReasonPending, Message: "first"}}
	}}
	if err := w.write(t.Context()); err != nil || len(client.writes) > 0 {
		t.Error(err, client.writes)
	}
	w.Ledger.Set("backend", Problem{gimbalv1.ErrorAuthentication, "refused"})
	if err := w.write(t.Context()); err != nil || len(client.writes) != 1 {
		t.Error(err, client.writes)
	}
}

// TestContact checks that whether the backend responds is reported after the first request. After a restart the time is reset only
// if it does not respond.
func TestContact(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	client := &fakeClient{backend: &gimbalv1.DiscoveryBackend{}}
	process := func() (*Writer, *Contact) {
		contact := NewContact(clock)
		return &Writer{Client: client, Ledger: NewLedger(clock), Clock: clock, Contact: contact, State: func() State {
			return State{Discovered: metav1.Condition{Status: metav1.ConditionFalse, Reason: "Reason", Message: clock.Now().String()}}
		}}, contact
	}
	expect := func(w *Writer, want string, since time.Time) {
		t.Helper()
		if err := w.write(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := meta.FindStatusCondition(client.backend.Status.Conditions, gimbalv1.ConditionReachable)
		switch {
		case c == nil && want == "":
		case c == nil || string(c.Status) != want || !c.LastTransitionTime.Time.Equal(since):
			t.Errorf("got %+v, want %s since %s", c, want, since)
		}
	}
	w, contact := process()
	expect(w, "", start)
	contact.Note(Responded)
	expect(w, "True", start)
	clock.Step(time.Minute)
	contact.Note(Responded)
	expect(w, "True", start)
	contact.Note(Limited) // which is no silence
	expect(w, "True", start)
	if c := meta.FindStatusCondition(client.backend.Status.Conditions, gimbalv1.ConditionReachable); c.Reason != "RateLimited" {
		t.Errorf("reason with too many requests = %q, want RateLimited", c.Reason)
	}
	contact.Note(Silent)
	expect(w, "False", start.Add(time.Minute))
	clock.Step(time.Hour)
	contact.Note(Silent)
	expect(w, "False", start.Add(time.Minute))

	w, contact = process()
	expect(w, "False", start.Add(time.Minute)) // there was no request yet
	contact.Note(Silent)
	expect(w, "False", start.Add(time.Hour+time.Minute))
	clock.Step(time.Minute)
	contact.Note(Responded)
	clock.Step(time.Minute)
	contact.Note(Limited) // it has responded for a minute
	expect(w, "True", start.Add(time.Hour+2*time.Minute))
	w, contact = process()
	contact.Note(Responded)
	expect(w, "True", start.Add(time.Hour+2*time.Minute))
	contact.Note(Unclear)
	expect(w, "Unknown", start.Add(time.Hour+3*time.Minute))
	clock.Step(time.Minute)
	contact.Note(Silent) // the period of silence begins now
	expect(w, "False", start.Add(time.Hour+4*time.Minute))
}

// TestWriterFails checks that a failed write is retried on the current state.
func TestWriterFails(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	client := &fakeClient{backend: &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{UID: "old"}}}
	w := &Writer{Client: client, Ledger: NewLedger(clock), Clock: clock, Contact: NewContact(clock), State: func() State { return State{} }}
	for _, fails := range []error{errors.New("broken"), apierrors.NewConflict(schema.GroupResource{}, "us", errors.New("uid"))} {
		client.fails = fails
		if err := w.write(t.Context()); !errors.Is(err, fails) {
			t.Error(err)
		}
	}
	client.fails, client.backend.UID = nil, "new"
	if err := w.write(t.Context()); err != nil || len(client.writes) != 1 || client.writes[0].Metadata.UID != "new" {
		t.Error(err, client.writes)
	}
}

func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	clock := clocktesting.NewFakeClock(start)
	w := &Writer{Client: &fakeClient{backend: &gimbalv1.DiscoveryBackend{}}, Ledger: NewLedger(clock), Clock: clock, Contact: NewContact(clock), State: func() State { return State{} }}
	w.Run(ctx)
}
