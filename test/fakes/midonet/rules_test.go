// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import "testing"

// TestRules checks that each rule of the real server is enforced, with the request and the code of the response.
func TestRules(t *testing.T) {
	hostA, hostB := HostID("node-a"), HostID("node-b")
	jump := `{"type":"jump","jumpChainId":"` + target + `"`
	nat := `{"type":"dnat","flowAction":"accept","natTargets":[{"addressFrom":"10.1.0.7","addressTo":"10.1.0.7","portFrom":53,"portTo":53}]}`
	binding := `{"hostId":"` + hostA + `","portId":"` + bPort + `","interfaceName":"mido0"}`
	mac := `{"macAddr":"0a:58:0a:01:00:05","portId":"` + bPort + `"}`
	macPath := "/bridges/" + bridge + "/mac_table"
	arp := `{"ip":"10.1.0.5","mac":"0a:58:0a:01:00:05"}`
	arpPath := "/bridges/" + bridge + "/arp_table"
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		// Media types.
		{"POST without a media type is 406", []step{{"POST", "/chains", `{}`, 406, "none"}}},
		{"POST with another kind's media type is 406", []step{{"POST", "/chains", `{}`, 406, vendor("Router-v3")}}},
		{"POST with an older version is 406", []step{{"POST", "/routers", `{}`, 406, vendor("Router-v2")}}},
		{"POST of plain JSON", []step{{"POST", "/chains", `{}`, 201, "application/json"}}},
		{"a parameter is not the same to a kind that is compared by letter", []step{{"POST", "/chains", `{}`, 406, "application/json; charset=utf-8"}}},
		{"PUT with a wrong media type is 406", []step{{"PUT", "/bridges/" + bridge, `{}`, 406, vendor("Bridge-v3")}}},
		{"link with a wrong media type is 415", []step{{"POST", "/ports/" + bPort + "/link", `{}`, 415, vendor("Port-v3")}}},
		{"link of plain JSON", []step{{"POST", "/ports/" + bPort + "/link", `{"peerId":"` + rPort + `"}`, 201, "application/json"}}},
		{"binding with a wrong media type is 415", []step{{"POST", "/hosts/" + hostA + "/ports", binding, 415, "none"}}},
		{"MAC entry with a wrong media type is 415", []step{{"POST", macPath, mac, 415, vendor("MacPort-v1")}}},
		{"MAC entry, upper or lower case", []step{{"POST", macPath, mac, 201, vendor("MacPort-v2")}}},
		{"MAC entry of plain JSON", []step{{"POST", macPath, mac, 201, "application/json; charset=utf-8"}}},
		{"ARP entry of plain JSON is 415", []step{{"POST", arpPath, arp, 415, "application/json"}}},
		{"host of a zone as plain JSON is 415", []step{{"POST", "/tunnel_zones/" + zone + "/hosts", `{}`, 415, "application/json"}}},
		{"GET without Accept is 406", []step{{"GET", "/chains/" + chain, "", 406, "none"}}},
		{"list without Accept is 406", []step{{"GET", "/chains", "", 406, "none"}}},
		{"list that accepts an item is 406", []step{{"GET", "/chains", "", 406, vendor("Chain-v1")}}},
		{"GET that accepts anything is 406", []step{{"GET", "/chains/" + chain, "", 406, "*/*"}}},
		{"GET of an ARP entry without Accept is 406", []step{{"GET", arpPath, "", 406, "none"}}},

		// Bodies.
		{"broken JSON is 400", []step{{"POST", "/chains", `{"id":`, 400, ""}}},
		{"a list is 400", []step{{"POST", "/chains", `[]`, 400, ""}}},
		{"null is 400", []step{{"POST", "/chains", `null`, 400, ""}}},
		{"two objects are 400", []step{{"POST", "/chains", `{}{}`, 400, ""}}},
		{"an unknown field is 400", []step{{"POST", "/chains", `{"nam":"x"}`, 400, ""}}},
		{"a field in other case is 400", []step{{"POST", "/chains", `{"Name":"x"}`, 400, ""}}},
		{"a field of a wrong type is 400", []step{{"POST", "/chains", `{"name":1}`, 400, ""}}},
		{"an id that is no UUID is 400", []step{{"POST", "/chains", `{"id":"x"}`, 400, ""}}},
		{"null is as good as absent", []step{{"POST", "/chains", `{"name":null}`, 201, ""}}},
		{"a body without id gets one", []step{{"POST", "/bridges", `{}`, 201, ""}}},

		// Paths and methods.
		{"an unknown path is 404", []step{{"GET", "/chain", "", 404, ""}}},
		{"a method that there is none of is 405", []step{{"DELETE", "/chains", "", 405, ""}}},
		{"a link cannot be read", []step{{"GET", "/ports/" + bPort + "/link", "", 405, ""}}},
		{"a chain has no PUT", []step{{"PUT", "/chains/" + chain, `{}`, 406, ""}}},
		{"a rule has no PUT", []step{{"PUT", "/rules/" + rule, `{}`, 406, ""}}},
		{"a route has no PUT", []step{{"PUT", "/routes/" + route, `{}`, 406, ""}}},
		{"a MAC entry has no PUT", []step{{"PUT", macPath + "/x", `{}`, 406, ""}}},
		{"a binding has no PUT", []step{{"PUT", "/hosts/" + hostA + "/ports/" + bPort, `{}`, 406, ""}}},
		{"a link has no PUT", []step{{"PUT", "/ports/" + bPort + "/link", `{}`, 405, ""}}},

		// Ids and references.
		{"an id that is taken is 409", []step{
			{"POST", "/chains", `{"id":"` + chain + `"}`, 409, ""}, {"POST", "/routers", `{"id":"` + router + `"}`, 409, ""},
			{"POST", "/bridges", `{"id":"` + bridge + `"}`, 409, ""}, {"POST", "/bridges/" + bridge + "/ports", `{"id":"` + bPort + `","type":"Bridge"}`, 409, ""},
			{"POST", "/routers/" + router + "/routes", routeBody(route, rPort), 409, ""}, {"POST", "/chains/" + chain + "/rules", jump + `,"id":"` + rule + `"}`, 409, ""},
		}},
		{"a parent that is missing is 404", []step{
			{"POST", "/chains/" + fresh + "/rules", jump + "}", 404, ""}, {"POST", "/bridges/" + fresh + "/ports", `{"type":"Bridge"}`, 404, ""},
			{"POST", "/routers/" + fresh + "/ports", `{"type":"Router","portSubnet":["10.1.0.1/24"]}`, 404, ""}, {"POST", "/routers/" + fresh + "/routes", routeBody(fresh, rPort), 404, ""},
			{"POST", "/tunnel_zones/" + fresh + "/hosts", `{"hostId":"` + hostA + `","ipAddress":"192.0.2.1"}`, 404, ""}, {"POST", "/hosts/" + fresh + "/ports", binding, 404, ""},
			{"POST", "/bridges/" + fresh + "/mac_table", mac, 404, ""}, {"POST", "/ports/" + fresh + "/link", `{"peerId":"` + rPort + `"}`, 404, ""},
		}},
		{"lists of a missing parent are 404", []step{
			{"GET", "/chains/" + fresh + "/rules", "", 404, ""}, {"GET", "/hosts/" + fresh + "/ports", "", 404, ""}, {"GET", "/bridges/" + fresh + "/arp_table", "", 404, ""},
		}},
		{"a filter that is missing is 404", []step{
			{"POST", "/bridges", `{"inboundFilterId":"` + fresh + `"}`, 404, ""}, {"PUT", "/bridges/" + bridge, `{"outboundFilterId":"` + fresh + `"}`, 404, ""},
			{"POST", "/bridges/" + bridge + "/ports", `{"type":"Bridge","outboundFilterId":"` + fresh + `"}`, 404, ""},
		}},
		{"a jump to a missing chain is 404", []step{{"POST", "/chains/" + chain + "/rules", `{"type":"jump","jumpChainId":"` + fresh + `"}`, 404, ""}}},
		{"GET and PUT of what is missing is 404", []step{
			{"GET", "/bridges/" + fresh, "", 404, ""}, {"PUT", "/bridges/" + fresh, `{}`, 404, ""}, {"PUT", "/tunnel_zones/" + fresh, `{"name":"DefaultTunnelZone","type":"gre"}`, 404, ""},
		}},

		// Zones and hosts.
		{"the name of a zone is unique", []step{{"POST", "/tunnel_zones", `{"name":"DefaultTunnelZone","type":"gre"}`, 409, ""}}},
		{"a zone's own name is in use, too", []step{{"PUT", "/tunnel_zones/" + zone, `{"name":"DefaultTunnelZone","type":"vxlan"}`, 409, ""}}},
		{"a zone with another name", []step{{"PUT", "/tunnel_zones/" + zone, `{"name":"b","type":"vxlan"}`, 204, ""}}},
		{"a zone of an unknown type is 400", []step{{"POST", "/tunnel_zones", `{"name":"b","type":"ipsec"}`, 400, ""}}},
		{"a zone needs a name", []step{{"POST", "/tunnel_zones", `{"type":"gre"}`, 400, ""}, {"PUT", "/tunnel_zones/" + zone, `{"type":"gre"}`, 400, ""}}},
		{"a host that is in the zone is 409", []step{{"POST", "/tunnel_zones/" + zone + "/hosts", `{"hostId":"` + hostA + `","ipAddress":"192.0.2.9"}`, 409, ""}}},
		{"a host that is missing is 404", []step{{"POST", "/tunnel_zones/" + zone + "/hosts", `{"hostId":"` + fresh + `","ipAddress":"192.0.2.9"}`, 404, ""}}},
		{"a tunnel ends at an IPv4 address", []step{{"POST", "/tunnel_zones/" + zone + "/hosts", `{"hostId":"` + hostB + `","ipAddress":"2001:db8::1"}`, 400, ""}}},
		{"a binding on a host in no zone is 409", []step{{"POST", "/hosts/" + hostB + "/ports", binding, 409, ""}}},
		{"a port that is bound is 409", []step{{"POST", "/hosts/" + hostA + "/ports", binding, 201, ""}, {"POST", "/hosts/" + hostA + "/ports", `{"portId":"` + bPort + `","interfaceName":"b"}`, 409, ""}}},
		{"an interface that is in use is 409", []step{{"POST", "/hosts/" + hostA + "/ports", binding, 201, ""}, {"POST", "/hosts/" + hostA + "/ports", `{"portId":"` + oPort + `","interfaceName":"mido0"}`, 409, ""}}},
		{"a binding of a missing port is 404", []step{{"POST", "/hosts/" + hostA + "/ports", `{"portId":"` + fresh + `","interfaceName":"b"}`, 404, ""}}},
		{"a binding can be read and ended", []step{
			{"POST", "/hosts/" + hostA + "/ports", binding, 201, ""}, {"GET", "/hosts/" + hostA + "/ports/" + bPort, "", 200, ""}, {"GET", "/hosts/" + hostB + "/ports/" + bPort, "", 404, ""},
			{"DELETE", "/hosts/" + hostA + "/ports/" + bPort, "", 204, ""}, {"GET", "/hosts/" + hostA + "/ports/" + bPort, "", 404, ""}, {"POST", "/hosts/" + hostA + "/ports", binding, 201, ""},
		}},

		// Ports, links, routes.
		{"a port of the wrong type is 400", []step{{"POST", "/bridges/" + bridge + "/ports", `{"type":"Router"}`, 400, ""}, {"POST", "/routers/" + router + "/ports", `{"type":"Bridge"}`, 400, ""}, {"PUT", "/ports/" + bPort, `{"type":"Router"}`, 400, ""}}},
		{"a router's port needs a subnet", []step{{"POST", "/routers/" + router + "/ports", `{"type":"Router"}`, 400, ""}, {"POST", "/routers/" + router + "/ports", `{"type":"Router","portSubnet":["10.1.0.1"]}`, 400, ""}}},
		{"ports that have a peer are 409", []step{{"POST", "/ports/" + bPort + "/link", `{"portId":null,"peerId":"` + rPort + `"}`, 201, ""}, {"POST", "/ports/" + bPort + "/link", `{"peerId":"` + rPort + `"}`, 409, ""}, {"POST", "/ports/" + oPort + "/link", `{"peerId":"` + rPort + `"}`, 409, ""}}},
		{"a port cannot be linked to itself", []step{{"POST", "/ports/" + bPort + "/link", `{"peerId":"` + bPort + `"}`, 409, ""}}},
		{"a peer that is missing is 404", []step{{"POST", "/ports/" + bPort + "/link", `{"peerId":"` + fresh + `"}`, 404, ""}}},
		{"a link ends at both ports", []step{{"POST", "/ports/" + bPort + "/link", `{"peerId":"` + rPort + `"}`, 201, ""}, {"DELETE", "/ports/" + rPort + "/link", "", 204, ""}, {"POST", "/ports/" + bPort + "/link", `{"peerId":"` + rPort + `"}`, 201, ""}}},
		{"a next hop that is missing is 400", []step{{"POST", "/routers/" + router + "/routes", routeBody(fresh, fresh), 400, ""}}},
		{"a next hop on a bridge is 400", []step{{"POST", "/routers/" + router + "/routes", routeBody(fresh, bPort), 400, ""}}},
		{"a route is IPv4", []step{{"POST", "/routers/" + router + "/routes", `{"dstNetworkAddr":"2001:db8::","srcNetworkAddr":"0.0.0.0","type":"Reject"}`, 400, ""}}},

		// Rules.
		{"a position beyond the end is 400", []step{{"POST", "/chains/" + chain + "/rules", jump + `,"position":3}`, 400, ""}}},
		{"the position behind the last", []step{{"POST", "/chains/" + chain + "/rules", jump + `,"position":2}`, 201, ""}}},
		{"position 0 is 400", []step{{"POST", "/chains/" + chain + "/rules", jump + `,"position":0}`, 400, ""}}},
		{"a rule of an unknown type is 400", []step{{"POST", "/chains/" + chain + "/rules", `{"type":"hop"}`, 400, ""}}},
		{"a rule needs a type", []step{{"POST", "/chains/" + chain + "/rules", `{}`, 400, ""}}},
		{"a jump needs a chain", []step{{"POST", "/chains/" + chain + "/rules", `{"type":"jump"}`, 400, ""}}},
		{"a dnat", []step{{"POST", "/chains/" + chain + "/rules", nat, 201, ""}}},
		{"a dnat needs targets and an action", []step{{"POST", "/chains/" + chain + "/rules", `{"type":"dnat","flowAction":"accept"}`, 400, ""}, {"POST", "/chains/" + chain + "/rules", `{"type":"rev_dnat"}`, 400, ""}}},
		{"a target has all of its fields", []step{{"POST", "/chains/" + chain + "/rules", `{"type":"dnat","flowAction":"accept","natTargets":[{"addressFrom":"10.1.0.7"}]}`, 400, ""}}},
		{"a range has an end", []step{{"POST", "/chains/" + chain + "/rules", jump + `,"tpDst":{"start":53}}`, 400, ""}}},
		{"ports require a fragment policy other than any", []step{{"POST", "/chains/" + chain + "/rules", jump + `,"tpDst":{"start":53,"end":53},"fragmentPolicy":"any"}`, 400, ""}}},
		{"dlType has bounds", []step{{"POST", "/chains/" + chain + "/rules", jump + `,"dlType":8}`, 400, ""}}},

		// Tables.
		{"a MAC entry that exists is 500", []step{{"POST", macPath, mac, 201, ""}, {"POST", macPath, mac, 500, ""}}},
		{"a MAC entry for another bridge's port is 400", []step{{"POST", "/bridges/" + other + "/mac_table", mac, 400, ""}}},
		{"a MAC entry for a missing port is 404", []step{{"POST", macPath, `{"macAddr":"0a:58:0a:01:00:05","portId":"` + fresh + `"}`, 404, ""}}},
		{"a MAC entry needs a MAC address", []step{{"POST", macPath, `{"macAddr":"x","portId":"` + bPort + `"}`, 400, ""}}},
		{"a MAC entry's path has dashes", []step{{"POST", macPath, mac, 201, ""}, {"GET", macPath + "/0a-58-0a-01-00-05_" + bPort, "", 200, ""}, {"DELETE", macPath + "/0a-58-0a-01-00-05_" + bPort, "", 204, ""}, {"DELETE", macPath + "/0a-58-0a-01-00-05_" + bPort, "", 404, ""}}},
		{"an ARP entry that exists is 500", []step{{"POST", arpPath, arp, 201, ""}, {"POST", arpPath, arp, 500, ""}}},
		{"an ARP entry on a missing bridge is 500", []step{{"POST", "/bridges/" + fresh + "/arp_table", arp, 500, ""}}},
		{"an ARP entry is IPv4", []step{{"POST", arpPath, `{"ip":"2001:db8::1","mac":"0a:58:0a:01:00:05"}`, 400, ""}}},
		{"an ARP entry's path has dashes", []step{{"POST", arpPath, arp, 201, ""}, {"GET", arpPath + "/10.1.0.5_0a-58-0a-01-00-05", "", 200, ""}, {"DELETE", arpPath + "/10.1.0.5_0a-58-0a-01-00-05", "", 204, ""}}},

		// DELETE.
		{"DELETE of a missing router, route or zone is 204", []step{{"DELETE", "/routers/" + fresh, "", 204, ""}, {"DELETE", "/routes/" + fresh, "", 204, ""}, {"DELETE", "/tunnel_zones/" + fresh, "", 204, ""}}},
		{"DELETE of anything else that is missing is 404", []step{
			{"DELETE", "/bridges/" + fresh, "", 404, ""}, {"DELETE", "/ports/" + fresh, "", 404, ""}, {"DELETE", "/chains/" + fresh, "", 404, ""}, {"DELETE", "/rules/" + fresh, "", 404, ""},
			{"DELETE", "/ports/" + fresh + "/link", "", 404, ""}, {"DELETE", "/hosts/" + hostA + "/ports/" + fresh, "", 404, ""}, {"DELETE", "/tunnel_zones/" + zone + "/hosts/" + fresh, "", 404, ""},
		}},
		{"a bridge takes its ports and tables with it", []step{{"POST", macPath, mac, 201, ""}, {"DELETE", "/bridges/" + bridge, "", 204, ""}, {"GET", "/ports/" + bPort, "", 404, ""}, {"GET", "/ports/" + oPort, "", 200, ""}}},
		{"a router takes its ports and routes with it", []step{{"DELETE", "/routers/" + router, "", 204, ""}, {"GET", "/ports/" + rPort, "", 404, ""}, {"GET", "/routes/" + route, "", 404, ""}}},
		{"a port takes the routes through it with it", []step{{"DELETE", "/ports/" + rPort, "", 204, ""}, {"GET", "/routes/" + route, "", 404, ""}}},
		{"a port takes its link with it", []step{{"POST", "/ports/" + bPort + "/link", `{"peerId":"` + rPort + `"}`, 201, ""}, {"DELETE", "/ports/" + rPort, "", 204, ""}, {"POST", "/ports/" + bPort + "/link", `{"peerId":"` + oPort + `"}`, 201, ""}}},
		{"a port takes its binding with it", []step{{"POST", "/hosts/" + hostA + "/ports", binding, 201, ""}, {"DELETE", "/ports/" + bPort, "", 204, ""}, {"GET", "/hosts/" + hostA + "/ports/" + bPort, "", 404, ""}}},
		{"a chain takes its rules with it", []step{{"DELETE", "/chains/" + chain, "", 204, ""}, {"GET", "/rules/" + rule, "", 404, ""}, {"GET", "/bridges/" + bridge, "", 200, ""}}},
		{"a chain takes the jumps to it with it", []step{{"DELETE", "/chains/" + target, "", 204, ""}, {"GET", "/rules/" + rule, "", 404, ""}, {"GET", "/chains/" + chain, "", 200, ""}}},
		{"a zone takes its hosts with it", []step{{"DELETE", "/tunnel_zones/" + zone, "", 204, ""}, {"POST", "/hosts/" + hostA + "/ports", binding, 409, ""}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, url := start(t, Options{}, world()...)
			for _, st := range tc.steps {
				st.want(t, url)
			}
		})
	}
}
