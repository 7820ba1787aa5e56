// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// gateway connects a router to the public network, and returns that network's id.
func (a *api) gateway(router string) string {
	a.t.Helper()
	public := a.call(http.MethodGet, "network/v2.0/networks?name=public", nil).body["networks"].([]any)[0].(map[string]any)["id"].(string)
	a.must(http.MethodPut, "network/v2.0/routers/"+router, wrap("router", "external_gateway_info", map[string]any{"network_id": public}))
	return public
}

// floatingIP makes a floating address that leads to a port; "": nowhere.
func (a *api) floatingIP(public, port, description string) (id, address string) {
	a.t.Helper()
	pairs := []any{"floating_network_id", public, "description", description}
	if port != "" {
		pairs = append(pairs, "port_id", port)
	}
	made := a.must(http.MethodPost, "network/v2.0/floatingips", wrap("floatingip", pairs...))
	id = made["id"].(string)
	a.t.Cleanup(func() { a.call(http.MethodDelete, "network/v2.0/floatingips/"+id, nil) })
	return id, made["floating_ip_address"].(string)
}

func TestFloatingIPs(t *testing.T) {
	needTestbed(t)
	ctx, a, other := context.Background(), newProject(t), newProject(t)
	neutron := a.client(options()).Network()
	network, subnet, router := a.network()
	public := a.gateway(router)
	port := a.port(network, subnet, "10.0.0.5")
	const description = "Floating IP for Kubernetes external service default/web from cluster k"
	used, address := a.floatingIP(public, port, description)
	free, _ := a.floatingIP(public, "", "")
	foreign, _ := other.floatingIP(public, "", description)

	all, err := neutron.ProjectFloatingIPs(ctx)
	if err != nil || len(all) != 2 {
		t.Fatalf("floating IPs %+v, %v", all, err)
	}
	for _, f := range all {
		want := openstack.FloatingIP{ID: free, ProjectID: a.projectID, Address: f.Address}
		if f.ID == used {
			want = openstack.FloatingIP{ID: used, ProjectID: a.projectID, Description: description, Address: netip.MustParseAddr(address), PortID: port}
		}
		if f != want {
			t.Errorf("floating IP %+v, want %+v", f, want)
		}
	}
	// One that is of another project does not exist for this one; one that is used is deleted, too.
	for _, id := range []string{foreign, used, used, free} {
		if err := neutron.DeleteFloatingIP(ctx, id); err != nil {
			t.Error(err)
		}
	}
	if all, err := neutron.ProjectFloatingIPs(ctx); len(all) != 0 || err != nil {
		t.Errorf("what is left: %+v, %v", all, err)
	}
	other.must(http.MethodGet, "network/v2.0/floatingips/"+foreign, nil)
}

func TestSecurityGroups(t *testing.T) {
	needTestbed(t)
	ctx, a, other := context.Background(), newProject(t), newProject(t)
	neutron := a.client(options()).Network()
	network, subnet, _ := a.network()
	const name, description = "lb-sg-0-default-web", "Security Group for default/web Service LoadBalancer in cluster k"
	group := func(a *api) string {
		return a.must(http.MethodPost, "network/v2.0/security-groups", wrap("security_group", "name", name, "description", description))["id"].(string)
	}
	id, foreign := group(a), group(other)
	t.Cleanup(func() { other.call(http.MethodDelete, "network/v2.0/security-groups/"+foreign, nil) })
	// Neutron makes a group default for each project. It stays, and is not deleted by anything that Groundskeeper does.
	all, err := neutron.SecurityGroups(ctx)
	if err != nil || len(all) != 2 {
		t.Fatalf("security groups %+v, %v", all, err)
	}
	standard := ""
	for _, g := range all {
		if g.Name == "default" {
			standard = g.ID
		} else if g != (openstack.SecurityGroup{ID: id, Name: name, Description: description, ProjectID: a.projectID}) {
			t.Errorf("security group %+v", g)
		}
	}

	ports, err := neutron.PortsOfSecurityGroup(ctx, id)
	if err != nil || len(ports) != 0 {
		t.Errorf("ports of a group that none uses: %+v, %v", ports, err)
	}
	a.port(network, subnet, "10.0.0.6") // in the group default
	port := a.port(network, subnet, "10.0.0.5")
	a.must(http.MethodPut, "network/v2.0/ports/"+port, wrap("port", "security_groups", []string{id, standard}))
	ports, err = neutron.PortsOfSecurityGroup(ctx, id)
	if err != nil || len(ports) != 1 || ports[0].ID != port {
		t.Errorf("ports of the group: %+v, %v", ports, err)
	}
	wantReason(t, "a group that a port uses", neutron.DeleteSecurityGroup(ctx, id), openstack.ReasonConflict)
	wantReason(t, "the group default", neutron.DeleteSecurityGroup(ctx, standard), openstack.ReasonConflict)
	a.releasesPort(neutron, port, id, standard)
	for _, id := range []string{id, id, foreign} {
		if err := neutron.DeleteSecurityGroup(ctx, id); err != nil {
			t.Error(err)
		}
	}
	other.must(http.MethodGet, "network/v2.0/security-groups/"+foreign, nil)
}

// releasesPort removes a group from a port, and leaves what another client changes at the same time.
func (a *api) releasesPort(neutron openstack.Network, port, group, standard string) {
	a.t.Helper()
	ctx, path := context.Background(), "network/v2.0/ports/"+port
	a.must(http.MethodPut, path+"/tags/"+group, nil)
	other := a.must(http.MethodPost, "network/v2.0/security-groups", wrap("security_group", "name", "other"))["id"].(string)
	changes := 0
	still := func(p openstack.Port) bool {
		if changes++; changes == 1 { // behind the read, before the change
			a.must(http.MethodPut, path, wrap("port", "security_groups", []string{group, standard, other}))
		}
		return p.ProjectID == a.projectID && slices.Equal(p.Tags, []string{group})
	}
	for range 2 {
		if err := neutron.RemovePortSecurityGroup(ctx, port, group, still); err != nil {
			a.t.Error(err)
		}
		if err := neutron.RemovePortTag(ctx, port, group); err != nil {
			a.t.Error(err)
		}
	}
	got := a.must(http.MethodGet, path, nil)
	groups := got["security_groups"].([]any)
	if len(groups) != 2 || !slices.Contains(groups, any(standard)) || !slices.Contains(groups, any(other)) || len(got["tags"].([]any)) != 0 || changes != 2 {
		a.t.Errorf("after %d reads the port has groups %v and tags %v", changes, groups, got["tags"])
	}
	a.must(http.MethodPut, path, wrap("port", "security_groups", []string{standard}))
	a.must(http.MethodDelete, "network/v2.0/security-groups/"+other, nil)
	for _, id := range []string{"", unknownID} {
		if err := neutron.RemovePortSecurityGroup(ctx, id, group, still); (err == nil) != (id == unknownID) {
			a.t.Errorf("port %q: %v", id, err)
		}
	}
}
