// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"net/netip"
	"slices"
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// candidate is a route whose next hop is no address of any server.
type candidate struct {
	openstack.Route
	hop netip.Addr
}

// candidates returns the routes whose next hop is no address of any server, whatever the status of that. A next hop that cannot be
// read is something that Groundskeeper does not understand: its route stays.
func candidates(own []openstack.Route, servers []openstack.Server) []candidate {
	live := map[netip.Addr]bool{}
	for _, s := range servers {
		for _, address := range s.Addresses {
			live[address.Unmap()] = true
		}
	}
	var found []candidate
	for _, r := range own {
		if hop, err := netip.ParseAddr(r.NextHop); err == nil && !live[hop.Unmap()] {
			found = append(found, candidate{r, hop.Unmap()})
		}
	}
	return found
}

// evidence is what Neutron, and Nova about single servers, report about next hops.
type evidence struct {
	ports       []openstack.Port
	floatingIPs []openstack.FloatingIP
	// deleted are the devices of ports that do not exist according to Nova.
	deleted map[string]bool
	// parents are the parent ports of subports of trunks, by the id of the subport.
	parents map[string]openstack.Port
}

const (
	// computeOwner begins the owner of a port of a server.
	computeOwner = "compute:"
	// networkOwner begins the owner of a port of Neutron itself, as of a router.
	networkOwner = "network:"
)

// at returns the ports that traffic to an address may reach: it is their own, or one that they may use besides.
func (e evidence) at(hops ...netip.Addr) []openstack.Port {
	var found []openstack.Port
	for _, port := range e.ports {
		reaches := func(hop netip.Addr) bool {
			return slices.Contains(port.Addresses, hop) ||
				slices.ContainsFunc(port.AddressPairs, func(pair netip.Prefix) bool { return pair.Contains(hop) })
		}
		if slices.ContainsFunc(hops, reaches) {
			found = append(found, port)
		}
	}
	return found
}

// mayBeSubport reports whether a port can be the subport of a trunk: only the trunk knows.
func mayBeSubport(port openstack.Port) bool {
	return !strings.HasPrefix(port.DeviceOwner, computeOwner) && !strings.HasPrefix(port.DeviceOwner, networkOwner)
}

// alive reports whether anything can be behind a port, unless its server has been deleted, or it is the subport of a trunk whose parent
// port no longer has a server. When a server is deleted, Nova detaches a port that existed before it, such as the parent port of
// a trunk.
func (e evidence) alive(port openstack.Port) bool {
	if parent, found := e.parents[port.ID]; found {
		port = parent
		if port.DeviceID == "" && port.DeviceOwner == "" {
			return false
		}
	}
	return !strings.HasPrefix(port.DeviceOwner, computeOwner) || !e.deleted[port.DeviceID]
}

// orphans returns the candidates that nothing can be behind: no port that may be alive, and no floating IP that leads to a port.
func (e evidence) orphans(candidates []candidate) []Orphan {
	var found []Orphan
	for _, c := range candidates {
		ports := e.at(c.hop)
		floats := func(f openstack.FloatingIP) bool { return f.Address == c.hop && f.PortID != "" }
		if slices.ContainsFunc(ports, e.alive) || slices.ContainsFunc(e.floatingIPs, floats) {
			continue
		}
		orphan := Orphan{Route: c.Route, Reason: kubernikusv1.OrphanNoPort}
		if len(ports) > 0 {
			orphan.Reason = kubernikusv1.OrphanServerDeleted
		}
		found = append(found, orphan)
	}
	return found
}
