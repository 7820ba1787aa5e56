// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Ids of the world that most tests begin with.
const (
	zone   = "00000000-0000-4000-8000-000000000001"
	router = "00000000-0000-4000-8000-000000000002"
	bridge = "00000000-0000-4000-8000-000000000003"
	other  = "00000000-0000-4000-8000-000000000004" // another bridge
	chain  = "00000000-0000-4000-8000-000000000005"
	target = "00000000-0000-4000-8000-000000000006" // a chain to jump to
	bPort  = "00000000-0000-4000-8000-000000000007"
	rPort  = "00000000-0000-4000-8000-000000000008"
	oPort  = "00000000-0000-4000-8000-000000000009" // on the other bridge
	route  = "00000000-0000-4000-8000-00000000000a"
	rule   = "00000000-0000-4000-8000-00000000000b"
	fresh  = "00000000-0000-4000-8000-0000000000ff" // of nothing
)

// step is a request and the code of its response.
type step struct {
	method, path, body string
	code               int
	// header replaces the Content-Type of a write or the Accept of a read; "none" leaves it out.
	header string
}

// world fills the fake: two hosts of which node-a is in the zone, two bridges with a port each, a router with a port
// and a route, two chains with a jump from one to the other.
func world() []step {
	host := HostID("node-a")
	return []step{
		{method: "POST", path: "/tunnel_zones", body: `{"id":"` + zone + `","name":"DefaultTunnelZone","type":"vxlan"}`, code: 201},
		{method: "POST", path: "/tunnel_zones/" + zone + "/hosts", body: `{"hostId":"` + host + `","ipAddress":"192.0.2.1"}`, code: 201},
		{method: "POST", path: "/chains", body: `{"id":"` + chain + `","tenantId":"t","name":"KUBE-MAIN"}`, code: 201},
		{method: "POST", path: "/chains", body: `{"id":"` + target + `","tenantId":"u","name":"KUBE-PRE"}`, code: 201},
		{method: "POST", path: "/chains/" + chain + "/rules", body: `{"id":"` + rule + `","type":"jump","jumpChainId":"` + target + `"}`, code: 201},
		{method: "POST", path: "/routers", body: `{"id":"` + router + `","tenantId":"t","name":"ClusterRouter"}`, code: 201},
		{method: "POST", path: "/bridges", body: `{"id":"` + bridge + `","tenantId":"t","name":"node-a","inboundFilterId":"` + chain + `"}`, code: 201},
		{method: "POST", path: "/bridges", body: `{"id":"` + other + `","tenantId":"t"}`, code: 201},
		{method: "POST", path: "/bridges/" + bridge + "/ports", body: `{"id":"` + bPort + `","type":"Bridge"}`, code: 201},
		{method: "POST", path: "/bridges/" + other + "/ports", body: `{"id":"` + oPort + `","type":"Bridge"}`, code: 201},
		{method: "POST", path: "/routers/" + router + "/ports", body: `{"id":"` + rPort + `","type":"Router","portSubnet":["10.1.0.1/24"],"portMac":"ac:ca:ba:66:57:0f"}`, code: 201},
		{method: "POST", path: "/routers/" + router + "/routes", body: routeBody(route, rPort), code: 201},
	}
}

func routeBody(id, port string) string {
	return `{"id":"` + id + `","dstNetworkAddr":"10.1.0.0","dstNetworkLength":24,"nextHopPort":"` + port + `","srcNetworkAddr":"0.0.0.0","srcNetworkLength":0,"type":"Normal"}`
}

// client is not http.DefaultClient: every httptest.Server that a parallel test closes cuts connections of that one.
var client = &http.Client{Transport: &http.Transport{}}

// start serves a fake with the world in it.
func start(t *testing.T, o Options, steps ...step) (*Server, string) {
	t.Helper()
	s := New(o)
	s.AddHost("node-a")
	s.AddHost("node-b")
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	for _, st := range steps {
		st.want(t, web.URL)
	}
	return s, web.URL
}

// do sends the request with the media type that its path wants.
func (st step) do(t *testing.T, url string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(st.method, url+Root+st.path, strings.NewReader(st.body))
	if err != nil {
		t.Fatal(err)
	}
	name := "Content-Type"
	if st.method == http.MethodGet {
		name = "Accept"
	}
	header := st.header
	if header == "" {
		header = mediaOfPath(st.path, st.method == http.MethodGet)
	}
	if header != "none" {
		req.Header.Set(name, header)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// want sends the request and checks the code, and that a rejection has the server's form.
func (st step) want(t *testing.T, url string) string {
	t.Helper()
	code, _, body := st.do(t, url)
	if code != st.code {
		t.Fatalf("%s %s %s: %d %s, want %d", st.method, st.path, st.body, code, body, st.code)
	}
	if code >= 400 {
		var rejection struct {
			Message string
			Code    int
		}
		if err := json.Unmarshal([]byte(body), &rejection); err != nil || rejection.Code != code || rejection.Message == "" {
			t.Errorf("%s %s: rejection %q has not the form {message, code}", st.method, st.path, body)
		}
	}
	return body
}

// mediaOfPath writes the media types down a second time, as the table of the API has them.
func mediaOfPath(path string, get bool) string {
	segments := strings.Split(strings.Trim(strings.Split(path, "?")[0], "/"), "/")
	item := len(segments)%2 == 0
	last := segments[len(segments)-1]
	if item {
		last = segments[len(segments)-2]
	}
	var name string
	switch {
	case last == "hosts" && segments[0] == "tunnel_zones":
		name = "TunnelZoneHost-v1"
	case last == "ports" && segments[0] == "hosts":
		name = "HostInterfacePort-v1"
	default:
		name = map[string]string{
			"hosts": "Host-v3", "tunnel_zones": "TunnelZone-v1", "routers": "Router-v3", "bridges": "Bridge-v4", "ports": "Port-v3",
			"link": "PortLink-v1", "routes": "Route-v1", "chains": "Chain-v1", "rules": "Rule-v2", "mac_table": "MACPort-v2", "arp_table": "IP4Mac-v1",
		}[last]
	}
	if get && !item {
		name = "collection." + name
	}
	return "application/vnd.org.midonet." + name + "+json"
}
