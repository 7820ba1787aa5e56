// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// read GETs a path and decodes the response.
func read[T any](t *testing.T, url, path string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(step{method: "GET", path: path, code: 200}.want(t, url)), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// order returns a chain's rules by the last digit of their ids, and checks that their positions count up.
func order(t *testing.T, url, chain string) string {
	t.Helper()
	got := ""
	for i, r := range read[[]map[string]any](t, url, "/chains/"+chain+"/rules") {
		id := r["id"].(string)
		got += id[len(id)-1:]
		if r["position"] != float64(i+1) {
			t.Errorf("rule %s has position %v, want %d", id, r["position"], i+1)
		}
	}
	return got
}

// TestRulePositions checks that a rule without a position is inserted at the head, that deletions close gaps, and that a rule
// reports its current position.
func TestRulePositions(t *testing.T) {
	_, url := start(t, Options{}, world()...)
	add := func(digit, position string) {
		t.Helper()
		body := `{"id":"` + fresh[:len(fresh)-1] + digit + `","type":"accept"` + position + `}`
		step{method: "POST", path: "/chains/" + target + "/rules", body: body, code: 201}.want(t, url)
	}
	add("1", "")
	add("2", "")
	add("3", `,"position":3`)
	add("4", `,"position":2`)
	if got := order(t, url, target); got != "2413" {
		t.Errorf("order %s, want 2413", got)
	}
	step{method: "DELETE", path: "/rules/" + fresh[:len(fresh)-1] + "4", code: 204}.want(t, url)
	if got := order(t, url, target); got != "213" {
		t.Errorf("order %s, want 213", got)
	}
	if r := read[map[string]any](t, url, "/rules/"+fresh[:len(fresh)-1]+"3"); r["position"] != float64(3) || r["chainId"] != target {
		t.Errorf("rule alone is %v, want position 3 of chain %s", r, target)
	}
}

// TestReplace checks that a PUT replaces mutable fields and retains the others.
func TestReplace(t *testing.T) {
	host := HostID("node-a")
	_, url := start(t, Options{}, append(world(),
		step{method: "POST", path: "/ports/" + bPort + "/link", body: `{"peerId":"` + rPort + `"}`, code: 201},
		step{method: "POST", path: "/hosts/" + host + "/ports", body: `{"portId":"` + rPort + `","interfaceName":"mido0"}`, code: 201},
		step{method: "PUT", path: "/bridges/" + bridge, body: `{"id":"` + fresh + `","name":"b"}`, code: 204},
		step{method: "PUT", path: "/ports/" + rPort, body: `{"type":"Router","portSubnet":["10.9.0.1/24"],"peerId":"` + oPort + `"}`, code: 204},
	)...)
	b := read[map[string]any](t, url, "/bridges/"+bridge)
	if b["id"] != bridge || b["name"] != "b" || b["inboundFilterId"] != nil || b["tenantId"] != nil {
		t.Errorf("bridge is %v, want name b, its id, and no filter and no tenant", b)
	}
	if ports := read[[]map[string]any](t, url, "/bridges/"+bridge+"/ports"); len(ports) != 1 {
		t.Errorf("bridge has ports %v, want its one", ports)
	}
	p := read[map[string]any](t, url, "/ports/"+rPort)
	if p["portMac"] != nil || p["peerId"] != bPort || p["hostId"] != host || p["interfaceName"] != "mido0" || p["deviceId"] != router {
		t.Errorf("port is %v, want no MAC address, its peer, its binding and its router", p)
	}
}

// TestLists checks the content of lists: one tenant's resources if requested, a router's own local routes, the bindings of a host.
func TestLists(t *testing.T) {
	host := HostID("node-a")
	_, url := start(t, Options{}, append(world(),
		step{method: "POST", path: "/hosts/" + host + "/ports", body: `{"portId":"` + bPort + `","interfaceName":"mido0"}`, code: 201},
		step{method: "POST", path: "/bridges/" + bridge + "/mac_table", body: `{"macAddr":"0A:58:0a:01:00:05","portId":"` + bPort + `"}`, code: 201},
	)...)
	for path, want := range map[string]int{
		"/chains": 2, "/chains?tenant_id=t": 1, "/chains?tenant_id=v": 0, "/bridges?tenant_id=t": 2, "/routers?tenant_id=u": 0,
		"/tunnel_zones": 1, "/hosts": 2, "/routers/" + router + "/ports": 1, "/routers/" + router + "/routes": 2,
		"/bridges/" + bridge + "/mac_table": 1, "/bridges/" + bridge + "/arp_table": 0, "/bridges/" + other + "/mac_table": 0,
		"/hosts/" + host + "/ports": 1, "/tunnel_zones/" + zone + "/hosts": 1,
	} {
		if got := read[[]map[string]any](t, url, path); len(got) != want || got == nil {
			t.Errorf("%s has %d, want %d: %v", path, len(got), want, got)
		}
	}
	types := []string{}
	for _, r := range read[[]map[string]any](t, url, "/routers/"+router+"/routes") {
		types = append(types, r["type"].(string)+" to "+r["dstNetworkAddr"].(string))
		if r["routerId"] != router {
			t.Errorf("route %v is not of router %s", r, router)
		}
	}
	if !slices.Equal(types, []string{"Local to 10.1.0.1", "Normal to 10.1.0.0"}) {
		t.Errorf("routes are %v", types)
	}
}

// TestFiltersAreDeletedWithTheirChain checks that a filter is deleted with its chain, and that the bridge remains.
func TestFiltersAreDeletedWithTheirChain(t *testing.T) {
	s, url := start(t, Options{}, append(world(), step{method: "DELETE", path: "/chains/" + chain, code: 204})...)
	if b := read[map[string]any](t, url, "/bridges/"+bridge); b["inboundFilterId"] != nil {
		t.Errorf("bridge is %v, want no filter", b)
	}
	for _, path := range []string{"/chains/" + target, "/bridges/" + bridge, "/bridges/" + other, "/routers/" + router, "/tunnel_zones/" + zone} {
		step{method: "DELETE", path: path, code: 204}.want(t, url)
	}
	for _, item := range s.Content() {
		if item.Kind != "Host" {
			t.Errorf("%s %s is left", item.Kind, item.ID)
		}
	}
	if len(s.store.children) != 0 || len(s.store.referrers) != 0 {
		t.Errorf("the indexes still have %d children and %d referrers", len(s.store.children), len(s.store.referrers))
	}
}

// TestListing checks that the text listing has names instead of ids, and chains in order.
func TestListing(t *testing.T) {
	host := HostID("node-a")
	s, _ := start(t, Options{}, append(world(),
		step{method: "POST", path: "/ports/" + bPort + "/link", body: `{"peerId":"` + rPort + `"}`, code: 201},
		step{method: "POST", path: "/hosts/" + host + "/ports", body: `{"portId":"` + oPort + `","interfaceName":"mido0"}`, code: 201},
		step{method: "POST", path: "/bridges/" + bridge + "/arp_table", body: `{"ip":"10.1.0.5","mac":"0a:58:0a:01:00:05"}`, code: 201},
		step{method: "POST", path: "/chains/" + target + "/rules", body: `{"type":"jump","jumpChainId":"` + chain + `","dlType":2048,"nwDstAddress":"10.96.0.10","nwDstLength":32,"nwProto":17,"tpDst":{"start":53,"end":53}}`, code: 201},
		step{method: "POST", path: "/chains/" + target + "/rules", body: `{"type":"snat","flowAction":"continue","natTargets":[{"addressFrom":"10.1.0.1","addressTo":"10.1.0.1","portFrom":30000,"portTo":60000}]}`, code: 201},
	)...)
	got := s.Listing()
	for _, want := range []string{
		"hosts (2)\n  node-a  " + host + "\n",
		"tunnel zones (1)\n  DefaultTunnelZone vxlan  " + zone + "\n    host node-a at 192.0.2.1\n",
		"routers (1)\n  ClusterRouter  " + router + "\n    port " + rPort + " [10.1.0.1/24] ac:ca:ba:66:57:0f linked to " + bPort + "\n",
		"route 10.1.0.0/24 via  port " + rPort + " (Normal)\n",
		"bridges (2)\n  node-a  " + bridge + " in: KUBE-MAIN\n",
		"port " + oPort + " bound to mido0 of node-a\n",
		"arp 10.1.0.5 is 0a:58:0a:01:00:05\n",
		"  KUBE-MAIN  " + chain + "\n    1. jump to KUBE-PRE\n",
		"    1. snat [{\"addressFrom\"",
		"    2. jump to KUBE-MAIN to 10.96.0.10/32 protocol 17 port 53 to 53\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the listing lacks %q:\n%s", want, got)
		}
	}
}
