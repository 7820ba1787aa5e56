// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/google/uuid"
)

// FloatingIP is a floating address of a project.
type FloatingIP struct {
	ID, Address, Description string
	// PortID is the port it leads to, as the VIPPortID of a load balancer; empty: nowhere.
	PortID string
}

// AddExternalNetwork makes a network that floating IPs come from, and returns its id.
func (s *Server) AddExternalNetwork(cidr string) string {
	id := s.AddNetwork(cidr)
	s.change(func(c *content) { c.external[id] = true })
	return id
}

// AddFloatingIPFor makes a floating IP, and returns its id, a new one if it has none.
func (s *Server) AddFloatingIPFor(project string, f FloatingIP) string {
	made := floatingIP{id: newID(f.ID), project: project, address: f.Address, description: f.Description, port: f.PortID}
	s.change(func(c *content) { c.floatingIPs = append(c.floatingIPs, made) })
	return made.id
}

// RemoveFloatingIP takes a floating IP away.
func (s *Server) RemoveFloatingIP(id string) { s.change(func(c *content) { c.removeFloatingIP(id) }) }

// FloatingIPs returns the floating IPs of a project.
func (s *Server) FloatingIPs(project string) (all []FloatingIP) {
	s.change(func(c *content) {
		for _, f := range c.floatingIPs {
			if f.project == project {
				all = append(all, FloatingIP{ID: f.id, Address: f.address, Description: f.description, PortID: f.port})
			}
		}
	})
	return all
}

func (s *Server) listFloatingIPs(c *call) *problem {
	var all []any
	for _, f := range s.content.floatingIPs {
		if c.sees(f.project) {
			all = append(all, s.floatingBody(f))
		}
	}
	found, unknown := filter(c.URL.Query(), all, "id", "floating_ip_address", "floating_network_id", "port_id", "description", "status", "project_id", "tenant_id")
	if unknown != "" {
		return unfit(unknown)
	}
	return s.writePage(c, "floatingips", found)
}

func (s *Server) showFloatingIP(c *call) *problem {
	f, p := s.visibleFloatingIP(c)
	if p != nil {
		return p
	}
	return c.write(http.StatusOK, map[string]any{"floatingip": s.floatingBody(*f)})
}

func (s *Server) createFloatingIP(c *call) *problem {
	var given struct {
		NetworkID    string  `json:"floating_network_id"`
		Address      string  `json:"floating_ip_address"`
		SubnetID     any     `json:"subnet_id"`
		PortID       *string `json:"port_id"`
		FixedAddress any     `json:"fixed_ip_address"`
		Description  string  `json:"description"`
		ProjectID    string  `json:"project_id"`
		TenantID     string  `json:"tenant_id"`
	}
	if p := readNeutron(c, "floatingip", &given); p != nil {
		return p
	}
	if given.NetworkID == "" {
		return required("floating_network_id")
	}
	sub := s.content.subnet(s.subnetOf(given.NetworkID))
	if sub == nil {
		return &problem{status: http.StatusNotFound, kind: "NetworkNotFound", message: "Network " + given.NetworkID + " could not be found."}
	}
	if !s.content.external[given.NetworkID] {
		return badRequest("BadRequest", "Bad floatingip request: Network %s is not a valid external network.", given.NetworkID)
	}
	made := floatingIP{id: uuid.NewString(), project: c.project, network: given.NetworkID, description: given.Description}
	if given.PortID != nil {
		if p := s.associate(c, &made, *given.PortID); p != nil {
			return p
		}
	}
	address, p := s.freeFloating(sub, given.Address)
	if p != nil {
		return p
	}
	made.address = address
	s.content.floatingIPs = append(s.content.floatingIPs, made)
	return c.write(http.StatusCreated, map[string]any{"floatingip": s.floatingBody(made)})
}

// updateFloatingIP leads a floating IP to another port, or with null nowhere, and changes its description.
func (s *Server) updateFloatingIP(c *call) *problem {
	var given struct {
		PortID       *string `json:"port_id"`
		FixedAddress any     `json:"fixed_ip_address"`
		Description  *string `json:"description"`
	}
	if p := readNeutron(c, "floatingip", &given); p != nil {
		return p
	}
	f, p := s.visibleFloatingIP(c)
	if p != nil {
		return p
	}
	if given.PortID != nil {
		if p := s.associate(c, f, *given.PortID); p != nil {
			return p
		}
	} else if _, ok := dig(c.body, "floatingip")["port_id"]; ok {
		f.port = ""
	}
	if given.Description != nil {
		f.description = *given.Description
	}
	return c.write(http.StatusOK, map[string]any{"floatingip": s.floatingBody(*f)})
}

func (s *Server) deleteFloatingIP(c *call) *problem {
	f, p := s.visibleFloatingIP(c)
	if p != nil {
		return p
	}
	s.content.removeFloatingIP(f.id)
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

// associate leads a floating IP to a port that the project may see and that has none yet.
func (s *Server) associate(c *call, f *floatingIP, portID string) *problem {
	if _, p := s.visiblePort(c, portID); p != nil {
		return p
	}
	for _, other := range s.content.floatingIPs {
		if other.port == portID && other.id != f.id {
			return &problem{status: http.StatusConflict, kind: "FloatingIPPortAlreadyAssociated", message: "Cannot associate floating IP " + f.address + " (" + f.id +
				") with port " + portID + ", as that fixed IP already has a floating IP on external network " + f.network + "."}
		}
	}
	f.port = portID
	return nil
}

// freeFloating is allocate for addresses of floating IPs, which have no port of a project.
func (s *Server) freeFloating(sub *subnet, wanted string) (string, *problem) {
	taken := content{}
	for _, f := range s.content.floatingIPs {
		taken.ports = append(taken.ports, port{network: sub.network, address: f.address})
	}
	return taken.allocate(sub, wanted)
}

func (s *Server) visibleFloatingIP(c *call) (*floatingIP, *problem) {
	id := c.PathValue("id")
	if i := slices.IndexFunc(s.content.floatingIPs, func(f floatingIP) bool { return f.id == id && c.sees(f.project) }); i >= 0 {
		return &s.content.floatingIPs[i], nil
	}
	return nil, &problem{status: http.StatusNotFound, kind: "FloatingIPNotFound", message: "Floating IP " + id + " could not be found"}
}

func (s *Server) floatingBody(f floatingIP) map[string]any {
	status, fixed := "DOWN", any(nil)
	if p := s.content.port(f.port); p != nil {
		status, fixed = "ACTIVE", p.address
	}
	return map[string]any{"id": f.id, "floating_ip_address": f.address, "floating_network_id": f.network, "port_id": orNull(f.port), "router_id": nil,
		"fixed_ip_address": fixed, "project_id": f.project, "tenant_id": f.project, "description": f.description, "status": status, "tags": []any{}}
}

// removeFloatingIP takes a floating IP away, from the server that has it, too.
func (c *content) removeFloatingIP(id string) {
	i := slices.IndexFunc(c.floatingIPs, func(f floatingIP) bool { return f.id == id })
	if i < 0 {
		return
	}
	deleted := netip.MustParseAddr(c.floatingIPs[i].address).String()
	for n, v := range c.servers {
		c.servers[n].addresses = slices.DeleteFunc(v.addresses, func(address string) bool { return address == deleted })
	}
	c.floatingIPs = slices.Delete(c.floatingIPs, i, i+1)
}
