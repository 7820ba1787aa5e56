// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"net/netip"
	"slices"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// candidates are the routes whose next hop is no address of any server, whatever the status of that. A next hop that
// cannot be read is somebody's idea that we do not understand: its route stays.
func candidates(ours []openstack.Route, servers []openstack.Server) []openstack.Route {
	live := map[netip.Addr]bool{}
	for _, s := range servers {
		for _, address := range s.Addresses {
			live[address.Unmap()] = true
		}
	}
	var found []openstack.Route
	for _, r := range ours {
		if hop, err := netip.ParseAddr(r.NextHop); err == nil && !live[hop.Unmap()] {
			found = append(found, r)
		}
	}
	return found
}

// nextHops are the addresses that routes lead to, each once.
func nextHops(routes []openstack.Route) []netip.Addr {
	var hops []netip.Addr
	for _, r := range routes {
		if hop, err := netip.ParseAddr(r.NextHop); err == nil {
			hops = append(hops, hop.Unmap())
		}
	}
	slices.SortFunc(hops, netip.Addr.Compare)
	return slices.Compact(hops)
}

// evidence is what Neutron, and Nova about single servers, say about next hops.
type evidence struct {
	ports       []openstack.Port
	floatingIPs []openstack.FloatingIP
	// gone are the devices of ports that Nova says do not exist.
	gone map[string]bool
}

// computeOwner begins the owner of a port of a server.
const computeOwner = "compute:"

// inUse says whether anything can be behind an address: a port, but for one of a server that is gone, or a floating IP
// that leads to a port.
func (e evidence) inUse(hop netip.Addr) bool {
	for _, p := range e.ports {
		leftover := strings.HasPrefix(p.DeviceOwner, computeOwner) && e.gone[p.DeviceID]
		if slices.Contains(p.Addresses, hop) && !leftover {
			return true
		}
	}
	return slices.ContainsFunc(e.floatingIPs, func(f openstack.FloatingIP) bool { return f.Address == hop && f.PortID != "" })
}

// orphans are the candidates that nothing can be behind.
func (e evidence) orphans(candidates []openstack.Route) []openstack.Route {
	return slices.DeleteFunc(slices.Clone(candidates), func(r openstack.Route) bool {
		hop, err := netip.ParseAddr(r.NextHop)
		return err != nil || e.inUse(hop.Unmap())
	})
}
