// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
)

// InvalidRoutes names the routes that make Neutron reject every change of a router's routes: their next hop is in no network of the
// router, or is the router itself. Neutron's own message quotes all routes.
func (n Network) InvalidRoutes(ctx context.Context, router Router) ([]Route, error) {
	op := "look for invalid routes of router " + router.ID
	ports, err := n.ports(ctx, op, url.Values{"device_id": {router.ID}})
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	query := url.Values{}
	for _, p := range ports {
		own = append(own, p.Addresses...)
		query.Add("network_id", p.NetworkID)
	}
	var connected []netip.Prefix
	if len(ports) > 0 {
		subnets, err := neutronList[struct {
			CIDR string `json:"cidr"`
		}](ctx, n, op, "subnets", query)
		if err != nil {
			return nil, err
		}
		for _, s := range subnets {
			cidr, err := netip.ParsePrefix(s.CIDR)
			if err != nil {
				return nil, incomplete(op, "a subnet has an address range that cannot be read")
			}
			connected = append(connected, cidr)
		}
	}
	return slices.DeleteFunc(slices.Clone(router.Routes), func(r Route) bool {
		hop, err := netip.ParseAddr(r.NextHop)
		in := func(cidr netip.Prefix) bool { return cidr.Contains(hop.Unmap()) }
		return err == nil && slices.ContainsFunc(connected, in) && !slices.Contains(own, hop.Unmap())
	}), nil
}
