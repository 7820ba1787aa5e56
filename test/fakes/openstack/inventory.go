// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
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

// listNetworks lists the networks that the project has a port on. The fake knows no owner of a network; each of these
// is the project's.
func (s *Server) listNetworks(c *call) *problem {
	var ids []string
	for _, p := range s.content.ports {
		if p.project == c.project && p.network != "" && s.wantsProject(c, p.project) {
			ids = append(ids, p.network)
		}
	}
	slices.Sort(ids)
	found := []any{}
	if c.URL.Query()["project_id"] == nil {
		for _, id := range slices.Sorted(maps.Keys(s.content.external)) {
			found = append(found, map[string]any{"id": id, "name": "public", "project_id": "admin", "router:external": true, "shared": false})
		}
	}
	for _, id := range slices.Compact(ids) {
		found = append(found, map[string]any{"id": id, "name": "network", "project_id": c.project, "router:external": false, "shared": false})
	}
	return c.write(http.StatusOK, map[string]any{"networks": found})
}

// wantsProject reports whether the filter by project, if there is one, lets a project through.
func (s *Server) wantsProject(c *call, project string) bool {
	wanted := c.URL.Query()["project_id"]
	return wanted == nil || slices.Contains(wanted, project)
}
