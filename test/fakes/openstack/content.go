// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Route is a static route of a router.
type Route struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

// content is all that the fake holds.
type content struct {
	users       map[string]*user
	tokens      map[string]token
	routers     map[string]*router
	subnets     []subnet
	ports       []port
	floatingIPs []floatingIP
	servers     []server // the youngest first, as Nova lists them
	cellDown    bool
}

type user struct {
	password, project string
	forbidden         bool
}

type token struct {
	project string
	end     time.Time
}

type router struct {
	id, project string
	revision    int
	routes      []Route
}

type subnet struct {
	id, network string
	cidr        netip.Prefix
}

type port struct {
	id, project, network, owner, device, address string
}

type floatingIP struct {
	project, address, port string
}

type server struct {
	id, project, name, status string
	addresses                 []string
	inDownCell                bool
}

func newContent() content {
	return content{users: map[string]*user{}, tokens: map[string]token{}, routers: map[string]*router{}}
}

// change runs a function with the content locked.
func (s *Server) change(do func(*content)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(&s.content)
}

// AddUser makes a user, or gives one a new password. The project's name is its id.
func (s *Server) AddUser(name, password, project string) {
	s.change(func(c *content) { c.users[name] = &user{password: password, project: project} })
}

// Forbid makes Neutron and Nova answer 403 to a project.
func (s *Server) Forbid(name string) { s.change(func(c *content) { c.users[name].forbidden = true }) }

// RevokeTokens ends all tokens.
func (s *Server) RevokeTokens() { s.change(func(c *content) { clear(c.tokens) }) }

// AddNetwork makes a network with one subnet, and returns its id.
func (s *Server) AddNetwork(cidr string) string {
	id := uuid.NewString()
	s.change(func(c *content) {
		c.subnets = append(c.subnets, subnet{id: uuid.NewString(), network: id, cidr: netip.MustParsePrefix(cidr)})
	})
	return id
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

// AddServer makes a server with one port, and returns its id.
func (s *Server) AddServer(project, network, address, status string) string {
	id := uuid.NewString()
	s.AddPort(project, network, "compute:nova", id, address)
	s.change(func(c *content) {
		made := server{id: id, project: project, name: "node-" + address, status: status, addresses: []string{address}}
		c.servers = slices.Insert(c.servers, 0, made)
	})
	return id
}

// AddFloatingIP gives a server a floating address, or makes one that leads nowhere when serverID is empty.
func (s *Server) AddFloatingIP(project, address, serverID string) {
	s.change(func(c *content) {
		made := floatingIP{project: project, address: address}
		for i := range c.servers {
			if c.servers[i].id == serverID {
				c.servers[i].addresses = append(c.servers[i].addresses, address)
			}
		}
		for _, p := range c.ports {
			if serverID != "" && p.device == serverID {
				made.port = p.id
			}
		}
		c.floatingIPs = append(c.floatingIPs, made)
	})
}

// RemoveServer deletes a server; its ports stay when keepPorts says so, as after a failed clean-up.
func (s *Server) RemoveServer(id string, keepPorts bool) {
	s.change(func(c *content) {
		c.servers = slices.DeleteFunc(c.servers, func(v server) bool { return v.id == id })
		if !keepPorts {
			c.ports = slices.DeleteFunc(c.ports, func(p port) bool { return p.device == id })
		}
	})
}

// HideServer takes a server out of Nova's lists, though it exists.
func (s *Server) HideServer(id string) {
	s.change(func(c *content) {
		for i := range c.servers {
			if c.servers[i].id == id {
				c.servers[i].project += "-hidden"
			}
		}
	})
}

// CellDown says that the cell of some servers is down, or up again.
func (s *Server) CellDown(down bool, serverIDs ...string) {
	s.change(func(c *content) {
		c.cellDown = down
		for i := range c.servers {
			c.servers[i].inDownCell = slices.Contains(serverIDs, c.servers[i].id)
		}
	})
}

// String names the route as a person would.
func (r Route) String() string { return fmt.Sprintf("%s via %s", r.Destination, r.NextHop) }
