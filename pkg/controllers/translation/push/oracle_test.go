// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// oracleHost is the host of the oracle's node.
const oracleHost = "44fb4381-c99d-4389-86c3-fdca765bcbde"

// oracle returns the Translations of a node, a Pod, a Service, its endpoints and the cluster, in one namespace, dependencies first.
func oracle(t *testing.T) (translations []*midonetv1.Translation, resources int) {
	t.Helper()
	for _, name := range []string{"endpoints", "service", "pod", "node", "globals"} {
		content, err := os.ReadFile(filepath.Join("..", "convert", "testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var pair struct {
			Translations []*midonetv1.Translation `json:"translations"`
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(content), oracleHost, fake.HostID("node-a"))), &pair); err != nil {
			t.Fatal(err)
		}
		for _, tr := range pair.Translations {
			tr.Namespace, tr.Generation, tr.OwnerReferences = "default", 1, nil
			tr.CreationTimestamp = metav1.NewTime(start)
			resources += len(tr.Resources)
			translations = append(translations, tr)
		}
	}
	return translations, resources
}

func (p *plane) allSynced(translations []*midonetv1.Translation) {
	p.t.Helper()
	for _, tr := range translations {
		if states := p.states(tr.Name); states[len(states)-1] != allSynced[0] {
			p.t.Errorf("%s: %v", tr.Name, states)
		}
	}
}

// TestOracle checks that a whole cluster is created without a rejection, with one request per resource and one status update per
// Translation, in the rule order of a working deployment; that a restart causes no writes; and that a concurrent deletion of
// everything leaves nothing.
func TestOracle(t *testing.T) {
	p := newPlane(t)
	translations, resources := oracle(t)
	p.create(translations...)
	p.settle(time.Minute)
	p.allSynced(translations)
	p.noRejections()
	if writes := p.server.Writes(); writes != resources {
		t.Errorf("%d requests for %d resources", writes, resources)
	}
	if p.Count() != len(translations) {
		t.Errorf("%d writes of the status of %d Translations", p.Count(), len(translations))
	}
	order := map[string][]string{}
	for _, i := range p.server.Content() {
		if i.Kind == "Rule" {
			order[i.Parent] = append(order[i.Parent], i.Body["type"].(string))
		}
	}
	var seen []string
	for _, types := range order {
		seen = append(seen, strings.Join(types, ","))
	}
	for _, want := range []string{"jump,jump", "rev_snat,rev_dnat", "snat,dnat"} {
		if !strings.Contains(strings.Join(seen, " "), want) {
			t.Errorf("no chain has the rules %s: %v", want, seen)
		}
	}
	p.restart()
	p.settle(time.Hour)
	if report := p.drift(); report.Drifted+report.Orphans > 0 || p.server.Writes() > 0 || p.Count() > 0 {
		t.Errorf("after a restart: %+v, %d writes, %v", report, p.server.Writes(), p.Writes())
	}
	for _, tr := range translations {
		p.delete(tr.Name)
	}
	p.settle(10 * time.Minute)
	want(t, "backend", p.content(), nil)
	for _, tr := range translations {
		want(t, tr.Name, p.states(tr.Name), []string{"gone"})
	}
	p.noRejections()
}

// TestTakeOver checks that a network that midonet-kube-controllers created is adopted: correct resources are not written, and wrong
// ones (its endpoint bug sets a wrong target in a rule) are repaired in their position.
func TestTakeOver(t *testing.T) {
	p := newPlane(t)
	translations, _ := oracle(t)
	p.create(translations...)
	p.settle(time.Minute)
	right := p.server.Content()

	// The content is created in the order of midonet-kube-controllers: that of the lists, each at the head.
	p.server.Reset()
	var bugs int
	connection, err := midonet.New(midonet.Options{URL: p.url, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := midonetbackend.New(connection, "midonetkube")
	var left []backend.Item
	for _, tr := range translations {
		for _, r := range tr.Resources {
			if strings.Contains(r.Body, `"dnat"`) && !strings.Contains(r.Body, "rev_dnat") && bugs == 0 {
				r.Body, bugs = strings.ReplaceAll(r.Body, `"addressFrom":"10.`, `"addressFrom":"11.`), bugs+1
			}
			left = append(left, backend.Item(r))
		}
	}
	for len(left) > 0 {
		var later []backend.Item
		for _, i := range left {
			r, err := b.Resolve(i)
			if err != nil {
				t.Fatal(err)
			}
			if b.Create(t.Context(), r, 0) != nil {
				later = append(later, i)
			}
		}
		if len(later) == len(left) {
			t.Fatalf("these cannot be made: %v", later)
		}
		left = later
	}

	p.store = newStore(t)
	p.restart()
	translations, _ = oracle(t)
	p.create(translations...)
	p.settle(10 * time.Minute)
	p.allSynced(translations)
	if diff := cmp.Diff(withoutDefaults(right), withoutDefaults(p.server.Content())); diff != "" {
		t.Errorf("(-right +taken over): %s", diff)
	}
	made, deleted := 0, 0
	for c, n := range p.server.Requests() {
		switch {
		case c.Method == http.MethodPost && c.Code == 201:
			made += n
		case c.Method == http.MethodDelete:
			deleted += n
		}
	}
	if bugs != 1 || made != 2 || deleted != 2 { // the copy and the rule
		t.Errorf("%d mistakes; %d made and %d deleted", bugs, made, deleted)
	}
}

// withoutDefaults removes the fields that the server chose.
func withoutDefaults(items []fake.Item) []fake.Item {
	var kept []fake.Item
	for _, i := range items {
		if i.Body["type"] == midonet.LocalRoute {
			continue
		}
		delete(i.Body, "tunnelKey")
		kept = append(kept, i)
	}
	return kept
}
