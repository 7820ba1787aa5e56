// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

func key(kind, id string) backend.Key { return backend.Key{Kind: kind, ID: id} }

func under(scope, kind, id string) backend.Key {
	return backend.Key{Kind: kind, Scope: scope, ID: id}
}

// TestResolve checks the dependencies, aliases and slots of each kind.
func TestResolve(t *testing.T) {
	b := New(nil, tenant)
	for name, tc := range map[string]struct {
		item backend.Item
		want backend.Resource
	}{
		"tunnel zone": {item("TunnelZone"), backend.Resource{Ref: backend.Ref{Key: key("TunnelZone", zoneID)}, Updatable: true}},
		"host of a tunnel zone": {item("TunnelZoneHost"), backend.Resource{
			Ref:     backend.Ref{Key: under(zoneID, "TunnelZoneHost", hostID), Parent: zoneID},
			Needs:   []backend.Key{key("TunnelZone", zoneID)},
			Aliases: []backend.Key{key(hostInZone, hostID)},
		}},
		"chain": {item("Chain"), backend.Resource{Ref: backend.Ref{Key: key("Chain", preID)}}},
		"router with filters": {
			backend.Item{Kind: "Router", Body: `{"id":"` + routerID + `",` + field("inboundFilterId", chainID) + `,` + field("outboundFilterId", preID) + `}`},
			backend.Resource{
				Ref:   backend.Ref{Key: key("Router", routerID)},
				Needs: []backend.Key{key("Chain", chainID), key("Chain", preID)}, Updatable: true,
			}},
		"bridge": {item("Bridge"), backend.Resource{
			Ref: backend.Ref{Key: key("Bridge", bridgeID)}, Needs: []backend.Key{key("Chain", chainID)}, Updatable: true,
		}},
		"port of a bridge": {
			backend.Item{Kind: "Port", Parent: bridgeID, Body: `{"id":"` + bPortID + `","type":"Bridge",` + field("outboundFilterId", strings.ToUpper(chainID)) + `}`},
			backend.Resource{
				Ref:   backend.Ref{Key: key("Port", bPortID), Parent: bridgeID},
				Needs: []backend.Key{key("Bridge", bridgeID), key("Chain", chainID)}, Updatable: true,
			}},
		"port of a router": {item("Port"), backend.Resource{
			Ref: backend.Ref{Key: key("Port", rPortID), Parent: routerID}, Needs: []backend.Key{key("Router", routerID)}, Updatable: true,
		}},
		"link": {item("PortLink"), backend.Resource{
			Ref:   backend.Ref{Key: under(bPortID, "PortLink", ""), Parent: bPortID},
			Needs: []backend.Key{key("Port", bPortID), key("Port", rPortID)},
			Slots: []string{"link of Port " + bPortID, "link of Port " + rPortID},
		}},
		"route": {item("Route"), backend.Resource{
			Ref:   backend.Ref{Key: key("Route", routeID), Parent: routerID},
			Needs: []backend.Key{key("Router", routerID), key("Port", rPortID)}, Doubles: true,
		}},
		"rule that jumps": {item("Rule"), backend.Resource{
			Ref:   backend.Ref{Key: key("Rule", ruleID), Parent: chainID},
			Needs: []backend.Key{key("Chain", chainID), key("Chain", preID)}, Ordered: true, Doubles: true,
		}},
		"rule that does not": {
			backend.Item{Kind: "Rule", Parent: chainID, Body: `{"id":"` + ruleID + `","type":"accept"}`},
			backend.Resource{
				Ref:   backend.Ref{Key: key("Rule", ruleID), Parent: chainID},
				Needs: []backend.Key{key("Chain", chainID)}, Ordered: true, Doubles: true,
			}},
		"binding": {item("HostInterfacePort"), backend.Resource{
			Ref:   backend.Ref{Key: under(hostID, "HostInterfacePort", bPortID), Parent: hostID},
			Needs: []backend.Key{key("Port", bPortID), key(hostInZone, hostID)},
			Slots: []string{"binding of Port " + bPortID, "interface midokube-mido of Host " + hostID},
		}},
		"entry of a MAC table": {item("MACPort"), backend.Resource{
			Ref:   backend.Ref{Key: under(bridgeID, "MACPort", "ac-ca-ba-00-00-11_"+bPortID), Parent: bridgeID},
			Needs: []backend.Key{key("Bridge", bridgeID), key("Port", bPortID)},
		}},
		"entry of an ARP table": {item("IPv4MACPair"), backend.Resource{
			Ref:   backend.Ref{Key: under(bridgeID, "IPv4MACPair", "10.1.0.2_ac-ca-ba-00-00-11"), Parent: bridgeID},
			Needs: []backend.Key{key("Bridge", bridgeID)},
		}},
		"unknown field": {
			backend.Item{Kind: "Chain", Body: `{"new":[1.50],"id":"` + chainID + `"}`},
			backend.Resource{Ref: backend.Ref{Key: key("Chain", chainID)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := b.Resolve(tc.item)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Body = []byte(tc.item.Body) // byte for byte
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			located, err := b.Locate(got.Kind, got.Parent, got.ID)
			if err != nil || located != got.Ref {
				t.Errorf("it is at %v, a status finds %v, %v", got.Ref, located, err)
			}
		})
	}
}

func TestResolveRejects(t *testing.T) {
	b := New(nil, tenant)
	for name, tc := range map[string]struct {
		item    backend.Item
		unknown bool
		text    string
	}{
		"unknown kind":           {backend.Item{Kind: "LoadBalancer", Body: `{}`}, true, `"LoadBalancer"`},
		"host":                   {backend.Item{Kind: "Host", Body: `{"id":"` + hostID + `"}`}, true, "cannot be made"},
		"no JSON":                {backend.Item{Kind: "Chain", Body: `{"id":}`}, false, "body of Chain"},
		"empty":                  {backend.Item{Kind: "Chain"}, false, "body of Chain"},
		"a list":                 {backend.Item{Kind: "Chain", Body: `[]`}, false, "body of Chain"},
		"no id":                  {backend.Item{Kind: "Chain", Body: `{}`}, false, "id"},
		"a wrong type":           {backend.Item{Kind: "Chain", Body: `{"id":7}`}, false, "id"},
		"a parent too many":      {backend.Item{Kind: "Chain", Parent: bridgeID, Body: `{"id":"` + chainID + `"}`}, false, "parent"},
		"no parent":              {backend.Item{Kind: "Rule", Body: `{"id":"` + ruleID + `"}`}, false, "parent"},
		"a port of what":         {backend.Item{Kind: "Port", Parent: bridgeID, Body: `{"id":"` + bPortID + `"}`}, false, "type"},
		"a port of a host":       {backend.Item{Kind: "Port", Parent: bridgeID, Body: `{"id":"` + bPortID + `","type":"Host"}`}, false, "parent of kind Host"},
		"a binding of two hosts": {backend.Item{Kind: "HostInterfacePort", Parent: otherID, Body: item("HostInterfacePort").Body}, false, "hostId"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Resolve(tc.item)
			if err == nil || errors.Is(err, backend.ErrUnknownKind) != tc.unknown || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v; want %q, of unknown kind: %v", err, tc.text, tc.unknown)
			}
		})
	}
}

func TestLocateRejects(t *testing.T) {
	b := New(nil, tenant)
	for name, ref := range map[string][3]string{
		"unknown kind":      {"LoadBalancer", "", chainID},
		"host":              {"Host", "", hostID},
		"no id":             {"Chain", "", ""},
		"a way out":         {"Chain", "", ".."},
		"a parent too many": {"Chain", bridgeID, chainID},
		"no parent":         {"Rule", "", ruleID},
		"no port":           {"PortLink", "", ""},
	} {
		if got, err := b.Locate(ref[0], ref[1], ref[2]); err == nil {
			t.Errorf("%s: found at %v", name, got)
		}
	}
}
