// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"
)

// createBalancer begins to make a load balancer, with all that is given to depend on it.
func (s *Server) createBalancer(c *call) *problem {
	var given newBalancer
	if p := readOctavia(c, "loadbalancer", &given); p != nil {
		return p
	}
	if owner := given.ProjectID + given.TenantID; owner != "" && !c.sees(owner) {
		return notAllowed()
	}
	provider, _ := given.Provider.(string) // null is the default one
	made := &loadBalancer{project: c.project, LoadBalancer: LoadBalancer{ID: uuid.NewString(), Provider: provider, Name: given.Name, Description: given.Description,
		ProvisioningStatus: active, OperatingStatus: "OFFLINE", AdminDown: given.down(), Tags: given.Tags, VIP: given.VIPAddress,
		VIPPortID: given.VIPPortID, VIPSubnetID: given.VIPSubnetID, VIPNetworkID: given.VIPNetworkID}}
	for _, l := range given.Listeners {
		if l.DefaultPool != nil && l.DefaultPool.Protocol != "" {
			given.Pools = append(given.Pools, *l.DefaultPool)
		}
	}
	named := map[string]string{}
	for _, p := range given.Pools {
		if wrong := p.check(); wrong != nil {
			return wrong
		}
		if _, twice := named[p.Name]; twice || p.Name == "" {
			return invalid("Pool names must be unique when creating a fully populated loadbalancer.")
		}
		named[p.Name] = uuid.NewString()
	}
	for _, l := range given.Listeners {
		if wrong := l.check(); wrong != nil {
			return wrong
		}
		if l.DefaultPool != nil && named[l.DefaultPool.Name] == "" {
			return invalid("Pool '" + l.DefaultPool.Name + "' was referenced but no full definition was found.")
		}
	}
	if p := s.placeVIP(made); p != nil {
		return p
	}
	s.content.balancers = append(s.content.balancers, made)
	for _, p := range given.Pools {
		s.content.addPool(made, named[p.Name], p)
	}
	for _, l := range given.Listeners {
		if l.DefaultPool != nil {
			l.DefaultPoolID = named[l.DefaultPool.Name]
		}
		s.content.addListener(made, l)
	}
	s.begin(made, pendingCreate)
	return c.write(http.StatusCreated, map[string]any{"loadbalancer": s.balancerBody(made, true)})
}

// placeVIP finds the address of a new load balancer, and makes a port for it unless one is given.
func (s *Server) placeVIP(b *loadBalancer) *problem {
	switch {
	case b.VIPPortID != "":
		p := s.content.port(b.VIPPortID)
		if p == nil {
			return octaviaProblem(http.StatusBadRequest, "Port "+b.VIPPortID+" not found.")
		}
		if p.device != "" {
			return invalid("Port " + p.id + " is already used by device " + p.device + " ")
		}
		b.VIP, b.VIPNetworkID, b.VIPSubnetID = p.address, p.network, s.subnetOf(p.network)
		p.device = "lb-" + b.ID
		return nil
	case b.VIPSubnetID != "":
		sub := s.content.subnet(b.VIPSubnetID)
		if sub == nil {
			return octaviaProblem(http.StatusBadRequest, "Subnet "+b.VIPSubnetID+" not found.")
		}
		b.VIPNetworkID = sub.network
	case b.VIPNetworkID != "":
		if b.VIPSubnetID = s.subnetOf(b.VIPNetworkID); b.VIPSubnetID == "" {
			return octaviaProblem(http.StatusBadRequest, "Network "+b.VIPNetworkID+" not found.")
		}
	default:
		return invalid("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
	}
	address, p := s.content.allocate(s.content.subnet(b.VIPSubnetID), b.VIP)
	if p != nil {
		return octaviaProblem(p.status, p.message)
	}
	b.VIP = address
	s.content.addVIPPort(b)
	return nil
}

func (s *Server) createListener(c *call) *problem {
	var given newListener
	if p := readOctavia(c, "listener", &given); p != nil {
		return p
	}
	if p := given.check(); p != nil {
		return p
	}
	if given.LoadBalancerID == "" {
		return badField("loadbalancer_id", "None")
	}
	b, p := s.visibleBalancer(c, given.LoadBalancerID)
	if p != nil {
		return p
	}
	if given.DefaultPoolID != "" && find(s.content.poolsOf(b.ID), given.DefaultPoolID) == nil {
		return missing("Pool", given.DefaultPoolID)
	}
	for _, l := range s.content.listenersOf(b.ID) {
		if l.Port == given.Port && (l.Protocol == "UDP") == (given.Protocol == "UDP") {
			return octaviaProblem(http.StatusConflict, fmt.Sprintf("Another Listener on this Load Balancer is already using protocol %s and protocol_port %d",
				given.Protocol, given.Port))
		}
	}
	if p := s.beginChild(b.ID); p != nil {
		return p
	}
	return c.write(http.StatusCreated, map[string]any{"listener": s.listenerBody(s.content.addListener(b, given))})
}

func (s *Server) createPool(c *call) *problem {
	var given newPool
	if p := readOctavia(c, "pool", &given); p != nil {
		return p
	}
	if p := given.check(); p != nil {
		return p
	}
	var before []*listener
	if given.ListenerID != "" {
		l, p := s.visibleListener(c, given.ListenerID)
		if p != nil {
			return p
		}
		if l.DefaultPoolID != "" {
			return octaviaProblem(http.StatusConflict, "This listener already has a default pool")
		}
		given.LoadBalancerID, before = l.balancer, []*listener{l}
	}
	if given.LoadBalancerID == "" {
		return invalid("Must provide at least one of: loadbalancer_id, listener_id")
	}
	b, p := s.visibleBalancer(c, given.LoadBalancerID)
	if p != nil {
		return p
	}
	if p := s.beginChild(b.ID, before...); p != nil {
		return p
	}
	made := s.content.addPool(b, uuid.NewString(), given)
	for _, l := range before {
		l.DefaultPoolID = made.ID
	}
	return c.write(http.StatusCreated, map[string]any{"pool": s.poolBody(made, false)})
}

func (s *Server) createMember(c *call) *problem {
	var given newMember
	if p := readOctavia(c, "member", &given); p != nil {
		return p
	}
	if p := given.check(); p != nil {
		return p
	}
	in, p := s.visiblePool(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	for _, m := range s.content.membersOf(in.ID) {
		if m.Address == given.Address && m.Port == given.Port {
			return octaviaProblem(http.StatusConflict, fmt.Sprintf("Another member on this pool is already using ip %s on protocol_port %d", m.Address, m.Port))
		}
	}
	if p := s.beginMember(in); p != nil {
		return p
	}
	return c.write(http.StatusCreated, map[string]any{"member": memberBody(s.content.addMember(in, given))})
}
