// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// TestFaults checks that failed requests are retried until they succeed, and that a lost response duplicates nothing.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"broken":        {Method: http.MethodPost, Status: 500, Times: 3},
		"busy":          {Method: http.MethodPost, Status: 503, Times: 3},
		"away":          {Cut: fake.CutRequest, Times: 4},
		"response lost": {Cut: fake.CutResponse, Times: 4},
		"locked out":    {Status: 401, Times: 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t)
			if err := p.server.Inject(fault); err != nil {
				t.Fatal(err)
			}
			p.create(translation("chain", chain(chainID, "main"), rule(ruleID, "accept")), translation("bridge", bridge(), port()))
			p.settle(10 * time.Minute)
			want(t, "backend", p.content(), []string{"Bridge " + bridgeID, "Chain " + chainID, "Port " + portID, "Rule " + ruleID})
			want(t, "chain", p.states("chain"), append([]string{"Chain Synced", "Rule Synced"}, allSynced...))
			p.server.Heal()
			if err := p.server.Inject(fault); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"chain", "bridge"} {
				p.delete(name)
			}
			p.settle(10 * time.Minute)
			want(t, "backend", p.content(), nil)
			want(t, "chain", p.states("chain"), []string{"gone"})
		})
	}
}

// TestOutage checks that statuses report an unavailable backend, and are not rewritten on each try.
func TestOutage(t *testing.T) {
	p := newPlane(t)
	if err := p.server.Inject(fake.Fault{Cut: fake.CutRequest}); err != nil {
		t.Fatal(err)
	}
	p.create(translation("chain", chain(chainID, "main")))
	p.settle(time.Hour)
	want(t, "chain", p.states("chain"), []string{"Chain Failed", "Synced=False Retrying"})
	if p.Count() > 2 {
		t.Errorf("writes in one hour: %v", p.Writes())
	}
	if newEvents := p.newEvents(); newEvents != nil {
		t.Errorf("no user has to act: %v", newEvents)
	}
	p.server.Heal()
	p.settle(2 * time.Minute)
	want(t, "chain", p.states("chain"), append([]string{"Chain Synced"}, allSynced...))
}

// TestStalled checks that a resource that the backend rejects is reported once and blocks nothing else.
func TestStalled(t *testing.T) {
	p := newPlane(t)
	broken := translation("broken",
		midonetv1.BackendResource{Kind: "LoadBalancer", Body: `{"id":"` + ruleID + `"}`},
		midonetv1.BackendResource{Kind: "Chain", Body: `{"id":"not one"}`},
		midonetv1.BackendResource{Kind: "Chain", Body: `{"id":"` + preID + `","nam":"x"}`},
		chain(chainID, "main"))
	p.create(broken)
	p.settle(time.Minute)
	want(t, "backend", p.content(), []string{"Chain " + chainID})
	want(t, "states", p.states("broken"), []string{
		"LoadBalancer NotApplicable", "Chain Failed", "Chain Failed 400", "Chain Synced", "Synced=False Invalid", "Stalled=True Invalid"})
	if newEvents := p.newEvents(); len(newEvents) != 1 || !strings.HasPrefix(newEvents[0], "Warning Invalid ") {
		t.Errorf("events: %v", newEvents)
	}
	p.change("broken", func(tr *midonetv1.Translation) { tr.Resources = tr.Resources[3:] })
	p.settle(time.Minute)
	want(t, "states", p.states("broken"), append([]string{"Chain Synced"}, allSynced...))
	p.delete("broken")
	p.settle(time.Minute)
	want(t, "backend", p.content(), nil)
}

// rewrite changes the responses for a path, but not for paths below it.
func (p *plane) rewrite(path string, change func(body []byte) []byte) {
	p.t.Helper()
	if err := p.server.Inject(fake.Fault{Method: http.MethodGet, Path: path, Rewrite: change}); err != nil {
		p.t.Fatal(err)
	}
}

// TestDriftBesideInvalidElements checks that elements that cannot be parsed are counted and left alone, while all others are
// compared and repaired and orphans are deleted.
func TestDriftBesideInvalidElements(t *testing.T) {
	p := newPlane(t)
	p.orphans = true
	p.restart()
	p.create(translation("chain", chain(chainID, "main"), rule(ruleID, "accept"), rule(rule2ID, "drop")), translation("bridge", bridge()))
	p.settle(time.Minute)
	before := p.server.Content()
	p.manually(http.MethodPost, "/chains", "Chain-v1", map[string]string{"id": portID, "tenantId": "midonetkube"})
	p.rewrite("/chains/"+chainID+"/rules", func(body []byte) []byte {
		return append(bytes.TrimSuffix(bytes.TrimSpace(body), []byte("]")), `,{"id":"not a UUID"},{"id":"`+bridgeID+`","type":["drop"]},7]`...)
	})
	p.manually(http.MethodDelete, "/rules/"+rule2ID, "Rule-v2", nil)
	p.server.ResetRequests()
	report := p.drift()
	if report.Drifted != 1 || report.Repaired != 1 || report.Orphans != 1 || report.Invalid != 3 || len(report.InvalidNames) != 3 {
		t.Errorf("report %+v", report)
	}
	if report := p.drift(); report.Deleted != 1 || report.Drifted != 0 || report.Invalid != 3 {
		t.Errorf("second report %+v", report)
	}
	if diff := cmp.Diff(before, p.server.Content()); diff != "" {
		t.Error(diff)
	}
	if got := p.server.Writes(); got != 2 { // the rule and the orphan
		t.Errorf("writes = %d, want 2", got)
	}
}

// TestInvalidElementIsNotMissing checks that a resource that cannot be parsed is considered neither missing nor different, and that
// nothing is written.
func TestInvalidElementIsNotMissing(t *testing.T) {
	p := newPlane(t)
	p.create(translation("bridge", bridge()), translation("chain", chain(chainID, "main"), rule(ruleID, "accept")))
	p.settle(time.Minute)
	p.rewrite("/bridges", func(body []byte) []byte {
		return bytes.Replace(body, []byte(`"name":"node-a"`), []byte(`"name":["node-a"]`), 1)
	})
	p.rewrite("/chains/", func(body []byte) []byte {
		return bytes.Replace(body, []byte(`"type":"accept"`), []byte(`"type":7`), 1)
	})
	p.server.ResetRequests()
	for range 3 {
		if report := p.drift(); report.Drifted != 0 || report.Orphans != 0 || report.Invalid != 2 {
			t.Errorf("report %+v", report)
		}
	}
	if got := p.server.Writes(); got != 0 {
		t.Errorf("writes = %d, want 0", got)
	}
}
