// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// fakeUser returns a user of a fake, with a router and the ports .50 and .51 on its network.
func fakeUser(t *testing.T) (a *api, routerID string) {
	s := fake.New(fake.Options{})
	t.Cleanup(s.Close)
	s.AddUser("demo", "testbed", "demo")
	network := s.AddNetwork("10.0.0.0/24")
	s.AddPort("demo", network, "", "", "10.0.0.50")
	s.AddPort("demo", network, "", "", "10.0.0.51")
	a = &api{t: t, authURL: s.AuthURL(), user: "demo", password: "testbed", project: "demo"}
	a.login()
	return a, s.AddRouter("demo", network)
}

func TestFakeConforms(t *testing.T) {
	a, router := fakeUser(t)
	conform(t, a, router)
}

func TestRealConforms(t *testing.T) {
	needTestbed(t)
	a := realUser(t, "demo")
	network, subnet, router := a.network()
	a.port(network, subnet, "10.0.0.50")
	a.port(network, subnet, "10.0.0.51")
	conform(t, a, router)
}

// hops are routes of a body, each written as "destination nexthop".
func hops(texts ...string) map[string]any {
	routes := []any{}
	for _, text := range texts {
		destination, hop, _ := strings.Cut(text, " ")
		routes = append(routes, map[string]any{"destination": destination, "nexthop": hop})
	}
	return wrap("router", "routes", routes)
}

func many(n int) []string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprintf("100.100.%d.0/24 10.0.0.5", i))
	}
	return texts
}

// conform queries a cloud the questions that Groundskeeper's code depends on. Each builds on those before it.
func conform(t *testing.T, a *api, routerID string) {
	router := "network/v2.0/routers/" + routerID
	revision := func() int {
		n, ok := a.must(http.MethodGet, router, nil)["revision_number"].(float64)
		if !ok {
			t.Fatal("the router has no revision number")
		}
		return int(n)
	}
	const none = "8f5e3c1c-2f0e-4d13-9b8e-0d6f7a1b2c3d"
	stale := revision()
	for _, q := range []struct {
		name, method, path string
		body               any
		// header is one more, as "name: value"; token "-" sends none.
		header, token string
		status        int
		// has are texts of the response, routes the number of the router's routes behind it; -1: not checked.
		has    []string
		routes int
	}{
		{name: "no token for Neutron", path: router, token: "-", status: 401, routes: -1},
		{name: "a wrong token for Neutron", path: router, token: "nonsense", status: 401, routes: -1},
		{name: "no token for Nova", path: "compute/servers/detail", token: "-", status: 401, routes: -1},
		{name: "a wrong password", method: http.MethodPost, path: "identity/auth/tokens", body: a.loginBody("wrong"), token: "-", status: 401, has: []string{"requires authentication"}, routes: -1},
		{name: "no such router", path: "network/v2.0/routers/" + none, status: 404, has: []string{"NeutronError", none}, routes: -1},
		{name: "no such server", path: "compute/servers/" + none, status: 404, has: []string{"itemNotFound", none}, routes: -1},
		{name: "the servers", path: "compute/servers/detail", status: 200, has: []string{`"servers"`}, routes: -1},
		{name: "the microversion for cells that are down", path: "compute/servers/detail", header: "OpenStack-API-Version: compute 2.69", status: 200, has: []string{`"servers"`}, routes: -1},
		{name: "a microversion of the future", path: "compute/servers/detail", header: "OpenStack-API-Version: compute 2.9999", status: 406, has: []string{"not supported"}, routes: -1},
		{name: "a microversion that is none", path: "compute/servers/detail", header: "OpenStack-API-Version: compute nonsense", status: 400, routes: -1},
		{name: "extensions", path: "network/v2.0/extensions", status: 200, has: []string{`"extraroute-atomic"`}, routes: -1},
		{name: "one of two addresses", path: "network/v2.0/ports?fixed_ips=ip_address%3D10.0.0.50&fixed_ips=ip_address%3D10.0.0.99", status: 200, has: []string{"10.0.0.50"}, routes: -1},
		{name: "two addresses", path: "network/v2.0/ports?fixed_ips=ip_address%3D10.0.0.50&fixed_ips=ip_address%3D10.0.0.51", status: 200, has: []string{"10.0.0.50", "10.0.0.51"}, routes: -1},
		{name: "the router's ports", path: "network/v2.0/ports?device_id=" + routerID, status: 200, has: []string{"network:router_interface", "10.0.0.1"}, routes: -1},
		{name: "floating addresses", path: "network/v2.0/floatingips?floating_ip_address=1.2.3.4&floating_ip_address=1.2.3.5", status: 200, has: []string{`"floatingips"`}, routes: -1},

		{name: "add routes", method: http.MethodPut, path: router + "/add_extraroutes", body: hops("100.100.1.0/24 10.0.0.5", "100.100.2.0/24 10.0.0.6", "100.100.1.0/24 10.0.0.6"), status: 200, routes: 3},
		{name: "add them again", method: http.MethodPut, path: router + "/add_extraroutes", body: hops("100.100.1.0/24 10.0.0.5"), status: 200, routes: 3},
		{name: "a next hop that is not connected", method: http.MethodPut, path: router + "/add_extraroutes", body: hops("100.100.3.0/24 172.16.0.1"), status: 400, has: []string{"not connected with router"}, routes: 3},
		{name: "a next hop that is the router", method: http.MethodPut, path: router + "/add_extraroutes", body: hops("100.100.3.0/24 10.0.0.1"), status: 400, has: []string{"used by router"}, routes: 3},
		{name: "remove what is there and what is not", method: http.MethodPut, path: router + "/remove_extraroutes", body: hops("100.100.1.0/24 10.0.0.6", "100.100.9.0/24 10.0.0.6", "100.100.2.0/24 10.0.0.7"), status: 200, routes: 2},
		{name: "remove it again", method: http.MethodPut, path: router + "/remove_extraroutes", body: hops("100.100.1.0/24 10.0.0.6"), status: 200, routes: 2},
		{name: "remove routes of no router", method: http.MethodPut, path: "network/v2.0/routers/" + none + "/remove_extraroutes", body: hops("100.100.1.0/24 10.0.0.6"), status: 404, routes: 2},
		{name: "replace on a revision that is over", method: http.MethodPut, path: router, header: fmt.Sprintf("If-Match: revision_number=%d", stale), body: hops(), status: 412, has: []string{"RevisionNumberConstraintFailed"}, routes: 2},
		{name: "replace on a condition that is none", method: http.MethodPut, path: router, header: "If-Match: nonsense", body: hops("100.100.1.0/24 10.0.0.5"), status: 200, routes: 1},
		{name: "replace on the revision", method: http.MethodPut, path: router, header: "If-Match: revision_number=NOW", body: hops("100.100.1.0/24 10.0.0.6"), status: 200, routes: 1},
		{name: "host bits in a destination", method: http.MethodPut, path: router, body: hops("100.100.1.7/24 10.0.0.5"), status: 400, routes: 1},
		{name: "the same route twice", method: http.MethodPut, path: router, body: hops("100.100.1.0/24 10.0.0.5", "100.100.1.0/24 10.0.0.5"), status: 400, routes: 1},
		{name: "an address range that is none", method: http.MethodPut, path: router, body: hops("nonsense 10.0.0.5"), status: 400, routes: 1},
		{name: "an address without a length", method: http.MethodPut, path: router, body: hops("100.100.1.7 10.0.0.5"), status: 400, routes: 1},
		{name: "an attribute that is none", method: http.MethodPut, path: router, body: wrap("router", "nonsense", 1), status: 400, has: []string{"Unrecognized attribute"}, routes: 1},
		{name: "as many routes as may be", method: http.MethodPut, path: router, body: hops(many(30)...), status: 200, routes: 30},
		{name: "one more", method: http.MethodPut, path: router + "/add_extraroutes", body: hops("100.100.99.0/24 10.0.0.5"), status: 400, has: []string{"exceeds the maximum"}, routes: 30},
		{name: "remove one of the most", method: http.MethodPut, path: router + "/remove_extraroutes", body: hops("100.100.7.0/24 10.0.0.5"), status: 200, routes: 29},
		{name: "no routes", method: http.MethodPut, path: router, body: hops(), status: 200, routes: 0},
	} {
		t.Run(q.name, func(t *testing.T) {
			header := map[string]string{"X-Auth-Token": a.token}
			if q.token != "" {
				header["X-Auth-Token"] = q.token
			}
			if q.token == "-" {
				delete(header, "X-Auth-Token")
			}
			if name, value, ok := strings.Cut(q.header, ": "); ok {
				header[name] = strings.Replace(value, "NOW", fmt.Sprint(revision()), 1)
			}
			if q.method == "" {
				q.method = http.MethodGet
			}
			got := a.send(q.method, a.url(q.path), header, q.body)
			if got.status != q.status {
				t.Errorf("responds %d, want %d: %s", got.status, q.status, got.text)
			}
			for _, text := range q.has {
				if !strings.Contains(got.text, text) {
					t.Errorf("no %q in the response: %s", text, got.text)
				}
			}
			if q.routes >= 0 {
				if n := len(a.must(http.MethodGet, router, nil)["routes"].([]any)); n != q.routes {
					t.Errorf("the router has %d routes, want %d", n, q.routes)
				}
			}
		})
	}
}
