// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strings"
)

// finish ends what a load balancer and all that depends on it are about to do.
func (c *content) finish(id string) {
	b := find(c.balancers, id)
	if b == nil {
		return
	}
	if b.ProvisioningStatus == pendingDelete {
		if c.failing[id] {
			b.ProvisioningStatus = failed
			return
		}
		c.removeBalancer(id)
		return
	}
	for _, l := range c.listenersOf(id) {
		if finished(&l.ProvisioningStatus) {
			c.removeListener(l.ID)
		}
	}
	for _, p := range c.poolsOf(id) {
		for _, m := range c.membersOf(p.ID) {
			if finished(&m.ProvisioningStatus) {
				c.members = without(c.members, func(one *member) bool { return one == m })
			}
		}
		if finished(&p.ProvisioningStatus) {
			c.removePool(p.ID)
		}
	}
	finished(&b.ProvisioningStatus)
}

// finished makes a status that is on its way the one at its end, and reports whether that is to have been deleted.
func finished(status *string) (deleted bool) {
	if *status == pendingCreate || *status == pendingUpdate {
		*status = active
	}
	return *status == pendingDelete
}

// begin makes a load balancer PENDING, which it may be only from ACTIVE, or for its deletion from ERROR, and plans the
// end of that.
func (s *Server) begin(b *loadBalancer, status string) bool {
	if b.ProvisioningStatus != active && (status != pendingDelete || b.ProvisioningStatus != failed) {
		return false
	}
	b.ProvisioningStatus = status
	s.later(b.ID, func(c *content) { c.finish(b.ID) })
	return true
}

// beginChild is begin for a change of what depends on a load balancer, and of listeners that it affects.
func (s *Server) beginChild(id string, affected ...*listener) *problem {
	b := find(s.content.balancers, id)
	for _, l := range affected {
		if l.ProvisioningStatus != active {
			return immutable("Load Balancer", id)
		}
	}
	if !s.begin(b, pendingUpdate) {
		return immutable("Load Balancer", id)
	}
	for _, l := range affected {
		l.ProvisioningStatus = pendingUpdate
	}
	return nil
}

func (c *content) listenersOf(balancer string) (all []*listener) {
	for _, l := range c.listeners {
		if l.balancer == balancer {
			all = append(all, l)
		}
	}
	return all
}

func (c *content) poolsOf(balancer string) (all []*pool) {
	for _, p := range c.pools {
		if p.balancer == balancer {
			all = append(all, p)
		}
	}
	return all
}

func (c *content) membersOf(poolID string) (all []*member) {
	for _, m := range c.members {
		if m.pool == poolID {
			all = append(all, m)
		}
	}
	return all
}

// listenersBefore returns the listeners whose default is a pool.
func (c *content) listenersBefore(poolID string) (all []*listener) {
	for _, l := range c.listeners {
		if l.DefaultPoolID == poolID {
			all = append(all, l)
		}
	}
	return all
}

func (c *content) removeBalancer(id string) {
	if b := find(c.balancers, id); b != nil && b.owned {
		c.removePort(b.VIPPortID)
	} else if b != nil && c.port(b.VIPPortID) != nil {
		c.port(b.VIPPortID).device = ""
	}
	for _, p := range c.poolsOf(id) {
		c.removePool(p.ID)
	}
	c.listeners = without(c.listeners, func(l *listener) bool { return l.balancer == id })
	c.balancers = without(c.balancers, func(b *loadBalancer) bool { return b.ID == id })
}

func (c *content) removeListener(id string) {
	c.listeners = without(c.listeners, func(l *listener) bool { return l.ID == id })
}

func (c *content) removePool(id string) {
	for _, l := range c.listenersBefore(id) {
		l.DefaultPoolID = ""
	}
	c.members = without(c.members, func(m *member) bool { return m.pool == id })
	c.pools = without(c.pools, func(p *pool) bool { return p.ID == id })
}

func octaviaProblem(status int, message string) *problem {
	return &problem{status: status, message: message}
}

func missing(kind, id string) *problem {
	return octaviaProblem(http.StatusNotFound, kind+" "+id+" not found.")
}

func immutable(kind, id string) *problem {
	return octaviaProblem(http.StatusConflict, kind+" "+id+" is immutable and cannot be updated.")
}

func invalid(detail string) *problem {
	return octaviaProblem(http.StatusBadRequest, "Validation failure: "+strings.TrimSpace(detail))
}
