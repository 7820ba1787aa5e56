// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"slices"

	"github.com/google/uuid"
)

// AddLoadBalancer makes a load balancer, and returns its id, a new one if it has none.
func (s *Server) AddLoadBalancer(project string, b LoadBalancer) string {
	b.ID, b.Tags = newID(b.ID), slices.Clone(b.Tags)
	statuses(&b.ProvisioningStatus, &b.OperatingStatus, "ONLINE")
	made := &loadBalancer{LoadBalancer: b, project: project}
	s.change(func(c *content) {
		c.balancers = append(c.balancers, made)
		if made.VIPPortID == "" && made.VIP != "" {
			c.addVIPPort(made)
		}
	})
	return b.ID
}

// AddListener makes a listener of a load balancer, and returns its id.
func (s *Server) AddListener(loadBalancerID string, l Listener) string {
	l.ID, l.Tags = newID(l.ID), slices.Clone(l.Tags)
	statuses(&l.ProvisioningStatus, &l.OperatingStatus, "ONLINE")
	s.change(func(c *content) {
		c.listeners = append(c.listeners, &listener{Listener: l, project: find(c.balancers, loadBalancerID).project, balancer: loadBalancerID})
	})
	return l.ID
}

// AddPool makes a pool of a load balancer, the default one of some of its listeners, and returns its id.
func (s *Server) AddPool(loadBalancerID string, p Pool, listenerIDs ...string) string {
	p.ID, p.Tags = newID(p.ID), slices.Clone(p.Tags)
	statuses(&p.ProvisioningStatus, &p.OperatingStatus, "ONLINE")
	s.change(func(c *content) {
		c.pools = append(c.pools, &pool{Pool: p, project: find(c.balancers, loadBalancerID).project, balancer: loadBalancerID})
		for _, id := range listenerIDs {
			find(c.listeners, id).DefaultPoolID = p.ID
		}
	})
	return p.ID
}

// AddMember makes a member of a pool, and returns its id. Its weight is 0 unless it specifies otherwise.
func (s *Server) AddMember(poolID string, m Member) string {
	m.ID, m.Tags = newID(m.ID), slices.Clone(m.Tags)
	statuses(&m.ProvisioningStatus, &m.OperatingStatus, "NO_MONITOR")
	s.change(func(c *content) {
		c.members = append(c.members, &member{Member: m, project: find(c.pools, poolID).project, pool: poolID})
	})
	return m.ID
}

// ChangeLoadBalancer changes a load balancer.
func (s *Server) ChangeLoadBalancer(id string, change func(*LoadBalancer)) {
	s.change(func(c *content) { change(&find(c.balancers, id).LoadBalancer) })
}

// ChangeMember changes a member.
func (s *Server) ChangeMember(id string, change func(*Member)) {
	s.change(func(c *content) { change(&find(c.members, id).Member) })
}

// RemoveLoadBalancer takes a load balancer away with all that depends on it.
func (s *Server) RemoveLoadBalancer(id string) { s.change(func(c *content) { c.removeBalancer(id) }) }

// RemovePool takes a pool away with its members.
func (s *Server) RemovePool(id string) { s.change(func(c *content) { c.removePool(id) }) }

// RemoveMember takes a member away.
func (s *Server) RemoveMember(id string) {
	s.change(func(c *content) { c.members = without(c.members, func(m *member) bool { return m.ID == id }) })
}

// LoadBalancers returns the load balancers of a project.
func (s *Server) LoadBalancers(project string) (all []LoadBalancer) {
	s.change(func(c *content) {
		for _, b := range c.balancers {
			if b.project == project {
				one := b.LoadBalancer
				one.Tags = slices.Clone(b.Tags)
				all = append(all, one)
			}
		}
	})
	return all
}

// statuses fills in what is missing.
func statuses(provisioning, operating *string, usual string) {
	if *provisioning == "" {
		*provisioning = active
	}
	if *operating == "" {
		*operating = usual
	}
}

// addVIPPort makes the port of a load balancer, which is Octavia's own.
func (c *content) addVIPPort(b *loadBalancer) {
	for _, sub := range c.subnets {
		if sub.id == b.VIPSubnetID {
			b.VIPNetworkID = sub.network
		}
	}
	b.VIPPortID, b.owned = uuid.NewString(), true
	made := port{id: b.VIPPortID, project: b.project, network: b.VIPNetworkID, owner: "Octavia", device: "lb-" + b.ID, name: "octavia-lb-" + b.ID, address: b.VIP}
	if b.Provider == "ovn" {
		made.owner, made.device, made.name = "", "", "ovn-lb-vip-"+b.ID
	}
	c.ports = append(c.ports, made)
}
