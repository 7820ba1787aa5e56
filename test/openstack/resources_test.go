// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// patience is for a machine that does other work at the same time. Only what fails takes as long.
const patience = 5 * time.Minute

// eventually waits until a condition holds. OpenStack has nothing to watch.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !comesToHold(200*time.Millisecond, holds) {
		t.Fatalf("not within %s: %s", patience, what)
	}
}

// comesToHold checks a condition repeatedly, and reports whether it holds before the deadline.
func comesToHold(again time.Duration, holds func() bool) bool {
	ticker := time.NewTicker(again)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// network makes a network with a subnet and a router on it, for one test.
func (a *api) network() (networkID, subnetID, routerID string) {
	a.t.Helper()
	networkID = a.must(http.MethodPost, "network/v2.0/networks", wrap("network", "name", "kluster"))["id"].(string)
	subnetID = a.must(http.MethodPost, "network/v2.0/subnets", wrap("subnet", "network_id", networkID, "ip_version", 4, "cidr", "10.0.0.0/24"))["id"].(string)
	routerID = a.must(http.MethodPost, "network/v2.0/routers", wrap("router", "name", "kluster"))["id"].(string)
	a.must(http.MethodPut, "network/v2.0/routers/"+routerID+"/add_router_interface", map[string]any{"subnet_id": subnetID})
	a.t.Cleanup(func() {
		router := "network/v2.0/routers/" + routerID
		a.must(http.MethodPut, router, wrap("router", "routes", []any{}))
		a.must(http.MethodPut, router+"/remove_router_interface", map[string]any{"subnet_id": subnetID})
		a.must(http.MethodDelete, router, nil)
		for _, entry := range a.call(http.MethodGet, "network/v2.0/ports?network_id="+networkID, nil).body["ports"].([]any) {
			a.call(http.MethodDelete, "network/v2.0/ports/"+entry.(map[string]any)["id"].(string), nil)
		}
		a.must(http.MethodDelete, "network/v2.0/networks/"+networkID, nil)
	})
	return networkID, subnetID, routerID
}

// port makes a port with an address.
func (a *api) port(networkID, subnetID, address string) string {
	a.t.Helper()
	return a.must(http.MethodPost, "network/v2.0/ports", wrap("port", "network_id", networkID,
		"fixed_ips", []any{map[string]any{"subnet_id": subnetID, "ip_address": address}}))["id"].(string)
}

// server makes a server with an address, and waits until it runs. Its port is Nova's, and is deleted with it.
func (a *api) server(networkID, address string) string {
	a.t.Helper()
	return a.boot(map[string]any{"uuid": networkID, "fixed_ip": address})
}

// boot makes a server on a network or a port, and waits until it runs.
func (a *api) boot(network map[string]any) string {
	a.t.Helper()
	images := a.call(http.MethodGet, "image/v2/images?name=noop", nil).body["images"].([]any)
	id := a.must(http.MethodPost, "compute/servers", wrap("server", "name", "node", "flavorRef", "1", "imageRef", images[0].(map[string]any)["id"],
		"networks", []any{network}))["id"].(string)
	eventually(a.t, "server "+id+" is active", func() bool {
		status := a.must(http.MethodGet, "compute/servers/"+id, nil)["status"]
		if status == "ERROR" {
			a.t.Fatalf("server %s is in ERROR", id)
		}
		return status == "ACTIVE"
	})
	a.t.Cleanup(func() { a.deleteServer(id) })
	return id
}

// deleteServer deletes a server, and waits until it has been deleted.
func (a *api) deleteServer(id string) {
	a.t.Helper()
	a.call(http.MethodDelete, "compute/servers/"+id, nil)
	eventually(a.t, "server "+id+" has been deleted", func() bool { return a.call(http.MethodGet, "compute/servers/"+id, nil).status == http.StatusNotFound })
}

// wrap is {name: {key: value, ...}}.
func wrap(name string, pairs ...any) map[string]any {
	object := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		object[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return map[string]any{name: object}
}
