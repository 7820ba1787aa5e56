// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"slices"
	"strings"
)

// updateBalancer changes name, description, tags or the administrative state of a load balancer. What is null stays.
func (s *Server) updateBalancer(c *call) *problem {
	var given struct {
		Name           *string   `json:"name"`
		Description    *string   `json:"description"`
		AdminUp        *bool     `json:"admin_state_up"`
		VIPQosPolicyID any       `json:"vip_qos_policy_id"`
		Tags           *[]string `json:"tags"`
	}
	if p := readOctavia(c, "loadbalancer", &given); p != nil {
		return p
	}
	b, p := s.visibleBalancer(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	if !s.begin(b, pendingUpdate) {
		return wrongState(b)
	}
	if given.Name != nil {
		b.Name = *given.Name
	}
	if given.Description != nil {
		b.Description = *given.Description
	}
	if given.AdminUp != nil {
		b.AdminDown = !*given.AdminUp
	}
	if given.Tags != nil {
		b.Tags = slices.Clone(*given.Tags)
	}
	return c.write(http.StatusOK, map[string]any{"loadbalancer": s.balancerBody(b, false)})
}

// deleteBalancer begins to delete a load balancer; with cascade, all that depends on it, too.
func (s *Server) deleteBalancer(c *call) *problem {
	b, p := s.visibleBalancer(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	cascade := slices.Contains([]string{"true", "1", "yes", "on", "t", "y"}, strings.ToLower(c.URL.Query().Get("cascade")))
	if !cascade && len(s.content.listenersOf(b.ID))+len(s.content.poolsOf(b.ID)) > 0 {
		return invalid("Cannot delete Load Balancer " + b.ID + " - it has children")
	}
	if !s.begin(b, pendingDelete) {
		return wrongState(b)
	}
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) deleteListener(c *call) *problem {
	l, p := s.visibleListener(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	if p := s.beginChild(l.balancer, l); p != nil {
		return p
	}
	l.ProvisioningStatus = pendingDelete
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

// deletePool begins to delete a pool with its members. Listeners whose default it is have none then.
func (s *Server) deletePool(c *call) *problem {
	one, p := s.visiblePool(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	if p := s.beginChild(one.balancer, s.content.listenersBefore(one.ID)...); p != nil {
		return p
	}
	one.ProvisioningStatus = pendingDelete
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) deleteMember(c *call) *problem {
	in, p := s.visiblePool(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	m := find(s.content.membersOf(in.ID), c.PathValue("child"))
	if m == nil {
		return missing("Member", c.PathValue("child"))
	}
	if p := s.beginMember(in); p != nil {
		return p
	}
	m.ProvisioningStatus = pendingDelete
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

// beginMember is beginChild for a change of a pool's members.
func (s *Server) beginMember(in *pool) *problem {
	if in.ProvisioningStatus != active {
		return immutable("Pool", in.ID)
	}
	if p := s.beginChild(in.balancer, s.content.listenersBefore(in.ID)...); p != nil {
		return p
	}
	in.ProvisioningStatus = pendingUpdate
	return nil
}

// wrongState is how Octavia rejects a change of a load balancer itself while it is PENDING.
func wrongState(b *loadBalancer) *problem {
	return octaviaProblem(http.StatusConflict, "Invalid state "+b.ProvisioningStatus+" of loadbalancer resource "+b.ID)
}
