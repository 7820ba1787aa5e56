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
	memberships []membership
	forbidden   map[string]bool // by project
	tokens      map[string]token

	applications []applicationCredential

	routers     map[string]*router
	subnets     []subnet
	ports       []port
	trunks      []*trunk
	floatingIPs []floatingIP
	servers     []server // the youngest first, as Nova lists them
	cellDown    bool
	groups      []*securityGroup
	external    map[string]bool   // networks that lead to the outside
	owners      map[string]string // owners of the networks that are of no project that has ports there

	volumes   []*volume
	snapshots []*snapshot

	shares         []*share
	shareSnapshots []*shareSnapshot

	balancers []*loadBalancer
	listeners []*listener
	pools     []*pool
	members   []*member

	steps         []step
	held, failing map[string]bool
}

type user struct {
	password, project string
	admin             bool
}

type token struct {
	user, project string
	admin         bool
	end           time.Time
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
	name, description                            string
	groups                                       []string
	// pairs are the allowed address pairs, each an address or a range.
	pairs    []string
	tags     []string
	revision int
}

// trunk has a parent port, and subports that it leads traffic of.
type trunk struct {
	id, project, port string
	subports          []subport
}

type subport struct {
	port string
	vlan int
}

type floatingIP struct {
	id, project, network, address, description, port string
}

type server struct {
	id, project, name, status string
	addresses                 []string
	inDownCell                bool
}

func newContent() content {
	return content{
		users: map[string]*user{}, forbidden: map[string]bool{}, tokens: map[string]token{}, routers: map[string]*router{},
		external: map[string]bool{}, owners: map[string]string{}, held: map[string]bool{}, failing: map[string]bool{},
	}
}

// change runs a function with the content locked.
func (s *Server) change(do func(*content)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	do(&s.content)
}

// AddUser makes a user, or gives one a new password. The project's name is its id.
func (s *Server) AddUser(name, password, project string) {
	s.change(func(c *content) { c.users[name] = &user{password: password, project: project} })
}

// AddAdmin is AddUser for one who sees what all projects own.
func (s *Server) AddAdmin(name, password, project string) {
	s.change(func(c *content) { c.users[name] = &user{password: password, project: project, admin: true} })
}

// RevokeTokens ends all tokens.
func (s *Server) RevokeTokens() { s.change(func(c *content) { clear(c.tokens) }) }

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
		made := floatingIP{id: uuid.NewString(), project: project, address: address}
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

// RemoveServer deletes a server; its ports stay when keepPorts reports so, as after a failed clean-up.
func (s *Server) RemoveServer(id string, keepPorts bool) {
	s.change(func(c *content) {
		c.servers = slices.DeleteFunc(c.servers, func(v server) bool { return v.id == id })
		for _, v := range c.volumes {
			v.AttachedTo = slices.DeleteFunc(v.AttachedTo, func(to string) bool { return to == id })
			v.settle()
		}
		// Nova gives back the ports that it did not make itself, as those of trunks.
		for i := range c.ports {
			if p := &c.ports[i]; p.device == id && c.trunkOf(p.id) != nil {
				p.device, p.owner = "", ""
			}
		}
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

// CellDown reports that the cell of some servers is down, or up again.
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
