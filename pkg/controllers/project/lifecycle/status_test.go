// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

var (
	early = metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	later = metav1.NewTime(time.Date(2030, 1, 1, 1, 0, 0, 0, time.UTC))
	now   = time.Date(2030, 1, 1, 2, 0, 0, 999, time.UTC)
)

func conditionOf(kind gardenerv1beta1.ConditionType, status gardenerv1beta1.ConditionStatus, reason, message string, transition, update metav1.Time) gardenerv1beta1.Condition {
	return gardenerv1beta1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: transition, LastUpdateTime: update}
}

func TestNextStatus(t *testing.T) {
	namespaceReady := conditionOf(gardenerv1beta1.ProjectNamespaceReady, "True", "A", "a", early, early)
	rbacReady := conditionOf(gardenerv1beta1.ProjectRBACReady, "True", "A", "a", early, early)
	paused := conditionOf(projectPaused, "True", "A", "a", early, early)
	stale := conditionOf(gardenerv1beta1.ProjectStale, "True", "S", "s", early, early)
	current := gardenerv1beta1.ProjectStatus{
		ObservedGeneration: 3, Phase: gardenerv1beta1.ProjectReady,
		StaleSinceTimestamp: &early, StaleAutoDeleteTimestamp: &early, LastActivityTimestamp: &early,
		Conditions: []gardenerv1beta1.Condition{stale, rbacReady, paused, namespaceReady},
	}
	same := func(c gardenerv1beta1.Condition) gardenerv1beta1.Condition {
		return gardenerv1beta1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message}
	}
	for name, test := range map[string]struct {
		report    report
		want      gardenerv1beta1.ProjectStatus
		unchanged bool
	}{
		"even so": {
			report{phase: gardenerv1beta1.ProjectReady, conditions: []gardenerv1beta1.Condition{same(namespaceReady), same(rbacReady), same(paused)}},
			gardenerv1beta1.ProjectStatus{ObservedGeneration: 3, Phase: gardenerv1beta1.ProjectReady, Conditions: []gardenerv1beta1.Condition{namespaceReady, rbacReady, paused}},
			true,
		},
		"what is not reported stays, except for Paused": {
			report{},
			gardenerv1beta1.ProjectStatus{ObservedGeneration: 3, Phase: gardenerv1beta1.ProjectReady, Conditions: []gardenerv1beta1.Condition{namespaceReady, rbacReady}},
			false,
		},
		"the generation that was acted on": {
			report{acted: true, conditions: []gardenerv1beta1.Condition{same(paused)}},
			gardenerv1beta1.ProjectStatus{ObservedGeneration: 7, Phase: gardenerv1beta1.ProjectReady, Conditions: []gardenerv1beta1.Condition{namespaceReady, rbacReady, paused}},
			false,
		},
		"another phase": {
			report{phase: gardenerv1beta1.ProjectFailed, conditions: []gardenerv1beta1.Condition{same(paused)}},
			gardenerv1beta1.ProjectStatus{ObservedGeneration: 3, Phase: gardenerv1beta1.ProjectFailed, Conditions: []gardenerv1beta1.Condition{namespaceReady, rbacReady, paused}},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := nextStatus(&current, 7, &test.report, now)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if sameStatus(&current, &got) != test.unchanged {
				t.Errorf("the status counts as the same: %t", !test.unchanged)
			}
			// The applied status is stored, so the next reconciliation has nothing to write.
			applied := current
			applied.ObservedGeneration, applied.Phase = got.ObservedGeneration, got.Phase
			applied.Conditions = append([]gardenerv1beta1.Condition{stale}, got.Conditions...)
			again := nextStatus(&applied, 7, &test.report, now.Add(time.Hour))
			if !sameStatus(&applied, &again) {
				t.Errorf("the same report changes the status again: %+v", again)
			}
		})
	}
}

func TestStatusRetainsCodes(t *testing.T) {
	before := conditionOf(gardenerv1beta1.ProjectRBACReady, "True", "A", "a", early, early)
	before.Codes = []gardenerv1beta1.ErrorCode{"ERR_X"}
	current := gardenerv1beta1.ProjectStatus{Conditions: []gardenerv1beta1.Condition{before}}
	var reported report
	reported.set(gardenerv1beta1.ProjectRBACReady, "True", "A", "a")
	if next := nextStatus(&current, 1, &reported, now); !sameStatus(&current, &next) {
		t.Errorf("codes that another client set cause a write: %+v", next)
	}
}

func TestStatusApplied(t *testing.T) {
	status := gardenerv1beta1.ProjectStatus{
		ObservedGeneration: 3, Phase: gardenerv1beta1.ProjectReady, StaleSinceTimestamp: &early,
		Conditions: []gardenerv1beta1.Condition{conditionOf(gardenerv1beta1.ProjectRBACReady, "True", "A", "a", early, later)},
	}
	got, err := json.Marshal(statusApplied(&gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: "7"}}, &status))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"Project","apiVersion":"core.gardener.cloud/v1beta1","metadata":{"name":"dev","uid":"7"},"status":{"observedGeneration":3,"phase":"Ready",` +
		`"conditions":[{"type":"RBACReady","status":"True","lastTransitionTime":"2030-01-01T00:00:00Z","lastUpdateTime":"2030-01-01T01:00:00Z","reason":"A","message":"a"}]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestBounded(t *testing.T) {
	if got := bounded("a\nb"); got != "a; b" {
		t.Errorf("got %q", got)
	}
	long := bounded(strings.Repeat("ü", maxMessage))
	if len(long) > maxMessage || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("%d bytes: %q", len(long), long)
	}
}

// TestStatusOfARecreatedProject checks that a Project does not get the status of one that was deleted, and that the cache still has.
func TestStatusOfARecreatedProject(t *testing.T) {
	c := newCluster(t)
	before := c.project("dev", func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} })
	c.store.Stale(before.DeepCopy())
	change(c, before, func(p *gardenerv1beta1.Project) { p.Finalizers = nil })
	c.store.Remove(before)
	c.project("dev", func(p *gardenerv1beta1.Project) { p.UID = "of-the-next-one" })
	if _, err := c.reconcile("dev"); err != nil {
		t.Error(err)
	}
	if got := c.current("dev").Status; got.Phase != "" || len(got.Conditions) > 0 {
		t.Errorf("the next Project has status %+v", got)
	}
}
