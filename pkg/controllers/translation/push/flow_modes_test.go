// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

// TestDrift checks that manual changes and deletions are repaired, including the order of rules.
func TestDrift(t *testing.T) {
	p := newPlane(t)
	p.create(translation("chain", chain(chainID, "main"), rule(ruleID, "accept"), rule(rule2ID, "drop")), translation("bridge", bridge()))
	p.settle(time.Minute)
	before := p.server.Content()
	p.manually(http.MethodDelete, "/rules/"+rule2ID, "Rule-v2", nil)
	p.manually(http.MethodPut, "/bridges/"+bridgeID, "Bridge-v4", map[string]string{"tenantId": "midonetkube", "name": "mine"})
	if report := p.drift(); report.Drifted != 2 || report.Repaired != 2 {
		t.Errorf("report %+v", report)
	}
	if diff := cmp.Diff(before, p.server.Content()); diff != "" {
		t.Error(diff)
	}
	want(t, "chain", p.states("chain"), append([]string{"Chain Synced", "Rule Synced", "Rule Synced"}, allSynced...))
	if report := p.drift(); report.Drifted != 0 {
		t.Errorf("report after the repair %+v", report)
	}
}

// TestObserve checks that the mode observe reports drift and does not repair it.
func TestObserve(t *testing.T) {
	p := newPlane(t)
	p.mode = engine.Observe
	p.restart()
	p.create(translation("bridge", bridge()), translation("chain", chain(chainID, "main")))
	p.settle(time.Minute)
	p.server.ResetRequests()
	p.manually(http.MethodPut, "/bridges/"+bridgeID, "Bridge-v4", map[string]string{"tenantId": "midonetkube", "name": "mine"})
	p.drift()
	if n := p.server.Writes(); n != 1 { // the manual one
		t.Errorf("%d writes", n)
	}
	want(t, "bridge", p.states("bridge"), []string{"Bridge Drifted", "Synced=False Drifted"})
	if newEvents := p.newEvents(); len(newEvents) != 1 || !strings.Contains(newEvents[0], "name") {
		t.Errorf("events: %v", newEvents)
	}
	p.restart()
	p.settle(time.Hour)
	p.drift()
	want(t, "bridge after a restart", p.states("bridge"), []string{"Bridge Drifted", "Synced=False Drifted"})
	if p.server.Writes() > 0 || len(p.newEvents()) > 0 {
		t.Error("a restart repairs or repeats")
	}
}

// TestPlan checks that the mode plan writes nothing to the backend, and keeps a Translation that is being deleted.
func TestPlan(t *testing.T) {
	p := newPlane(t)
	p.create(translation("old", chain(preID, "pre")))
	p.settle(time.Minute)
	p.mode = engine.Plan
	p.restart()
	p.create(translation("new", chain(chainID, "main")))
	p.delete("old")
	p.settle(time.Hour)
	if n := p.server.Writes(); n > 0 {
		t.Errorf("%d writes", n)
	}
	want(t, "new", p.states("new"), []string{"Chain Pending", "Synced=False Planned"})
	if message := p.read("new").Status.Resources[0].Message; !strings.Contains(message, "create") {
		t.Errorf("planned: %s", message)
	}
	if message := p.read("old").Status.Resources[0].Message; !strings.Contains(message, "delete") {
		t.Errorf("planned: %s", message)
	}
	p.mode = engine.Repair
	p.restart()
	p.settle(time.Minute)
	want(t, "backend", p.content(), []string{"Chain " + chainID})
	want(t, "old", p.states("old"), []string{"gone"})
}

// TestOrphans checks that resources of no Translation are reported, and, if configured, deleted when they are found for the second
// time.
func TestOrphans(t *testing.T) {
	p := newPlane(t)
	p.create(translation("chain", chain(chainID, "main"), rule(ruleID, "accept")), translation("bridge", bridge()))
	p.settle(time.Minute)
	p.manually(http.MethodPost, "/chains", "Chain-v1", map[string]string{"id": preID, "tenantId": "midonetkube"})
	p.manually(http.MethodPost, "/chains/"+preID+"/rules", "Rule-v2", map[string]string{"id": rule2ID, "type": "drop"})
	filled := p.content()
	for range 3 {
		if report := p.drift(); report.Orphans != 2 || report.Deleted != 0 {
			t.Errorf("report %+v", report)
		}
	}
	want(t, "backend", p.content(), filled)
	p.orphans = true
	p.restart()
	p.settle(time.Minute)
	if report := p.drift(); report.Deleted != 0 {
		t.Errorf("the first reconciliation of a process deletes: %+v", report)
	}
	if report := p.drift(); report.Deleted != 2 {
		t.Errorf("the second pass: %+v", report)
	}
	want(t, "backend", p.content(), []string{"Bridge " + bridgeID, "Chain " + chainID, "Rule " + ruleID})
}
