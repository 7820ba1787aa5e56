// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/midonet/validation"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

func inSync(id string) engine.Pushed {
	return engine.Pushed{Kind: "Chain", ID: id, State: engine.Synced, Hash: "h-" + id}
}

// summary returns a status as one line per condition and resource, with times in minutes since the start.
func summary(status midonetv1.TranslationStatus) []string {
	since := func(at metav1.Time) string { return at.Sub(start).String() }
	var lines []string
	for _, c := range status.Conditions {
		lines = append(lines, strings.Join([]string{c.Type, string(c.Status), c.Reason, c.Message, since(c.LastTransitionTime)}, " "))
	}
	for _, r := range status.Resources {
		lines = append(lines, strings.Join([]string{r.Kind, r.ID, string(r.State), r.BodyHash, r.Message, since(*r.LastTransitionTime)}, " "))
	}
	return lines
}

func TestNextStatus(t *testing.T) {
	tr := translation("chains.4.a", chain(chainID, "a"))
	tr.Status.Conditions = []metav1.Condition{{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "X", LastTransitionTime: metav1.NewTime(start)}}
	for i, step := range []struct {
		name    string
		outcome engine.Outcome
		want    []string
	}{
		{"waiting", engine.Outcome{
			Reason: engine.ReasonWaiting, Message: "waits for Chain b",
			Pushed: []engine.Pushed{inSync("a"), {Kind: "Chain", ID: "b", State: engine.Pending, Message: "waits"}},
		}, []string{"Theirs True X  0s", "Synced False Waiting waits for Chain b 1m0s", "Chain a Synced h-a  1m0s", "Chain b Pending  waits 1m0s"}},
		{"nothing new", engine.Outcome{
			Reason: engine.ReasonWaiting, Message: "waits for Chain b",
			Pushed: []engine.Pushed{inSync("a"), {Kind: "Chain", ID: "b", State: engine.Pending, Message: "waits"}},
		}, []string{"Theirs True X  0s", "Synced False Waiting waits for Chain b 1m0s", "Chain a Synced h-a  1m0s", "Chain b Pending  waits 1m0s"}},
		{"refused", engine.Outcome{
			Reason: engine.ReasonRefused, Message: "Chain b: no", Stalled: true,
			Pushed: []engine.Pushed{inSync("a"), {Kind: "Chain", ID: "b", State: engine.Failed, Code: 400, Message: "no"}},
		}, []string{"Theirs True X  0s", "Synced False Refused Chain b: no 1m0s", "Stalled True Refused Chain b: no 3m0s", "Chain a Synced h-a  1m0s", "Chain b Failed  no 3m0s"}},
		{"in sync", engine.Outcome{Reason: engine.ReasonSynced, Pushed: []engine.Pushed{inSync("a"), inSync("b")}},
			[]string{"Theirs True X  0s", "Synced True Synced The backend has all resources. 4m0s", "Chain a Synced h-a  1m0s", "Chain b Synced h-b  4m0s"}},
		{"shrunk", engine.Outcome{Reason: engine.ReasonSynced, Pushed: []engine.Pushed{inSync("b")}},
			[]string{"Theirs True X  0s", "Synced True Synced The backend has all resources. 4m0s", "Chain b Synced h-b  4m0s"}},
		{"empty", engine.Outcome{Reason: engine.ReasonSynced},
			[]string{"Theirs True X  0s", "Synced True Synced The backend has all resources. 4m0s"}},
	} {
		before := tr.DeepCopy()
		tr.Generation++
		before.Generation++
		status := nextStatus(tr, step.outcome, start.Add(time.Duration(i+1)*time.Minute+time.Millisecond))
		if !equality.Semantic.DeepEqual(before, tr) {
			t.Fatalf("%s: the Translation was changed", step.name)
		}
		if diff := cmp.Diff(step.want, summary(status)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
		if c := meta.FindStatusCondition(status.Conditions, midonetv1.ConditionSynced); status.ObservedGeneration != tr.Generation || c.ObservedGeneration != tr.Generation {
			t.Errorf("%s: observed %d, the condition %d; want %d", step.name, status.ObservedGeneration, c.ObservedGeneration, tr.Generation)
		}
		next := tr.DeepCopy()
		next.Status = status
		next.ResourceVersion, tr.ResourceVersion = "1", "1"
		if errs := validation.ValidateTranslationStatusUpdate(next, tr); len(errs) > 0 {
			t.Errorf("%s: the API rejects it: %v", step.name, errs)
		}
		tr.Status = status
	}
}

// TestNextStatusIsStable checks that a push without changes returns an equal status, also after a round trip through the API.
func TestNextStatusIsStable(t *testing.T) {
	tr := translation("chains.4.a", chain(chainID, "a"))
	outcome := engine.Outcome{Reason: engine.ReasonRefused, Stalled: true, Message: "Chain a: no", Pushed: []engine.Pushed{
		{Kind: "Chain", ID: "a", State: engine.Failed, Code: 400, Message: "no"},
		// Two resources with the same key.
		{Kind: "Chain", ID: "b", State: engine.Synced}, {Kind: "Chain", ID: "b", State: engine.Failed},
	}}
	tr.Status = nextStatus(tr, outcome, start)
	stored := tr.DeepCopy()
	for i := range stored.Status.Resources {
		stored.Status.Resources[i].LastTransitionTime = new(metav1.NewTime(stored.Status.Resources[i].LastTransitionTime.Local()))
	}
	if next := nextStatus(stored, outcome, start.Add(time.Hour)); !equality.Semantic.DeepEqual(stored.Status, next) {
		t.Error(cmp.Diff(stored.Status, next))
	}
}
