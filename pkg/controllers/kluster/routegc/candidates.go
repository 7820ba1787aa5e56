// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// candidates returns the routes whose next hop is no address of any server, whatever the status of that. A next hop that cannot be
// read is something that Groundskeeper does not understand: its route stays.
func candidates(own []openstack.Route, servers []openstack.Server) []openstack.Route {
	live := map[netip.Addr]bool{}
	for _, s := range servers {
		for _, address := range s.Addresses {
			live[address.Unmap()] = true
		}
	}
	var found []openstack.Route
	for _, r := range own {
		if hop, err := netip.ParseAddr(r.NextHop); err == nil && !live[hop.Unmap()] {
			found = append(found, r)
		}
	}
	return found
}

// nextHops returns the addresses that routes lead to, each once.
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

// evidence is what Neutron, and Nova about single servers, report about next hops.
type evidence struct {
	ports       []openstack.Port
	floatingIPs []openstack.FloatingIP
	// absent are the devices of ports that do not exist according to Nova.
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

// at reports whether traffic to an address may reach a port: it is its own, or one that the port may use besides.
func at(port openstack.Port, hop netip.Addr) bool {
	return slices.Contains(port.Addresses, hop) || slices.ContainsFunc(port.AddressPairs, func(pair netip.Prefix) bool { return pair.Contains(hop) })
}

func atAny(port openstack.Port, hops []netip.Addr) bool {
	return slices.ContainsFunc(hops, func(hop netip.Addr) bool { return at(port, hop) })
}

// mayBeSubport reports whether a port can be the subport of a trunk: only the trunk knows.
func mayBeSubport(port openstack.Port) bool {
	return !strings.HasPrefix(port.DeviceOwner, computeOwner) && !strings.HasPrefix(port.DeviceOwner, networkOwner)
}

// dead reports whether nothing can be behind a port: its server has been deleted, or it is the subport of a trunk whose parent
// port no longer has a server. When a server is deleted, Nova detaches a port that existed before it, such as the parent port of
// a trunk.
func (e evidence) dead(port openstack.Port) bool {
	if parent, found := e.parents[port.ID]; found {
		port = parent
		if port.DeviceID == "" && port.DeviceOwner == "" {
			return true
		}
	}
	return strings.HasPrefix(port.DeviceOwner, computeOwner) && e.deleted[port.DeviceID]
}

// inUse reports whether anything can be behind an address: a port that is not dead, or a floating IP that leads to a port.
func (e evidence) inUse(hop netip.Addr) bool {
	if slices.ContainsFunc(e.ports, func(p openstack.Port) bool { return at(p, hop) && !e.dead(p) }) {
		return true
	}
	return slices.ContainsFunc(e.floatingIPs, func(f openstack.FloatingIP) bool { return f.Address == hop && f.PortID != "" })
}

// orphans returns the candidates that nothing can be behind.
func (e evidence) orphans(candidates []openstack.Route) []openstack.Route {
	return slices.DeleteFunc(slices.Clone(candidates), func(r openstack.Route) bool {
		hop, err := netip.ParseAddr(r.NextHop)
		return err != nil || e.inUse(hop.Unmap())
	})
}

// reason is why an orphan leads to no server.
func (e evidence) reason(orphan openstack.Route) kubernikusv1.OrphanReason {
	hop, err := netip.ParseAddr(orphan.NextHop)
	if err == nil && slices.ContainsFunc(e.ports, func(p openstack.Port) bool { return at(p, hop.Unmap()) }) {
		return kubernikusv1.OrphanServerDeleted
	}
	return kubernikusv1.OrphanNoPort
}

// byRouter finds Klusters by their router in the cache.
const byRouter = ControllerName + "/router"

// unknownRouter is the key in byRouter of Klusters that have routes on a router that is unknown.
const unknownRouter = "unknown"

// routerKeys returns the keys of a Kluster in byRouter.
func routerKeys(object client.Object) []string {
	k, ok := object.(*kubernikusv1.Kluster)
	switch {
	case !ok:
		return nil
	case k.RouterID() != "":
		return []string{k.RouterID()}
	case k.UsesRouter() && !k.Spec.NoCloud:
		return []string{unknownRouter}
	}
	return nil
}

// neighbours returns the Klusters on the router of one, itself among them, and those whose router is unknown, as the cache knows them:
// for reading only. There are none when the router of the Kluster itself is unknown.
func (r *reconciler) neighbours(ctx context.Context, k *kubernikusv1.Kluster) ([]kubernikusv1.Kluster, error) {
	if k.RouterID() == "" {
		return nil, nil
	}
	var all []kubernikusv1.Kluster
	for _, key := range []string{k.RouterID(), unknownRouter} {
		found := &kubernikusv1.KlusterList{}
		// Without the index each check of one would cost as much as there are Klusters.
		if err := r.client.List(ctx, found, client.MatchingFields{byRouter: key}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list klusters on router %s: %w", key, err)
		}
		all = append(all, found.Items...)
	}
	return all, nil
}
