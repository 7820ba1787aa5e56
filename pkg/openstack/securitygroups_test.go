// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestSecurityGroups(t *testing.T) {
	for name, o := range map[string]fake.Options{"filter": {}, "no filter": {NoGroupFilter: true}} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t, o)
			s.AddAdmin("gardener", secretWord, "garden")
			network := s.AddNetwork(subnetCIDR)
			id := s.AddSecurityGroup("garden", fake.SecurityGroup{Name: "lb-sg-1-ns-web", Description: "LoadBalancer in cluster k"})
			s.AddSecurityGroup("other", fake.SecurityGroup{Name: "theirs"})
			port := s.AddPort("garden", network, "compute:nova", "server", "10.0.0.5")
			s.SetSecurityGroups(s.AddPort("garden", network, "compute:nova", "another", "10.0.0.6"), "x")
			s.SetSecurityGroups(port, "x", id)
			n := connected(t, s).Network()
			groups, err := n.SecurityGroups(t.Context())
			want := SecurityGroup{ID: id, Name: "lb-sg-1-ns-web", Description: "LoadBalancer in cluster k", ProjectID: "garden"}
			if err != nil || len(groups) != 2 || !slices.Contains(groups, want) { // and the default one
				t.Errorf("got %+v, %v", groups, err)
			}
			ports, err := n.PortsOfSecurityGroup(t.Context(), id)
			if err != nil || len(ports) != 1 || ports[0].ID != port || ports[0].DeviceID != "server" || !slices.Equal(ports[0].SecurityGroupIDs, []string{"x", id}) {
				t.Errorf("got %+v, %v", ports, err)
			}
			for _, r := range s.Requests() {
				wanted := map[string]string{"/network/v2.0/security-groups": "project_id=garden", "/network/v2.0/ports": "security_groups=" + id}
				if o.NoGroupFilter {
					delete(wanted, "/network/v2.0/ports")
				}
				if r.Query != wanted[r.Path] {
					t.Errorf("queries %s?%s", r.Path, r.Query)
				}
			}
			if err := n.DeleteSecurityGroup(t.Context(), id); ReasonOf(err) != ReasonConflict || !strings.Contains(err.Error(), "in use") {
				t.Errorf("one with a port: %v", err)
			}
			s.SetSecurityGroups(port)
			if ports, err := n.PortsOfSecurityGroup(t.Context(), id); err != nil || len(ports) != 0 {
				t.Errorf("got %+v, %v", ports, err)
			}
			for range 2 { // the second time it has been deleted
				if err := n.DeleteSecurityGroup(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
			if left := s.SecurityGroups("garden"); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
			s.Inject(fake.Fault{Path: "/network/v2.0/security-groups", Times: 1, Status: 200, Body: `{"security_groups": [{"id": "a", "project_id": "other"}]}`})
			if groups, err := n.SecurityGroups(t.Context()); len(groups) != 0 || err != nil {
				t.Errorf("the neighbour's: %v, %v", groups, err)
			}
			s.Inject(fake.Fault{Path: "/network/v2.0/security-groups", Status: 200, Body: `{"security_groups": [{"name": "a", "project_id": "garden"}]}`})
			if groups, err := n.SecurityGroups(t.Context()); groups != nil || ReasonOf(err) != ReasonIncomplete {
				t.Errorf("without an id: %v, %v", groups, err)
			}
			s.Inject(fake.Fault{Path: "/network/v2.0/ports", Status: 500})
			if ports, err := n.PortsOfSecurityGroup(t.Context(), id); len(ports) != 0 || ReasonOf(err) != ReasonUnreachable {
				t.Errorf("a failure is no port: %v, %v", ports, err)
			}
		})
	}
}

func TestFloatingIPs(t *testing.T) {
	s := newFake(t, fake.Options{PageSize: 2})
	s.AddAdmin("gardener", secretWord, "garden")
	network := s.AddNetwork(subnetCIDR)
	port := s.AddPort("garden", network, "Octavia", "lb-x", "10.0.0.5")
	const text = "Floating IP for Kubernetes external service ns/web from cluster k"
	id := s.AddFloatingIPFor("garden", fake.FloatingIP{Address: "1.2.3.4", Description: text, PortID: port})
	s.AddFloatingIPFor("garden", fake.FloatingIP{Address: "1.2.3.5"})
	s.AddFloatingIPFor("other", fake.FloatingIP{Address: "1.2.3.6", Description: text})
	n := connected(t, s).Network()
	found, err := n.ProjectFloatingIPs(t.Context())
	want := FloatingIP{ID: id, ProjectID: "garden", Description: text, Address: netip.MustParseAddr("1.2.3.4"), PortID: port}
	if err != nil || len(found) != 2 || found[0] != want || found[1].PortID != "" {
		t.Errorf("got %+v, %v", found, err)
	}
	for _, r := range s.Requests() {
		if r.Path == "/network/v2.0/floatingips" && !strings.Contains(r.Query, "project_id=garden") {
			t.Errorf("an administrator would see all projects: %s", r.Query)
		}
	}
	for range 2 { // the second time it has been deleted
		if err := n.DeleteFloatingIP(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if left := s.FloatingIPs("garden"); len(left) != 1 || left[0].Address != "1.2.3.5" {
		t.Errorf("left: %v", left)
	}
	s.Inject(fake.Fault{Path: "/network/v2.0/floatingips", Times: 1, Status: 200, Body: `{"floatingips": [{"id": "a", "project_id": "other", "floating_ip_address": "1.2.3.9"}]}`})
	if found, err := n.ProjectFloatingIPs(t.Context()); len(found) != 0 || err != nil {
		t.Errorf("the neighbour's: %v, %v", found, err)
	}
	for _, entry := range []string{`{"id": "a", "floating_ip_address": "nonsense"}`, `{"floating_ip_address": "1.2.3.9"}`} {
		s.Inject(fake.Fault{Path: "/network/v2.0/floatingips", Times: 1, Status: 200, Body: `{"floatingips": [` + entry + `]}`})
		if found, err := n.ProjectFloatingIPs(t.Context()); found != nil || ReasonOf(err) != ReasonIncomplete {
			t.Errorf("%s: %v, %v", entry, found, err)
		}
	}
}
