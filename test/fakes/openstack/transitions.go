// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"slices"
	"time"
)

// step is what a service does behind its response. It belongs to an object, that may be held.
type step struct {
	object string
	due    time.Time
	do     func(*content)
}

// later plans a step.
func (s *Server) later(object string, do func(*content)) {
	s.content.steps = append(s.content.steps, step{object: object, due: s.options.Now().Add(s.options.Delay), do: do})
}

// advance runs the steps whose time has come.
func (s *Server) advance() {
	if s.options.Delay >= 0 {
		now := s.options.Now()
		s.run(func(one step) bool { return !now.Before(one.due) })
	}
}

// run runs the steps that are ready, in their order, except for those of objects that are held.
func (s *Server) run(ready func(step) bool) {
	c := &s.content
	var waiting []step
	steps := c.steps
	c.steps = nil
	for _, one := range steps {
		if c.held[one.object] || !ready(one) {
			waiting = append(waiting, one)
			continue
		}
		one.do(c)
	}
	c.steps = append(waiting, c.steps...)
}

// Settle finishes what Cinder and Octavia have begun, except for objects that are held.
func (s *Server) Settle() {
	s.change(func(*content) { s.run(func(step) bool { return true }) })
}

// Hold keeps volumes, snapshots and load balancers from finishing what they do, until Release. A load balancer that is
// ACTIVE becomes PENDING_UPDATE, and is ACTIVE again behind the Release.
func (s *Server) Hold(ids ...string) {
	s.change(func(c *content) {
		for _, id := range ids {
			c.held[id] = true
			if b := find(c.balancers, id); b != nil && b.ProvisioningStatus == active {
				b.ProvisioningStatus = pendingUpdate
				s.later(id, func(c *content) { c.finish(id) })
			}
		}
	})
}

// Release lets objects finish again.
func (s *Server) Release(ids ...string) {
	s.change(func(c *content) {
		for _, id := range ids {
			delete(c.held, id)
		}
	})
}

// FailDeletion reports that deletions of volumes, snapshots and load balancers end as error_deleting or ERROR, or work again.
func (s *Server) FailDeletion(fails bool, ids ...string) {
	s.change(func(c *content) {
		for _, id := range ids {
			if c.failing[id] = fails; !fails {
				delete(c.failing, id)
			}
		}
	})
}

// object is something with an id.
type object interface{ id() string }

// find returns the object with an id, or nothing.
func find[T interface {
	comparable
	object
}](all []T, id string) (found T) {
	if i := slices.IndexFunc(all, func(o T) bool { return o.id() == id }); i >= 0 {
		return all[i]
	}
	return found
}

// without returns a list without the objects that are to go.
func without[T any](all []T, deleted func(T) bool) []T { return slices.DeleteFunc(all, deleted) }
