// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"slices"

	"github.com/google/uuid"
)

// defaultName is the name of the security group that each project has.
const defaultName = "default"

// SecurityGroup is a security group of a project. Its rules are not kept.
type SecurityGroup struct{ ID, Name, Description string }

type securityGroup struct {
	SecurityGroup
	project string
}

func (g *securityGroup) id() string { return g.ID }

// AddSecurityGroup makes a security group, and returns its id, a new one if it has none.
func (s *Server) AddSecurityGroup(project string, g SecurityGroup) string {
	g.ID = newID(g.ID)
	s.change(func(c *content) { c.groups = append(c.groups, &securityGroup{SecurityGroup: g, project: project}) })
	return g.ID
}

// RemoveSecurityGroup takes a security group away, as if it had never been.
func (s *Server) RemoveSecurityGroup(id string) {
	s.change(func(c *content) { c.groups = without(c.groups, func(g *securityGroup) bool { return g.ID == id }) })
}

// SetSecurityGroups puts a port into security groups, and takes it out of all others.
func (s *Server) SetSecurityGroups(portID string, groupIDs ...string) {
	s.change(func(c *content) {
		p := c.port(portID)
		p.groups, p.revision = slices.Clone(groupIDs), p.revision+1
	})
}

// JoinSecurityGroup puts a port into a security group as early versions of the cloud controller manager do, which tag the port with the
// id of the group to find it again.
func (s *Server) JoinSecurityGroup(portID, groupID string) {
	s.change(func(c *content) {
		p := c.port(portID)
		p.groups, p.tags, p.revision = append(p.groups, groupID), append(p.tags, groupID), p.revision+1
	})
}

// SetPortOwner replaces what a port is used by, such as compute:nova.
func (s *Server) SetPortOwner(portID, owner string) {
	s.change(func(c *content) {
		p := c.port(portID)
		p.owner, p.revision = owner, p.revision+1
	})
}

// PortMarks returns the security groups and the tags of a port.
func (s *Server) PortMarks(portID string) (groups, tags []string) {
	s.change(func(c *content) {
		groups, tags = slices.Clone(c.port(portID).groups), slices.Clone(c.port(portID).tags)
	})
	return groups, tags
}

// SecurityGroups returns the security groups of a project, except for the default one.
func (s *Server) SecurityGroups(project string) (all []SecurityGroup) {
	s.change(func(c *content) {
		for _, g := range c.groups {
			if g.project == project && g.Name != defaultName {
				all = append(all, g.SecurityGroup)
			}
		}
	})
	return all
}

// defaultGroup returns the id of a project's default group, which Neutron makes at the project's first request.
func (c *content) defaultGroup(project string) string {
	for _, g := range c.groups {
		if g.project == project && g.Name == defaultName {
			return g.ID
		}
	}
	made := &securityGroup{SecurityGroup: SecurityGroup{ID: uuid.NewString(), Name: defaultName, Description: "Default security group"}, project: project}
	c.groups = append(c.groups, made)
	return made.ID
}

func (s *Server) listGroups(c *call) *problem {
	s.content.defaultGroup(c.project)
	var all []any
	for _, g := range s.content.groups {
		if c.sees(g.project) {
			all = append(all, groupBody(g))
		}
	}
	found, unknown := filter(c.URL.Query(), all, "id", "name", "description", "project_id", "tenant_id")
	if unknown != "" {
		return unfit(unknown)
	}
	return s.writePage(c, "security_groups", found)
}

func (s *Server) showGroup(c *call) *problem {
	g, p := s.visibleGroup(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	return c.write(http.StatusOK, map[string]any{"security_group": groupBody(g)})
}

func (s *Server) createGroup(c *call) *problem {
	var given struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Stateful    any    `json:"stateful"`
		ProjectID   string `json:"project_id"`
		TenantID    string `json:"tenant_id"`
	}
	if p := readNeutron(c, "security_group", &given); p != nil {
		return p
	}
	if given.Name == defaultName {
		return &problem{status: http.StatusConflict, kind: "SecurityGroupDefaultAlreadyExists", message: "Default security group already exists."}
	}
	made := &securityGroup{SecurityGroup: SecurityGroup{ID: uuid.NewString(), Name: given.Name, Description: given.Description}, project: c.project}
	s.content.groups = append(s.content.groups, made)
	return c.write(http.StatusCreated, map[string]any{"security_group": groupBody(made)})
}

// deleteGroup deletes a group that no port is in and that is not the default one.
func (s *Server) deleteGroup(c *call) *problem {
	g, p := s.visibleGroup(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	if g.Name == defaultName && !c.admin {
		return &problem{status: http.StatusConflict, kind: "SecurityGroupCannotRemoveDefault", message: "Insufficient permissions for removing default security group."}
	}
	if slices.ContainsFunc(s.content.ports, func(p port) bool { return slices.Contains(p.groups, g.ID) }) {
		return &problem{status: http.StatusConflict, kind: "SecurityGroupInUse", message: "Security Group " + g.ID + " in use."}
	}
	s.content.groups = without(s.content.groups, func(one *securityGroup) bool { return one == g })
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) visibleGroup(c *call, id string) (*securityGroup, *problem) {
	if g := find(s.content.groups, id); g != nil && c.sees(g.project) {
		return g, nil
	}
	return nil, &problem{status: http.StatusNotFound, kind: "SecurityGroupNotFound", message: "Security group " + id + " does not exist"}
}

// groupsExist rejects groups that the project does not see.
func (s *Server) groupsExist(c *call, ids []string) *problem {
	for _, id := range ids {
		if _, p := s.visibleGroup(c, id); p != nil {
			return p
		}
	}
	return nil
}

func groupBody(g *securityGroup) map[string]any {
	return map[string]any{"id": g.ID, "name": g.Name, "description": g.Description, "project_id": g.project, "tenant_id": g.project,
		"stateful": true, "shared": false, "security_group_rules": []any{}, "tags": []any{}}
}
