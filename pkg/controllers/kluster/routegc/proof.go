// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// ReasonNoProof means that the servers that Nova lists may not be those that the router leads to.
const ReasonNoProof openstack.Reason = "NoProof"

// unproven returns the error of a reconcile that cannot determine whether the servers of next hops have been deleted.
func unproven(router, format string, args ...any) error {
	return &openstack.Error{Op: "find the servers behind router " + router, Reason: ReasonNoProof, Err: fmt.Errorf(format, args...)}
}

// prove queries Neutron about the next hops of the candidates, and Nova about the devices of their ports. It returns the orphans, with
// the reasons.
func (p Pass) prove(ctx context.Context, routerID string, candidates []openstack.Route, servers []openstack.Server) ([]Orphan, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	networks, err := p.Network.RouterNetworks(ctx, routerID)
	if err != nil {
		return nil, err
	}
	if len(networks) == 0 {
		// A router with routes has a network. Without its networks, the ports of next hops are unknown.
		return nil, &openstack.Error{Op: "list ports at next hops of router " + routerID, Reason: openstack.ReasonIncomplete,
			Err: errors.New("no network of the router can be seen: the user of the Secret needs to be in the router's project")}
	}
	hops := nextHops(candidates)
	e := evidence{deleted: map[string]bool{}, parents: map[string]openstack.Port{}}
	if e.ports, err = p.Network.PortsOn(ctx, networks); err != nil {
		return nil, err
	}
	if e.floatingIPs, err = p.Network.FloatingIPs(ctx, hops); err != nil {
		return nil, err
	}
	if err := p.follow(ctx, &e, hops); err != nil {
		return nil, err
	}
	if err := p.deleted(ctx, routerID, &e, hops, servers); err != nil {
		return nil, err
	}
	var orphans []Orphan
	for _, route := range e.orphans(candidates) {
		orphans = append(orphans, Orphan{Route: route, Reason: e.reason(route)})
	}
	return orphans, nil
}

// follow reads the parent ports of the trunks whose subports have the next hops.
func (p Pass) follow(ctx context.Context, e *evidence, hops []netip.Addr) error {
	subports := map[string]bool{}
	for _, port := range e.ports {
		if mayBeSubport(port) && atAny(port, hops) {
			subports[port.ID] = true
		}
	}
	if len(subports) == 0 {
		return nil
	}
	trunks, err := p.Network.Trunks(ctx)
	if err != nil {
		return err
	}
	parentOf, missing := map[string]string{}, []string{}
	for _, trunk := range trunks {
		for _, subport := range trunk.Subports {
			if subports[subport.PortID] && trunk.PortID != "" {
				parentOf[subport.PortID] = trunk.PortID
				missing = append(missing, trunk.PortID)
			}
		}
	}
	ports := map[string]openstack.Port{}
	for _, port := range e.ports {
		ports[port.ID] = port
	}
	slices.Sort(missing)
	missing = slices.DeleteFunc(slices.Compact(missing), func(id string) bool { _, known := ports[id]; return known })
	others, err := p.Network.PortsByID(ctx, missing)
	if err != nil {
		return err
	}
	for _, port := range others {
		ports[port.ID] = port
	}
	for subport, id := range parentOf {
		// A parent that cannot be seen proves nothing.
		if parent, found := ports[id]; found {
			e.parents[subport] = parent
		}
	}
	return nil
}

// absent queries Nova about the servers of ports that it did not list. That one does not know a server proves that it has been
// deleted only when it is the Nova of the router's own region. The proof is a server of its list with a port on the router's
// networks.
func (p Pass) deleted(ctx context.Context, routerID string, e *evidence, hops []netip.Addr, servers []openstack.Server) error {
	known := map[string]bool{"": true} // a port without a device may be of anything
	for _, s := range servers {
		known[s.ID] = true
	}
	proven := slices.ContainsFunc(e.ports, func(port openstack.Port) bool {
		return port.DeviceID != "" && known[port.DeviceID] && strings.HasPrefix(port.DeviceOwner, computeOwner)
	})
	for _, port := range e.ports {
		if !atAny(port, hops) {
			continue
		}
		if parent, isSubport := e.parents[port.ID]; isSubport {
			port = parent
		}
		if known[port.DeviceID] || !strings.HasPrefix(port.DeviceOwner, computeOwner) {
			continue
		}
		if !proven {
			return unproven(routerID, "Neutron has a port of server %s at a next hop, and Nova lists %d servers, none of which has a port on the networks of the router: "+
				"they may be of another region, check region_name in the Secret; if the server has been deleted, delete its port", port.DeviceID, len(servers))
		}
		exists, err := p.Compute.ServerExists(ctx, port.DeviceID)
		if err != nil {
			return err
		}
		known[port.DeviceID] = true
		e.deleted[port.DeviceID] = !exists
	}
	return nil
}
