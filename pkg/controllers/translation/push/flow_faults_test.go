// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"net/http"
	"strings"
	"testing"
	"time"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// A backend that fails is tried again until it does not; nothing is doubled by a response that was lost.
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

// While the backend is unavailable, statuses report so and are not written again and again.
func TestOutage(t *testing.T) {
	p := newPlane(t)
	if err := p.server.Inject(fake.Fault{Cut: fake.CutRequest}); err != nil {
		t.Fatal(err)
	}
	p.create(translation("chain", chain(chainID, "main")))
	p.settle(time.Hour)
	want(t, "chain", p.states("chain"), []string{"Chain Failed", "Synced=False Retrying"})
	if len(p.writes) > 2 {
		t.Errorf("writes in one hour: %v", p.writes)
	}
	if newEvents := p.newEvents(); newEvents != nil {
		t.Errorf("no user has to act: %v", newEvents)
	}
	p.server.Heal()
	p.settle(2 * time.Minute)
	want(t, "chain", p.states("chain"), append([]string{"Chain Synced"}, allSynced...))
}

// What the backend will never take stalls, is reported once, and blocks nothing else.
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
