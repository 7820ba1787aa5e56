// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

var allSynced = []string{"Synced=True Synced"}

func want(t *testing.T, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// noRejections fails if the backend rejected a request.
func (p *plane) noRejections() {
	p.t.Helper()
	if rejections := p.server.Rejections(); len(rejections) > 0 {
		p.t.Errorf("rejected: %v", rejections)
	}
}

// TestCreate checks that the resources of Translations are created in whatever order they arrive, with one status update each.
func TestCreate(t *testing.T) {
	p := newPlane(t)
	p.create(translation("a-port", port()), translation("b-bridge", bridge()),
		translation("c-chain", chain(chainID, "main"), rule(ruleID, "accept"), rule(rule2ID, "drop")))
	p.settle(time.Minute)
	p.noRejections()
	want(t, "backend", p.content(), []string{"Bridge " + bridgeID, "Chain " + chainID, "Port " + portID, "Rule " + rule2ID, "Rule " + ruleID})
	want(t, "port", p.states("a-port"), append([]string{"Port Synced"}, allSynced...))
	want(t, "chain", p.states("c-chain"), append([]string{"Chain Synced", "Rule Synced", "Rule Synced"}, allSynced...))
	if p.server.Writes() != 5 || p.Count() != 3 {
		t.Errorf("%d requests for 5 resources, and %v", p.server.Writes(), p.Writes())
	}
	if newEvents := p.newEvents(); newEvents != nil {
		t.Errorf("events: %v", newEvents)
	}
	if tr := p.read("c-chain"); tr.Status.ObservedGeneration != tr.Generation {
		t.Errorf("generation %d, observed %d", tr.Generation, tr.Status.ObservedGeneration)
	}
}

// TestWaiting checks that a resource is Pending until its dependencies exist, and is created then.
func TestWaiting(t *testing.T) {
	p := newPlane(t)
	p.create(translation("a-port", port()), translation("b-bridge", bridge()))
	p.settle(4 * time.Second)
	want(t, "port", p.states("a-port"), []string{"Port Pending", "Synced=False Waiting"})
	p.create(translation("c-chain", chain(chainID, "main")))
	p.settle(time.Minute)
	want(t, "port", p.states("a-port"), append([]string{"Port Synced"}, allSynced...))
	p.noRejections()
}

// TestRestart checks that a restart causes no requests to the backend and no writes to the API server.
func TestRestart(t *testing.T) {
	p := newPlane(t)
	p.create(translation("chain", chain(chainID, "main"), rule(ruleID, "accept")), translation("bridge", bridge(), port()))
	p.settle(time.Minute)
	p.restart()
	p.settle(time.Hour)
	if requests := p.server.Requests(); len(requests) > 0 || p.Count() > 0 {
		t.Errorf("requests %v, writes %v", requests, p.Writes())
	}
	if report := p.drift(); report.Drifted > 0 || report.Orphans > 0 || p.server.Writes() > 0 {
		t.Errorf("a reconciliation over what is in sync: %+v, %d writes", report, p.server.Writes())
	}
}

// TestUpdate checks that resources that are removed from a Translation are deleted, and changed ones updated.
func TestUpdate(t *testing.T) {
	p := newPlane(t)
	p.create(translation("chain", chain(chainID, "main"), chain(preID, "pre")), translation("bridge", bridge()))
	p.settle(time.Minute)
	p.change("chain", func(tr *midonetv1.Translation) {
		tr.Resources = []midonetv1.BackendResource{chain(chainID, "main"), rule(ruleID, "drop")}
	})
	p.change("bridge", func(tr *midonetv1.Translation) {
		tr.Resources[0].Body = strings.ReplaceAll(tr.Resources[0].Body, "node-a", "node-b")
	})
	p.settle(time.Minute)
	want(t, "backend", p.content(), []string{"Bridge " + bridgeID, "Chain " + chainID, "Rule " + ruleID})
	want(t, "chain", p.states("chain"), append([]string{"Chain Synced", "Rule Synced"}, allSynced...))
	if !strings.Contains(p.server.Listing(), "node-b") {
		t.Error("the bridge has its old name")
	}
}

// TestDelete checks that the resources of a deleted Translation are deleted in an order that the backend accepts, before the
// finalizer is removed.
func TestDelete(t *testing.T) {
	p := newPlane(t)
	p.create(translation("chain", chain(chainID, "main"), rule(ruleID, "accept")), translation("bridge", bridge()), translation("port", port()))
	p.settle(time.Minute)
	p.ResetLog()
	for _, name := range []string{"chain", "bridge", "port"} {
		p.delete(name)
	}
	p.settle(time.Minute)
	want(t, "backend", p.content(), nil)
	for _, name := range []string{"chain", "bridge", "port"} {
		want(t, name, p.states(name), []string{"gone"})
	}
	for _, write := range p.Writes() {
		if strings.HasPrefix(write, "status") {
			t.Errorf("a status was written for what is deleted immediately: %v", p.Writes())
		}
	}
	p.noRejections()
}

// TestDeleteWhileDown covers a Translation that was deleted while no pusher ran, and one whose finalizer a user removed to keep its
// resources.
func TestDeleteWhileDown(t *testing.T) {
	p := newPlane(t)
	kept := translation("kept", chain(preID, "pre"))
	kept.Finalizers = append(kept.Finalizers, "foreign")
	p.create(translation("chain", chain(chainID, "main")), kept)
	p.settle(time.Minute)
	p.delete("chain")
	p.delete("kept")
	p.change("kept", func(tr *midonetv1.Translation) { tr.Finalizers = []string{"foreign"} })
	p.restart()
	p.settle(time.Minute)
	want(t, "backend", p.content(), []string{"Chain " + preID})
	want(t, "chain", p.states("chain"), []string{"gone"})
}

// TestConflict checks that the older of two Translations wins a resource, that the other one reports the conflict, and that it
// takes over after the deletion of the older one.
func TestConflict(t *testing.T) {
	p := newPlane(t)
	younger := translation("younger", chain(chainID, "theirs"))
	younger.CreationTimestamp.Time = start
	p.create(translation("older", chain(chainID, "ours")), younger)
	p.settle(time.Minute)
	want(t, "younger", p.states("younger"), []string{"Chain Failed", "Synced=False Conflict", "Stalled=True Conflict"})
	if !strings.Contains(p.server.Listing(), "ours") {
		t.Error("the younger one has it")
	}
	p.delete("older")
	p.settle(time.Minute)
	want(t, "younger", p.states("younger"), append([]string{"Chain Synced"}, allSynced...))
	if !strings.Contains(p.server.Listing(), "theirs") {
		t.Error("the chain is still the older one's")
	}
}

// TestVersionChange checks that a Translation of a new version takes over, and that the old one is deleted without a request.
func TestVersionChange(t *testing.T) {
	p := newPlane(t)
	owned := func(name string) *midonetv1.Translation {
		tr := translation(name, chain(chainID, "main"), rule(ruleID, "accept"))
		tr.Labels = map[string]string{midonetv1.LabelOwnerUID: "owner"}
		return tr
	}
	p.create(owned("chain.3.a"))
	p.settle(time.Minute)
	p.server.ResetRequests()
	p.create(owned("chain.4.a"))
	p.settle(time.Minute)
	p.delete("chain.3.a")
	p.settle(time.Minute)
	want(t, "old", p.states("chain.3.a"), []string{"gone"})
	want(t, "new", p.states("chain.4.a"), append([]string{"Chain Synced", "Rule Synced"}, allSynced...))
	if n := p.server.Writes(); n > 0 {
		t.Errorf("%d writes", n)
	}
}

// TestRecordOfAnotherBackend checks that a record of another backend's resource, left in the status by an update, is removed
// without a request to this backend.
func TestRecordOfAnotherBackend(t *testing.T) {
	p := newPlane(t)
	tr := translation("chain", chain(chainID, "main"))
	tr.Status.Resources = []midonetv1.BackendResourceStatus{{Kind: "LogicalRouter", ID: preID, State: midonetv1.BackendResourceDeleting}}
	p.create(tr)
	p.settle(time.Minute)
	want(t, "chain", p.states("chain"), append([]string{"Chain Synced"}, allSynced...))
	if got := p.server.Writes(); got != 1 {
		t.Errorf("writes = %d, want 1", got)
	}
}
