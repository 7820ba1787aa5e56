// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// TestEveryKind checks that a resource of every kind can be created, read, listed and deleted.
func TestEveryKind(t *testing.T) {
	n := newNetwork(t, midonet.Options{})
	for _, i := range wanted() {
		r := n.resolve(i)
		if n.isThere(r) {
			t.Errorf("%s is there before it was made", r)
		}
		n.create(i)
		have := n.get(r)
		if have.Ref != r.Ref {
			t.Errorf("%s was read at %v", r, have.Ref)
		}
		if got := n.Differences(r, have); len(got) > 0 {
			t.Errorf("%s differs in %v: %s", r, got, have.Body)
		}
		c, listed := n.Collection(r)
		if listed == (r.Kind == "PortLink") {
			t.Errorf("%s: listed: %v", r, listed)
		}
		if listed {
			list := n.listed(c)
			at := slices.IndexFunc(list, func(o backend.Observed) bool { return o.Ref == r.Ref })
			if at < 0 {
				t.Fatalf("%s is not in %v", r, list)
			}
			if got := n.Differences(r, list[at]); len(got) > 0 {
				t.Errorf("%s differs in the list in %v: %s", r, got, list[at].Body)
			}
		}
	}
	for _, i := range slices.Backward(wanted()) {
		r := n.resolve(i)
		for range 2 { // deleting it again is not an error
			if err := n.Delete(t.Context(), r.Ref); err != nil {
				t.Errorf("delete %s: %v", r, err)
			}
		}
		if n.isThere(r) {
			t.Errorf("%s is there after it was deleted", r)
		}
	}
	for _, left := range n.server.Content() {
		if left.Kind != "Host" {
			t.Errorf("left: %v", left)
		}
	}
}

// TestManualChanges checks that changes by other clients are found by Get and List, and repaired by an update if the kind has one.
func TestManualChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   string
		change func(n *network)
		differ []string
	}{
		"tunnel zone": {"TunnelZone", func(n *network) {
			n.manually(http.MethodPut, "/tunnel_zones/"+zoneID, "TunnelZone-v1", `{"id":"`+zoneID+`","name":"mine","type":"vxlan"}`)
		}, []string{"name"}},
		"host of a zone": {"TunnelZoneHost", func(n *network) {
			n.manually(http.MethodDelete, "/tunnel_zones/"+zoneID+"/hosts/"+hostID, "TunnelZoneHost-v1", "")
			n.manually(http.MethodPost, "/tunnel_zones/"+zoneID+"/hosts", "TunnelZoneHost-v1", `{"hostId":"`+hostID+`","ipAddress":"192.168.10.12"}`)
		}, []string{"ipAddress"}},
		"router": {"Router", func(n *network) {
			n.manually(http.MethodPut, "/routers/"+routerID, "Router-v3", `{"tenantId":"midonetkube","name":"mine"}`)
		}, []string{"name"}},
		"bridge": {"Bridge", func(n *network) {
			n.manually(http.MethodPut, "/bridges/"+bridgeID, "Bridge-v4", `{"tenantId":"midonetkube","name":"node-a"}`)
		}, []string{"inboundFilterId"}},
		"port": {"Port", func(n *network) {
			n.manually(http.MethodPut, "/ports/"+rPortID, "Port-v3", `{"type":"Router","portSubnet":["10.1.0.2/24"]}`)
		}, []string{"portMac", "portSubnet"}},
		"link": {"PortLink", func(n *network) {
			n.manually(http.MethodPost, "/routers/"+routerID+"/ports", "Port-v3", `{"id":"`+randomID+`","type":"Router","portSubnet":["10.9.0.1/24"]}`)
			n.manually(http.MethodDelete, "/ports/"+bPortID+"/link", "PortLink-v1", "")
			n.manually(http.MethodPost, "/ports/"+bPortID+"/link", "PortLink-v1", `{"peerId":"`+randomID+`"}`)
		}, []string{"peerId"}},
		"route": {"Route", func(n *network) {
			n.manually(http.MethodDelete, "/routes/"+routeID, "Route-v1", "")
			n.manually(http.MethodPost, "/routers/"+routerID+"/routes", "Route-v1", `{"id":"`+routeID+`","dstNetworkAddr":"10.2.0.0","dstNetworkLength":24,"srcNetworkAddr":"0.0.0.0","srcNetworkLength":0,"nextHopPort":"`+rPortID+`","type":"Normal"}`)
		}, []string{"dstNetworkAddr"}},
		"rule": {"Rule", func(n *network) {
			n.manually(http.MethodDelete, "/rules/"+ruleID, "Rule-v2", "")
			n.manually(http.MethodPost, "/chains/"+chainID+"/rules", "Rule-v2", `{"id":"`+ruleID+`","type":"accept"}`)
		}, []string{"jumpChainId", "type"}},
		"rule in another chain": {"Rule", func(n *network) {
			n.manually(http.MethodDelete, "/rules/"+ruleID, "Rule-v2", "")
			n.manually(http.MethodPost, "/chains/"+preID+"/rules", "Rule-v2", item("Rule").Body)
		}, []string{"parent"}},
		"binding": {"HostInterfacePort", func(n *network) {
			n.manually(http.MethodDelete, "/hosts/"+hostID+"/ports/"+bPortID, "HostInterfacePort-v1", "")
			n.manually(http.MethodPost, "/hosts/"+hostID+"/ports", "HostInterfacePort-v1", `{"hostId":"`+hostID+`","portId":"`+bPortID+`","interfaceName":"mine"}`)
		}, []string{"interfaceName"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, midonet.Options{})
			n.fill()
			tc.change(n)
			r := n.resolve(item(tc.kind))
			if diff := cmp.Diff(tc.differ, n.Differences(r, n.get(r))); diff != "" {
				t.Error(diff)
			}
			if !r.Updatable {
				return
			}
			if err := n.Update(t.Context(), r); err != nil {
				t.Error(err)
			}
			if got := n.Differences(r, n.get(r)); len(got) > 0 {
				t.Errorf("after the update it differs in %v", got)
			}
		})
	}
}

// TestCascades checks that resources that the server deletes together with another one are found to be deleted.
func TestCascades(t *testing.T) {
	for name, tc := range map[string]struct {
		deleted string
		with    []string
	}{
		"bridge": {"Bridge", []string{"PortLink", "HostInterfacePort", "MACPort", "IPv4MACPair"}},
		"router": {"Router", []string{"Port", "PortLink", "Route"}},
		"port":   {"Port", []string{"PortLink", "Route"}},
		"chain":  {"Chain", []string{"Rule"}},
		"zone":   {"TunnelZone", []string{"TunnelZoneHost"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, midonet.Options{})
			n.fill()
			for _, kind := range tc.with {
				if !n.isThere(n.resolve(item(kind))) {
					t.Fatalf("%s does not exist", kind)
				}
			}
			if err := n.Delete(t.Context(), n.resolve(item(tc.deleted)).Ref); err != nil {
				t.Fatal(err)
			}
			for _, kind := range append(tc.with, tc.deleted) {
				if n.isThere(n.resolve(item(kind))) {
					t.Errorf("%s is still there", kind)
				}
			}
		})
	}
}

// TestPosition checks that a rule is created in its position.
func TestPosition(t *testing.T) {
	n := newNetwork(t, midonet.Options{})
	n.create(backend.Item{Kind: "Chain", Body: `{"id":"` + chainID + `","tenantId":"midonetkube"}`})
	rule := func(id string) backend.Resource {
		return n.resolve(backend.Item{Kind: "Rule", Parent: chainID, Body: `{"id":"` + id + `","type":"accept"}`})
	}
	for _, put := range []struct {
		id       string
		position int
	}{{ruleID, 1}, {otherID, 2}, {routeID, 2}} {
		if err := n.Create(t.Context(), rule(put.id), put.position); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := n.Collection(rule(ruleID))
	var order []string
	for _, o := range n.listed(c) {
		order = append(order, o.ID)
	}
	if diff := cmp.Diff([]string{ruleID, routeID, otherID}, order); diff != "" {
		t.Error(diff)
	}
	wantReason(t, n.Create(t.Context(), rule(bPortID), 9), backend.Refused, http.StatusBadRequest, "position 9")
}

// TestCollectionOfAnotherTenant checks that resources of another tenant are not in the lists, and are not expected there.
func TestCollectionOfAnotherTenant(t *testing.T) {
	b := New(nil, tenant)
	for body, listed := range map[string]bool{
		`{"id":"` + chainID + `","tenantId":"midonetkube"}`: true,
		`{"id":"` + chainID + `","tenantId":"other"}`:       false,
		`{"id":"` + chainID + `"}`:                          false,
	} {
		for _, kind := range []string{"Chain", "Router", "Bridge"} {
			r, err := b.Resolve(backend.Item{Kind: kind, Body: body})
			if err != nil {
				t.Fatal(err)
			}
			if c, got := b.Collection(r); got != listed || c != (backend.Collection{Kind: kind}) {
				t.Errorf("%s %s: listed in %v: %v", kind, body, c, got)
			}
		}
	}
	if _, listed := b.Collection(backend.Resource{Ref: backend.Ref{Key: backend.Key{Kind: "Unknown"}}, Body: json.RawMessage(`x`)}); listed {
		t.Error("an unknown kind has a list")
	}
}
