// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// oracleHost is the host of the oracle's node.
const oracleHost = "44fb4381-c99d-4389-86c3-fdca765bcbde"

// oracle returns the resources of a node, a pod, a service, its endpoints and the globals, as midonet-kube-controllers
// makes them, with the fake's host. The Translations come in the worst order.
func (n *network) oracle() []backend.Resource {
	n.t.Helper()
	var resources []backend.Resource
	for _, name := range []string{"endpoints", "service", "pod", "node", "globals"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "convert", "testdata", name+".json"))
		if err != nil {
			n.t.Fatal(err)
		}
		var pair struct {
			Translations []midonetv1.Translation `json:"translations"`
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(content), oracleHost, hostID)), &pair); err != nil {
			n.t.Fatal(err)
		}
		for _, translation := range pair.Translations {
			for _, r := range translation.Resources {
				resources = append(resources, n.resolve(backend.Item(r)))
			}
		}
	}
	return resources
}

// byNeeds puts each resource behind those it needs, and otherwise leaves the order.
func byNeeds(t *testing.T, resources []backend.Resource) []backend.Resource {
	t.Helper()
	var sorted []backend.Resource
	landed := map[backend.Key]bool{}
	for left := resources; len(left) > 0; {
		var waiting []backend.Resource
		for _, r := range left {
			if slices.ContainsFunc(r.Needs, func(k backend.Key) bool { return !landed[k] }) {
				waiting = append(waiting, r)
				continue
			}
			sorted = append(sorted, r)
			landed[r.Key] = true
			for _, alias := range r.Aliases {
				landed[alias] = true
			}
		}
		if len(waiting) == len(left) {
			t.Fatalf("these need what does not exist: %v", waiting)
		}
		left = waiting
	}
	return sorted
}

// TestOracle checks that the network of the oracle is created in the order of its dependencies without a rejection, is in sync in
// every field and in the order of a working deployment, has no orphans, and is deleted without a rejection.
func TestOracle(t *testing.T) {
	n := newNetwork(t, midonet.Options{})
	resources := byNeeds(t, n.oracle())
	if len(resources) < 40 {
		t.Fatalf("only %d resources", len(resources))
	}
	writes := n.writes(func() {
		for _, r := range resources {
			position := 0
			if r.Ordered {
				position = 1
			}
			if err := n.Create(t.Context(), r, position); err != nil {
				t.Errorf("%s: %v", r, err)
			}
		}
	})
	if rejections := n.server.Rejections(); writes != len(resources) || len(rejections) > 0 {
		t.Errorf("%d writes for %d resources; rejected: %v", writes, len(resources), rejections)
	}
	var wanted []string
	order := map[backend.Collection][]string{}
	for _, r := range resources {
		have := n.get(r)
		if got := n.Differences(r, have); len(got) > 0 || have.Ref != r.Ref {
			t.Errorf("%s is at %v and differs in %v", r, have.Ref, got)
		}
		if !have.Foreign && r.Kind != "PortLink" {
			wanted = append(wanted, r.String())
		}
		if r.Ordered {
			c, _ := n.Collection(r)
			order[c] = slices.Insert(order[c], 0, r.ID) // each was made at the head
		}
	}
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, n.found()); diff != "" {
		t.Errorf("wanted and found: %s", diff)
	}
	for c, want := range order {
		var got []string
		for _, o := range n.listed(c) {
			got = append(got, o.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order in %v: %s", c, diff)
		}
	}
	n.server.ResetRequests()
	for _, r := range slices.Backward(resources) {
		if err := n.Delete(t.Context(), r.Ref); err != nil {
			t.Errorf("delete %s: %v", r, err)
		}
	}
	if rejections := n.server.Rejections(); len(rejections) > 0 {
		t.Errorf("rejected: %v", rejections)
	}
	for _, left := range n.server.Content() {
		if left.Kind != "Host" {
			t.Errorf("left: %v", left)
		}
	}
}

// BenchmarkResolve is what a start costs per resource, before any request to the backend.
func BenchmarkResolve(b *testing.B) {
	driver, items := New(nil, tenant), wanted()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		r, err := driver.Resolve(items[n%len(items)])
		if err != nil {
			b.Fatal(err)
		}
		driver.Collection(r)
	}
}
