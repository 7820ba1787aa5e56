// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"slices"
	"testing"
)

// TestInventory checks what a Kluster finds automatically: exactly one router, network and subnet of the project, or it has to be
// informed which.
func TestInventory(t *testing.T) {
	needTestbed(t)
	ctx, admin, a := context.Background(), realUser(t, "admin"), newProject(t)
	neutron := a.client(options()).Network()
	want := func(when string, list func(context.Context) ([]string, error), ids ...string) {
		t.Helper()
		slices.Sort(ids)
		if got, err := list(ctx); err != nil || !slices.Equal(got, ids) {
			t.Errorf("%s: got %v, %v, want %v", when, got, err, ids)
		}
	}
	// The public network is the administrator's, and one is everybody's to use; neither is of the project.
	shared := admin.must(http.MethodPost, "network/v2.0/networks", wrap("network", "name", "shared", "shared", true))["id"].(string)
	t.Cleanup(func() { admin.must(http.MethodDelete, "network/v2.0/networks/"+shared, nil) })
	if seen := len(a.call(http.MethodGet, "network/v2.0/networks", nil).body["networks"].([]any)); seen < 2 {
		t.Errorf("the project sees %d networks of others, want the public one and the shared one", seen)
	}
	want("nothing", neutron.RouterIDs)
	want("nothing", neutron.NetworkIDs)

	network, subnet, router := a.network()
	subnets := func(ctx context.Context) ([]string, error) { return neutron.SubnetIDs(ctx, network) }
	want("one of each", neutron.RouterIDs, router)
	want("one of each", neutron.NetworkIDs, network)
	want("one of each", subnets, subnet)
	a.must(http.MethodPost, "network/v2.0/subnets", wrap("subnet", "network_id", network, "ip_version", 6, "cidr", "fd00::/64"))
	want("one more of IPv6", subnets, subnet)

	second, _, another := a.network()
	other := a.must(http.MethodPost, "network/v2.0/subnets", wrap("subnet", "network_id", network, "ip_version", 4, "cidr", "10.1.0.0/24"))["id"].(string)
	want("two of each", neutron.RouterIDs, router, another)
	want("two of each", neutron.NetworkIDs, network, second)
	want("two of each", subnets, subnet, other)

	// An administrator may see all, and gets what is of its project.
	public := admin.call(http.MethodGet, "network/v2.0/networks?name=public&project_id="+admin.projectID, nil).body["networks"].([]any)
	if len(public) != 1 {
		t.Fatalf("the administrator's project has these public networks: %v", public)
	}
	adminNeutron := admin.client(options()).Network()
	routers, err := adminNeutron.RouterIDs(ctx)
	if err != nil || slices.Contains(routers, router) {
		t.Errorf("the administrator's routers: %v, %v", routers, err)
	}
	networks, err := adminNeutron.NetworkIDs(ctx)
	if err != nil || !slices.Contains(networks, shared) || slices.Contains(networks, network) || slices.Contains(networks, public[0].(map[string]any)["id"].(string)) {
		t.Errorf("the administrator's networks: %v, %v", networks, err)
	}
}
