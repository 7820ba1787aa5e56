// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// found returns the resources that a check through the tenant's network shows and that may be owned by Groundskeeper.
func (n *network) found() []string {
	n.t.Helper()
	var keys []string
	for queue := n.Roots(); len(queue) > 0; queue = queue[1:] {
		for _, o := range n.listed(queue[0]) {
			if !o.Foreign {
				keys = append(keys, o.String())
			}
			queue = append(queue, n.Children(o.Ref)...)
		}
	}
	slices.Sort(keys)
	return keys
}

// TestForeign checks that resources that another client or the server may have created are never considered Groundskeeper's, and
// that resources in a chain owned by Groundskeeper always are.
func TestForeign(t *testing.T) {
	n := newNetwork(t, midonet.Options{})
	n.fill()
	own := []string{
		"Bridge " + bridgeID, "Chain " + chainID, "Chain " + preID, "Port " + bPortID, "Port " + rPortID,
		"Route " + routeID, "Router " + routerID, "Rule " + ruleID,
	}
	slices.Sort(own)
	if diff := cmp.Diff(own, n.found()); diff != "" {
		t.Error(diff)
	}
	// The way out of the cluster: a port, its Local route, a route, a link. And another tenant's bridge.
	n.manually(http.MethodPost, "/routers/"+routerID+"/ports", "Port-v3", `{"id":"`+randomID+`","type":"Router","portSubnet":["172.16.0.2/30"]}`)
	n.manually(http.MethodPost, "/routers/"+routerID+"/routes", "Route-v1", `{"dstNetworkAddr":"0.0.0.0","dstNetworkLength":0,"srcNetworkAddr":"0.0.0.0","srcNetworkLength":0,"nextHopPort":"`+randomID+`","type":"Normal"}`)
	n.manually(http.MethodPost, "/routers/"+routerID+"/routes", "Route-v1", `{"id":"`+otherID+`","learned":true,"dstNetworkAddr":"10.0.0.0","dstNetworkLength":8,"srcNetworkAddr":"0.0.0.0","srcNetworkLength":0,"nextHopPort":"`+randomID+`","type":"Normal"}`)
	n.manually(http.MethodPost, "/bridges", "Bridge-v4", `{"id":"`+otherID+`","tenantId":"other"}`)
	if diff := cmp.Diff(own, n.found()); diff != "" {
		t.Errorf("what others made: %s", diff)
	}
	for _, kind := range []string{"TunnelZone", "TunnelZoneHost", "HostInterfacePort", "MACPort", "IPv4MACPair"} {
		c, _ := n.Collection(n.resolve(item(kind)))
		for _, o := range n.listed(c) {
			if !o.Foreign {
				t.Errorf("%s may be another client's", o)
			}
		}
	}
	// A chain of the tenant, a rule in one of Groundskeeper's chains, a port and a route with derived ids.
	for path, body := range map[string][2]string{
		"/chains":                          {"Chain-v1", `{"id":"` + randomID + `","tenantId":"midonetkube"}`},
		"/chains/" + preID + "/rules":      {"Rule-v2", `{"id":"` + randomID + `","type":"drop"}`},
		"/bridges/" + bridgeID + "/ports":  {"Port-v3", `{"id":"` + otherID + `","type":"Bridge"}`},
		"/routers/" + routerID + "/routes": {"Route-v1", `{"id":"` + zoneID + `","dstNetworkAddr":"10.3.0.0","dstNetworkLength":24,"srcNetworkAddr":"0.0.0.0","srcNetworkLength":0,"nextHopPort":"` + rPortID + `","type":"Normal"}`},
	} {
		n.manually(http.MethodPost, path, body[0], body[1])
	}
	own = append(own, "Chain "+randomID, "Rule "+randomID, "Port "+otherID, "Route "+zoneID)
	slices.Sort(own)
	if diff := cmp.Diff(own, n.found()); diff != "" {
		t.Errorf("what may be cleared away: %s", diff)
	}
}

// TestListWithoutParent checks that a list of a deleted parent returns NotFound.
func TestListWithoutParent(t *testing.T) {
	n := newNetwork(t, midonet.Options{})
	_, err := n.List(t.Context(), backend.Collection{Kind: "Rule", ParentKind: "Chain", Parent: chainID})
	wantReason(t, err, backend.NotFound, http.StatusNotFound, chainID)
}

// TestForeignRoute checks that a Local route belongs to the server, whatever its id.
func TestForeignRoute(t *testing.T) {
	for route, want := range map[string]bool{"Normal": false, "Local": true} {
		r := midonet.Resource{Ref: midonet.Ref{Kind: "Route", ID: routeID}, Body: []byte(`{"type":"` + route + `"}`)}
		if got := foreign(r); got != want {
			t.Errorf("a %s route is foreign: %v", route, got)
		}
	}
}
