// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// TestServersOfAnotherRegion checks that routes are retained if Neutron and Nova are of different regions, because to that Nova all
// servers seem to be deleted.
func TestServersOfAnotherRegion(t *testing.T) {
	s := newSite(t, fake.Options{})
	other := fake.New(fake.Options{Region: "RegionTwo", Keystone: s.Server})
	t.Cleanup(other.Close)
	other.AddServer("garden", other.AddNetwork("10.0.0.0/24"), "10.0.0.77", "ACTIVE")
	s.pass.Compute = s.login("gardener", "garden", "RegionTwo").Compute()
	s.oracle()
	s.SetRoutes(s.target.RouterID, routes("100.100.1.0/24 10.0.0.5", "100.100.9.0/24 10.0.0.9")...)
	for range 4 {
		_, err := s.run(10 * time.Minute)
		if openstack.ReasonOf(err) != ReasonNoProof || !strings.Contains(err.Error(), "region_name") {
			t.Errorf("error = %v, want that nothing is proven", err)
		}
	}
	s.wantLeft(2)
}

// TestRouterOfAnotherProject checks that routes are retained if the router is visible and of another project than the servers, as to an
// administrator whose own project has none of them: all servers seem to be deleted.
func TestRouterOfAnotherProject(t *testing.T) {
	s := orphaned(t, fake.Options{})
	s.AddAdmin("admin", "password", "administration")
	admin := s.login("admin", "administration", "")
	s.pass.Project, s.pass.Network, s.pass.Compute = admin.ProjectID(), admin.Network(), admin.Compute()
	for range 3 {
		_, err := s.run(10 * time.Minute)
		if openstack.ReasonOf(err) != ReasonNoProof || !strings.Contains(err.Error(), "the router is of project garden") {
			t.Errorf("error = %v, want that the router is of another project", err)
		}
	}
	s.wantLeft(4)
}

// TestNetworkOfAnotherProject checks that a route is retained if its next hop is on a network of another project, where a port of that project
// cannot be seen: unknown is not absent. A next hop on the project's own network is not in doubt.
func TestNetworkOfAnotherProject(t *testing.T) {
	s := newSite(t, fake.Options{})
	shared := s.AddNetwork("10.5.0.0/24")
	s.target.RouterID = s.AddRouter("garden", s.network, shared)
	s.ShareNetwork(shared, "platform")
	s.oracle()
	s.AddServer("platform", shared, "10.5.0.6", "ACTIVE") // a node, whose cloud controller has the credentials of both projects
	for hop, c := range map[string]struct {
		left  int
		fails bool
	}{"10.5.0.6": {3, true}, "10.5.0.7": {3, true}, "10.0.0.6": {2, false}} {
		s.SetRoutes(s.target.RouterID, routes("100.100.1.0/24 10.0.0.5", "100.100.3.0/24 10.0.0.5", "100.100.2.0/24 "+hop)...)
		for range 3 {
			_, err := s.run(10 * time.Minute)
			if fails := openstack.ReasonOf(err) == ReasonNoProof && strings.Contains(err.Error(), hop); fails != c.fails {
				t.Errorf("next hop %s: error = %v, want that nothing is proven: %t", hop, err, c.fails)
			}
		}
		s.wantLeft(c.left)
	}
}

// TestKindsOfRouters checks that orphans are found, and living servers are, behind routers whose ports have other owners: highly available
// and distributed ones. The ports of Neutron itself are of no project, so that users cannot see them.
func TestKindsOfRouters(t *testing.T) {
	type port struct{ project, owner, address string }
	for name, ports := range map[string][]port{
		"highly available": {{"garden", "network:ha_router_replicated_interface", "10.0.0.1"}, {"", "network:router_ha_interface", "169.254.192.7"}},
		"distributed":      {{"garden", "network:router_interface_distributed", "10.0.0.1"}, {"", "network:router_centralized_snat", "10.0.0.2"}},
	} {
		for _, admin := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, an administrator: %t", name, admin), func(t *testing.T) {
				s := newSite(t, fake.Options{})
				if admin {
					s.AddAdmin("admin", "password", "garden")
					client := s.login("admin", "garden", "")
					s.pass.Network, s.pass.Compute = client.Network(), client.Compute()
				}
				s.target.RouterID = s.AddRouter("garden")
				for _, p := range ports {
					network := s.network
					if p.project == "" && p.owner == "network:router_ha_interface" {
						network = s.AddNetwork("169.254.192.0/18")
					}
					s.AddPort(p.project, network, p.owner, s.target.RouterID, p.address)
				}
				s.oracle()
				s.SetRoutes(s.target.RouterID, routes("100.100.1.0/24 10.0.0.5", "100.100.2.0/24 10.0.0.6", "100.100.9.0/24 10.0.0.9")...)
				for range 3 {
					s.mustRun(10 * time.Minute)
				}
				if left := s.Routes(s.target.RouterID); !slices.Equal(left, routes("100.100.1.0/24 10.0.0.5", "100.100.9.0/24 10.0.0.9")) {
					t.Errorf("left %v, want those of the servers", left)
				}
			})
		}
	}
}

// TestLeftoverPorts checks that the route of a deleted server whose port remains is deleted if another server proves that Nova and
// Neutron are of one region.
func TestLeftoverPorts(t *testing.T) {
	for name, c := range map[string]struct {
		others bool
		left   int
	}{"another server is there": {true, 0}, "no other server is there": {false, 1}} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{})
			deleted := s.AddServer("garden", s.network, "10.0.0.6", "ACTIVE")
			if c.others {
				s.AddServer("garden", s.network, "10.0.0.5", "ACTIVE")
			}
			s.RemoveServer(deleted, true)
			s.SetRoutes(s.target.RouterID, routes("100.100.2.0/24 10.0.0.6")...)
			for range 3 {
				_, _ = s.run(10 * time.Minute)
			}
			s.wantLeft(c.left)
		})
	}
}

// TestNextHopsBesideServers covers next hops that respond but are not addresses of a server.
func TestNextHopsBesideServers(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(s *site)
		removed bool
	}{
		"an address pair of a living port": {func(s *site) {
			s.SetAddressPairs(s.AddPort("garden", s.network, "compute:nova", s.AddServer("garden", s.network, "10.0.0.20", "ACTIVE"), "10.0.0.21"), "10.0.0.6")
		}, false},
		"in a range of a living port": {func(s *site) {
			s.SetAddressPairs(s.AddPort("garden", s.network, "", "", "10.0.0.21"), "10.0.0.0/28")
		}, false},
		"an address pair of a port whose server has been deleted": {func(s *site) {
			deleted := s.AddServer("garden", s.network, "10.0.0.20", "ACTIVE")
			s.SetAddressPairs(s.AddPort("garden", s.network, "compute:nova", deleted, "10.0.0.21"), "10.0.0.6")
			s.RemoveServer(deleted, true)
		}, true},
		"not in the pair": {func(s *site) {
			s.SetAddressPairs(s.AddPort("garden", s.network, "", "", "10.0.0.21"), "10.0.0.7")
		}, true},
		"a subport of a living server": {func(s *site) {
			parent := s.AddPort("garden", s.network, "compute:nova", s.AddServer("garden", s.network, "10.0.0.20", "ACTIVE"), "10.0.0.21")
			s.AddTrunk("garden", parent, s.AddPort("garden", s.network, "", "", "10.0.0.6"))
		}, false},
		"a subport of a server that has been deleted": {func(s *site) {
			deleted := s.AddServer("garden", s.network, "10.0.0.20", "ACTIVE")
			parent := s.AddPort("garden", s.network, "compute:nova", deleted, "10.0.0.21")
			s.AddTrunk("garden", parent, s.AddPort("garden", s.network, "", "", "10.0.0.6"))
			s.RemoveServer(deleted, false)
		}, true},
		"a subport that no agent has bound, of a deleted server": {func(s *site) {
			deleted := s.AddServer("garden", s.network, "10.0.0.20", "ACTIVE")
			parent, subport := s.AddPort("garden", s.network, "compute:nova", deleted, "10.0.0.21"), s.AddPort("garden", s.network, "", "", "10.0.0.6")
			s.AddTrunk("garden", parent, subport)
			s.Unbind(subport)
			s.RemoveServer(deleted, false)
		}, true},
		"a subport whose parent is on another network": {func(s *site) {
			deleted, far := s.AddServer("garden", s.network, "10.0.0.20", "ACTIVE"), s.AddNetwork("10.7.0.0/24")
			parent := s.AddPort("garden", far, "compute:nova", deleted, "10.7.0.21")
			s.AddTrunk("garden", parent, s.AddPort("garden", s.network, "", "", "10.0.0.6"))
			s.RemoveServer(deleted, false)
		}, true},
		"a subport of a trunk that Groundskeeper must not see": {func(s *site) {
			parent := s.AddPort("elsewhere", s.network, "", "", "10.0.0.21")
			s.AddTrunk("elsewhere", parent, s.AddPort("garden", s.network, "", "", "10.0.0.6"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := orphaned(t, fake.Options{})
			c.prepare(s)
			for range 3 {
				s.mustRun(10 * time.Minute)
			}
			if got := !slices.Contains(s.Routes(s.target.RouterID), routes("100.100.2.0/24 10.0.0.6")[0]); got != c.removed {
				t.Errorf("removed = %t, want %t", got, c.removed)
			}
		})
	}
}
