// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
)

// listRouters lists the project's routers, whatever other project is requested.
func (s *Server) listRouters(c *call) *problem {
	found := []any{}
	for _, id := range slices.Sorted(maps.Keys(s.content.routers)) {
		if r := s.content.routers[id]; c.sees(r.project) && s.wantsProject(c, r.project) {
			found = append(found, map[string]any{"id": r.id, "name": "router", "project_id": r.project, "routes": r.routes})
		}
	}
	return c.write(http.StatusOK, map[string]any{"routers": found})
}

// listNetworks lists the networks that the project has a port on, which are the project's unless ShareNetwork gave them to another one.
func (s *Server) listNetworks(c *call) *problem {
	found, listed := []any{}, map[string]bool{}
	add := func(id, name, owner string, external bool) {
		if wanted := c.URL.Query()["id"]; listed[id] || wanted != nil && !slices.Contains(wanted, id) || !s.wantsProject(c, owner) {
			return
		}
		listed[id] = true
		found = append(found, map[string]any{"id": id, "name": name, "project_id": owner, "router:external": external, "shared": owner != c.project && !external})
	}
	for _, id := range slices.Sorted(maps.Keys(s.content.external)) {
		add(id, "public", "admin", true)
	}
	for _, p := range s.content.ports {
		if p.project == c.project && p.network != "" && !s.content.external[p.network] {
			add(p.network, "network", cmp.Or(s.content.owners[p.network], c.project), false)
		}
	}
	return c.write(http.StatusOK, map[string]any{"networks": found})
}

// wantsProject reports whether the filter by project, if there is one, lets a project through.
func (s *Server) wantsProject(c *call, project string) bool {
	wanted := c.URL.Query()["project_id"]
	return wanted == nil || slices.Contains(wanted, project)
}
