// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
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
