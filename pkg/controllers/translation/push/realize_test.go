// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

// network is a backend whose network applies writes as scripted by a test.
type network struct {
	engine.Backend
	written, applied int64
	connected        bool
}

func (n *network) Written() int64                { n.written++; return n.written }
func (n *network) Realized(point int64) bool     { return point <= n.applied }
func (n *network) Connects(ref backend.Ref) bool { return ref.Kind == "Chain" }
func (n *network) Connected(backend.Ref) bool    { return n.connected }
func (n *network) Realize(ctx context.Context, _ func([]backend.Key)) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestRealized checks the condition and how often the status is written: once if the network applies it soon.
func TestRealized(t *testing.T) {
	s, responses := scriptedStore(t, engine.Outcome{Reason: engine.ReasonWaiting, Message: "waits"}, nil)
	n := &network{connected: true}
	var woken []string
	newProcess := func() {
		s.realization = newRealization(n, func(name types.NamespacedName) { woken = append(woken, name.Name) })
	}
	newProcess()
	wrote := isSynced
	wrote.Wrote = true
	retried := wrote
	retried.RetryAfter = 100 * time.Millisecond
	later := func(d time.Duration) func() { return func() { s.now = s.now.Add(d) } }
	for _, step := range []struct {
		name    string
		before  func()
		outcome engine.Outcome
		want    string
		writes  int
		after   time.Duration
	}{
		{"not in the backend", func() {}, engine.Outcome{Reason: engine.ReasonWaiting, Message: "waits"}, "False NotSynced", 1, 0},
		{"in the backend", func() {}, wrote, "False NotSynced", 0, applyTime},
		{"written again", later(applyTime - time.Second), wrote, "False NotSynced", 0, time.Second},
		{"to be tried again sooner", func() {}, retried, "False NotSynced", 0, retried.RetryAfter},
		{"not applied before the deadline", later(time.Second), isSynced, "False Applying", 1, 0},
		{"not applied", later(time.Hour), isSynced, "False Applying", 0, 0},
		{"written while it is not applied", func() {}, wrote, "False Applying", 0, 0},
		{"another process", newProcess, isSynced, "False Applying", 0, applyTime},
		{"an earlier point", func() { n.applied = n.written - 1 }, isSynced, "False Applying", 0, applyTime},
		{"applied", func() { n.applied = n.written }, isSynced, "True Realized", 1, 0},
		{"nothing new", func() {}, isSynced, "True Realized", 0, 0},
		{"yet another process", newProcess, isSynced, "True Realized", 0, 0},
		{"disconnected", func() { n.connected = false }, isSynced, "False NotConnected", 1, 0},
		{"repaired", func() {}, wrote, "False NotConnected", 0, applyTime},
		{"connected", func() { n.applied, n.connected = n.written, true }, isSynced, "True Realized", 1, 0},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.before()
			s.ResetLog()
			responses.outcome = step.outcome
			result, err := s.Reconcile(t.Context(), requestA)
			if err != nil {
				t.Fatal(err)
			}
			tr := &midonetv1.Translation{}
			if err := s.Get(t.Context(), requestA.NamespacedName, tr); err != nil {
				t.Fatal(err)
			}
			if result.RequeueAfter != step.after {
				t.Errorf("requeued after %s, want %s", result.RequeueAfter, step.after)
			}
			c := meta.FindStatusCondition(tr.Status.Conditions, midonetv1.ConditionRealized)
			if got := string(c.Status) + " " + c.Reason; got != step.want || s.Count() != step.writes {
				t.Errorf("condition = %s, %d writes; want %s, %d writes", got, s.Count(), step.want, step.writes)
			}
		})
	}

	// Translations that may have changed are woken.
	responses.outcome = wrote
	if _, err := s.Reconcile(t.Context(), requestA); err != nil {
		t.Fatal(err)
	}
	s.realization.changed(nil)
	if len(woken) > 0 {
		t.Errorf("woken = %v before it is applied", woken)
	}
	n.applied = n.written
	s.realization.changed(nil)
	s.realization.changed([]backend.Key{{Kind: "Chain", ID: chainID}, {Kind: "Chain", ID: preID}})
	if got := strings.Join(woken, " "); got != "a a" {
		t.Errorf("woken = %q, want a by what is applied and by what is connected", got)
	}
	s.realization.discard(requestA.NamespacedName)
	s.realization.changed([]backend.Key{{Kind: "Chain", ID: chainID}})
	if len(woken) != 2 || len(s.realization.owned)+len(s.realization.waits) > 0 {
		t.Errorf("a deleted Translation is remembered: %+v", s.realization)
	}
}

// TestNotRealized checks that a backend that does not report its progress has no such condition.
func TestNotRealized(t *testing.T) {
	s, _ := scriptedStore(t, isSynced, nil)
	s.realization = newRealization(struct{ engine.Backend }{}, nil)
	if _, err := s.Reconcile(t.Context(), requestA); err != nil {
		t.Fatal(err)
	}
	tr := &midonetv1.Translation{}
	if err := s.Get(t.Context(), requestA.NamespacedName, tr); err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(tr.Status.Conditions, midonetv1.ConditionRealized); c != nil {
		t.Errorf("condition = %+v, want none", c)
	}
}

func TestRealizeLoopEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cancel()
	if err := newRealization(&network{}, nil).follow(ctx, logr.Discard()); err != nil {
		t.Error(err)
	}
}
