// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// rewrite changes the lists of a path, and nothing below it.
func (p *plane) rewrite(path string, change func(body []byte) []byte) {
	p.t.Helper()
	if err := p.server.Inject(fake.Fault{Method: http.MethodGet, Path: path, Rewrite: change}); err != nil {
		p.t.Fatal(err)
	}
}

// Beside elements of a list that are not understood the rest is compared and repaired, orphans are deleted, and those
// elements are counted and left alone.
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
	if got := p.server.Writes(); got != 2 { // the rule, and the orphan
		t.Errorf("writes = %d, want 2", got)
	}
}

// Of a wanted resource that is not understood nothing is known: it is neither missing nor different, and nothing is written.
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
