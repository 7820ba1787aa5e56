// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"net/netip"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

func TestCandidates(t *testing.T) {
	servers := []openstack.Server{
		{ID: "a", Status: "ACTIVE", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("1.2.3.4")}},
		{ID: "b", Status: "ERROR", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.9")}},
		{ID: "c", Status: "ACTIVE", Addresses: []netip.Addr{netip.MustParseAddr("2001:db8::5")}},
	}
	for hop, want := range map[string]bool{
		"10.0.0.5": false, "10.0.0.6": true, "10.0.0.9": false, "1.2.3.4": false, "::ffff:10.0.0.5": false, "2001:DB8:0:0::5": false,
		"nonsense": false, "": false, "10.0.0.05": false,
	} {
		t.Run(hop, func(t *testing.T) {
			if got := len(candidates([]openstack.Route{route("100.100.1.0/24", hop)}, servers)) == 1; got != want {
				t.Errorf("candidate = %t, want %t", got, want)
			}
		})
	}
}

func TestEvidence(t *testing.T) {
	hop := netip.MustParseAddr("10.0.0.6")
	port := func(owner, device string) openstack.Port {
		return openstack.Port{ID: "p", DeviceOwner: owner, DeviceID: device, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.60"), hop}}
	}
	deleted := map[string]bool{"gone": true}
	for name, c := range map[string]struct {
		evidence evidence
		inUse    bool
	}{
		"nothing":            {evidence{}, false},
		"a port of a server": {evidence{ports: []openstack.Port{port("compute:nova", "there")}, deleted: deleted}, true},
		"a port of a server that has been deleted": {evidence{ports: []openstack.Port{port("compute:az1", "gone")}, deleted: deleted}, false},
		"two ports, one of a server":               {evidence{ports: []openstack.Port{port("compute:az1", "gone"), port("compute:az1", "there")}, deleted: deleted}, true},
		"a port of a load balancer":                {evidence{ports: []openstack.Port{port("Octavia", "gone")}, deleted: deleted}, true},
		"a port of no client":                      {evidence{ports: []openstack.Port{port("", "")}, deleted: deleted}, true},
		"a port elsewhere":                         {evidence{ports: []openstack.Port{{DeviceOwner: "Octavia", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.7")}}}}, false},
		"a floating IP":                            {evidence{floatingIPs: []openstack.FloatingIP{{Address: hop, PortID: "p"}}}, true},
		"a floating IP of nothing":                 {evidence{floatingIPs: []openstack.FloatingIP{{Address: hop}}}, false},
		"another floating IP":                      {evidence{floatingIPs: []openstack.FloatingIP{{Address: netip.MustParseAddr("1.1.1.1"), PortID: "p"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(c.evidence.orphans([]candidate{{route("100.100.1.0/24", "10.0.0.6"), hop}})) == 0; got != c.inUse {
				t.Errorf("in use: %v", got)
			}
		})
	}
}

// The reason of an orphan is a port that its server left behind, or that there is no port.
func TestOrphanReason(t *testing.T) {
	e := evidence{ports: []openstack.Port{{DeviceOwner: "compute:nova", DeviceID: "gone", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.6")}}}, deleted: map[string]bool{"gone": true}}
	for hop, want := range map[string]kubernikusv1.OrphanReason{"10.0.0.6": kubernikusv1.OrphanServerDeleted, "10.0.0.7": kubernikusv1.OrphanNoPort} {
		t.Run(string(want), func(t *testing.T) {
			got := e.orphans([]candidate{{route("100.100.1.0/24", hop), netip.MustParseAddr(hop)}})
			if len(got) != 1 || got[0].Reason != want {
				t.Errorf("orphans of the next hop %s = %+v, want the reason %s", hop, got, want)
			}
		})
	}
}
