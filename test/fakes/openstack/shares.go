// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import "maps"

// Share is a share of Manila.
type Share struct {
	ID, Name string
	// Status is available unless it specifies otherwise.
	Status   string
	Metadata map[string]string
	// Rules are its access rules, which are deleted with it. Replicas is how many further replicas it has.
	Rules    []string
	Replicas int
}

// ShareSnapshot is a snapshot of a share.
type ShareSnapshot struct {
	ID, Name string
	// Status is available unless it specifies otherwise.
	Status  string
	ShareID string
}

type share struct {
	Share
	project string
}

type shareSnapshot struct {
	ShareSnapshot
	project string
}

func (s *share) id() string         { return s.ID }
func (s *shareSnapshot) id() string { return s.ID }

// AddShare makes a share, and returns its id, a new one if it has none.
func (s *Server) AddShare(project string, of Share) string {
	made := &share{Share: of, project: project}
	made.ID, made.Metadata = newID(of.ID), maps.Clone(of.Metadata)
	if made.Status == "" {
		made.Status = "available"
	}
	if made.Metadata == nil {
		made.Metadata = map[string]string{}
	}
	s.change(func(c *content) { c.shares = append(c.shares, made) })
	return made.ID
}

// AddShareSnapshot makes a snapshot of a share, and returns its id, a new one if it has none.
func (s *Server) AddShareSnapshot(project string, of ShareSnapshot) string {
	made := &shareSnapshot{ShareSnapshot: of, project: project}
	if made.ID = newID(of.ID); made.Status == "" {
		made.Status = "available"
	}
	s.change(func(c *content) { c.shareSnapshots = append(c.shareSnapshots, made) })
	return made.ID
}

// RemoveShare takes a share away, as if it had never been.
func (s *Server) RemoveShare(id string) { s.change(func(c *content) { c.removeShare(id) }) }

// RemoveShareSnapshot takes a snapshot of a share away, as if it had never been.
func (s *Server) RemoveShareSnapshot(id string) {
	s.change(func(c *content) { c.removeShareSnapshot(id) })
}

// Shares returns the ids of the shares of a project.
func (s *Server) Shares(project string) (ids []string) {
	s.change(func(c *content) {
		for _, v := range c.shares {
			if v.project == project {
				ids = append(ids, v.ID)
			}
		}
	})
	return ids
}

// ShareSnapshots returns the snapshots of shares of a project.
func (s *Server) ShareSnapshots(project string) (all []ShareSnapshot) {
	s.change(func(c *content) {
		for _, v := range c.shareSnapshots {
			if v.project == project {
				all = append(all, v.ShareSnapshot)
			}
		}
	})
	return all
}

func (c *content) removeShare(id string) {
	c.shares = without(c.shares, func(v *share) bool { return v.ID == id })
}

func (c *content) removeShareSnapshot(id string) {
	c.shareSnapshots = without(c.shareSnapshots, func(v *shareSnapshot) bool { return v.ID == id })
}
