// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
)

// membership is a role of a user in a project besides its own.
type membership struct {
	user     string
	id, name string
	disabled bool
}

// AddProject gives a user a role in one more project.
func (s *Server) AddProject(user, id, name string) {
	s.change(func(c *content) { c.memberships = append(c.memberships, membership{user: user, id: id, name: name}) })
}

// DisableProject closes a project that AddProject gave: it is listed, and no client gets a token for it.
func (s *Server) DisableProject(id string, disabled bool) {
	s.change(func(c *content) {
		for i := range c.memberships {
			if c.memberships[i].id == id {
				c.memberships[i].disabled = disabled
			}
		}
	})
}

// ForbidProject makes all services but Keystone respond with 403 to users of a project, or admit them again.
func (s *Server) ForbidProject(id string, forbidden bool) {
	s.change(func(c *content) { c.forbidden[id] = forbidden })
}

// projectsOf returns the projects of a user, its own first.
func (c *content) projectsOf(name string) []membership {
	own := c.users[name].project
	all := []membership{{user: name, id: own, name: own}}
	for _, m := range c.memberships {
		if m.user == name {
			all = append(all, m)
		}
	}
	return all
}

// scope finds the project that a user queries a token for.
func (c *content) scope(name string, requested map[string]any) (membership, bool) {
	domain := dig(requested, "domain")
	inDomain := domain["name"] == "Default" || domain["id"] == "default"
	for _, m := range c.projectsOf(name) {
		if !m.disabled && (requested["id"] == m.id || requested["id"] == nil && requested["name"] == m.name && inDomain) {
			return m, true
		}
	}
	return membership{}, false
}

// listProjects responds which projects the user of a token may query a token for.
func (s *Server) listProjects(c *call) *problem {
	t, ok := s.content.tokens[c.Header.Get("X-Auth-Token")]
	if !ok || !s.options.Now().Before(t.end) {
		return unauthorized()
	}
	projects := []any{}
	for _, m := range s.content.projectsOf(t.user) {
		projects = append(projects, map[string]any{"id": m.id, "name": m.name, "domain_id": "default", "enabled": !m.disabled, "is_domain": false})
	}
	return c.write(http.StatusOK, map[string]any{"projects": projects, "links": map[string]any{"next": nil, "previous": nil, "self": s.AuthURL() + "/auth/projects"}})
}
