// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/netip"
	"slices"

	"github.com/google/uuid"
)

// AddNetwork makes a network with one subnet, and returns its id.
func (s *Server) AddNetwork(cidr string) string {
	id := uuid.NewString()
	s.change(func(c *content) {
		c.subnets = append(c.subnets, subnet{id: uuid.NewString(), network: id, cidr: netip.MustParsePrefix(cidr)})
	})
	return id
}

// ShareNetwork gives a network to another project, which shares it: the ports there that others do not own are hidden from them.
func (s *Server) ShareNetwork(network, owner string) {
	s.change(func(c *content) { c.owners[network] = owner })
}

// AddRouter makes a router with a port on each network, at the first address of its subnet, and returns its id.
func (s *Server) AddRouter(project string, networks ...string) string {
	id := uuid.NewString()
	s.change(func(c *content) {
		c.routers[id] = &router{id: id, project: project, revision: 1, routes: []Route{}}
		for _, network := range networks {
			i := slices.IndexFunc(c.subnets, func(sub subnet) bool { return sub.network == network })
			address := c.subnets[i].cidr.Addr().Next().String()
			c.ports = append(c.ports, port{id: uuid.NewString(), project: project, network: network, owner: "network:router_interface", device: id, address: address})
		}
	})
	return id
}

// SetRoutes replaces the routes of a router without any validation.
func (s *Server) SetRoutes(routerID string, routes ...Route) {
	s.change(func(c *content) {
		c.routers[routerID].routes = slices.Clone(routes)
		c.routers[routerID].revision++
	})
}

// Routes returns the routes of a router.
func (s *Server) Routes(routerID string) (routes []Route) {
	s.change(func(c *content) { routes = slices.Clone(c.routers[routerID].routes) })
	return routes
}

// AddPort makes a port, and returns its id.
func (s *Server) AddPort(project, network, owner, device, address string) string {
	id := uuid.NewString()
	s.change(func(c *content) {
		c.ports = append(c.ports, port{id: id, project: project, network: network, owner: owner, device: device, address: address})
	})
	return id
}
