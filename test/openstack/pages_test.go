// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// TestPages lists more than the services put into one response.
func TestPages(t *testing.T) {
	needTestbed(t)
	const most = 2
	ctx, a, admin := context.Background(), newProject(t), realUser(t, "admin")
	network, subnet, router := a.network()
	_, adminSubnet, _ := admin.network()
	public := a.gateway(router)
	made := map[string][]string{}
	add := func(kind, id string) { made[kind] = append(made[kind], id) }
	for i := range 2*most + 1 {
		id := a.volume("k")
		add("volumes", id)
		add("snapshots", a.snapshot(id, "k"))
		id, _ = a.floatingIP(public, "", "")
		add("floating IPs", id)
		id = a.must(http.MethodPost, "network/v2.0/security-groups", wrap("security_group", "name", fmt.Sprint("group-", i)))["id"].(string)
		t.Cleanup(func() { a.call(http.MethodDelete, "network/v2.0/security-groups/"+id, nil) })
		add("security groups", id)
		port := a.port(network, subnet, fmt.Sprintf("10.0.0.%d", 50+i))
		a.must(http.MethodPut, "network/v2.0/ports/"+port, wrap("port", "security_groups", made["security groups"][:1]))
		add("ports", port)
	}
	var pool string
	for i := range most + 1 {
		id := a.loadBalancer(subnet, fmt.Sprint("balancer-", i))
		add("load balancers", id)
		listener, behind := a.listener(id, "TCP", 80)
		add("listeners", listener)
		add("pools", behind)
		add("members", a.member(made["load balancers"][0], made["pools"][0], fmt.Sprintf("10.0.0.%d", 50+i), 80))
		pool = made["pools"][0]
	}
	own := admin.loadBalancer(adminSubnet, "of the administrator")
	restart(t, "neutron cinder-api octavia-api", fmt.Sprintf("TESTBED_PAGE_LIMIT=%d", most))
	for _, first := range []string{"block-storage/volumes/detail", "network/v2.0/ports", loadBalancers[:len(loadBalancers)-1]} {
		for kind, page := range a.call(http.MethodGet, first, nil).body {
			if n := len(page.([]any)); n > most {
				t.Errorf("%s: one response has %d %s", first, n, kind)
			}
		}
	}
	client := a.client(options())
	cinder, octavia, neutron := client.BlockStorage(), client.LoadBalancing(), client.Network()
	for kind, list := range map[string]func() ([]string, error){
		"volumes":        func() ([]string, error) { return ids(cinder.Volumes(ctx)) },
		"snapshots":      func() ([]string, error) { return ids(cinder.Snapshots(ctx)) },
		"load balancers": func() ([]string, error) { return ids(octavia.LoadBalancers(ctx)) },
		"listeners":      func() ([]string, error) { return ids(octavia.Listeners(ctx)) },
		"pools":          func() ([]string, error) { return ids(octavia.Pools(ctx)) },
		"members":        func() ([]string, error) { return ids(octavia.Members(ctx, pool)) },
		"floating IPs":   func() ([]string, error) { return ids(neutron.ProjectFloatingIPs(ctx)) },
		"ports":          func() ([]string, error) { return ids(neutron.PortsOfSecurityGroup(ctx, made["security groups"][0])) },
	} {
		got, err := list()
		if slices.Sort(made[kind]); err != nil || !slices.Equal(got, made[kind]) {
			t.Errorf("%s: got %v, %v, want %v", kind, got, err, made[kind])
		}
	}
	groups, err := ids(neutron.SecurityGroups(ctx))
	if err != nil || len(groups) != len(made["security groups"])+1 {
		t.Errorf("security groups and the default: %v, %v", groups, err)
	}
	// The administrator sees those of all projects, and its pages are those of all.
	got, err := ids(admin.client(options()).LoadBalancing().LoadBalancers(ctx))
	if err != nil || !slices.Contains(got, own) || slices.ContainsFunc(got, func(id string) bool { return slices.Contains(made["load balancers"], id) }) {
		t.Errorf("of the administrator: %v, %v, want %s and nothing of the project", got, err, own)
	}
}

// ids returns those of a listing, sorted.
func ids[T any](all []T, err error) ([]string, error) {
	var found []string
	for _, one := range all {
		switch one := any(one).(type) {
		case openstack.Volume:
			found = append(found, one.ID)
		case openstack.VolumeSnapshot:
			found = append(found, one.ID)
		case openstack.LoadBalancer:
			found = append(found, one.ID)
		case openstack.Listener:
			found = append(found, one.ID)
		case openstack.Pool:
			found = append(found, one.ID)
		case openstack.Member:
			found = append(found, one.ID)
		case openstack.FloatingIP:
			found = append(found, one.ID)
		case openstack.SecurityGroup:
			found = append(found, one.ID)
		case openstack.Port:
			found = append(found, one.ID)
		}
	}
	slices.Sort(found)
	return found, err
}
