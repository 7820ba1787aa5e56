// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// visible finds a router that the project may see.
func (s *Server) visible(c *call) (*router, *problem) {
	id := c.PathValue("id")
	r := s.content.routers[id]
	if r == nil || !c.sees(r.project) {
		return nil, &problem{status: http.StatusNotFound, kind: "RouterNotFound", message: fmt.Sprintf("Router %s could not be found", id)}
	}
	return r, nil
}

func (s *Server) showRouter(c *call) *problem {
	r, p := s.visible(c)
	if p != nil {
		return p
	}
	return s.writeRouter(c, r)
}

func (s *Server) writeRouter(c *call, r *router) *problem {
	body := map[string]any{"id": r.id, "name": "router", "project_id": r.project, "tenant_id": r.project, "admin_state_up": true,
		"status": "ACTIVE", "external_gateway_info": nil, "routes": r.routes, "revision_number": r.revision}
	if s.options.NoRevisions {
		delete(body, "revision_number")
	}
	return c.write(http.StatusOK, map[string]any{"router": body})
}

// updateRouter replaces the routes, on the condition of If-Match if there is one.
func (s *Server) updateRouter(c *call) *problem {
	given := dig(c.body, "router")
	for name := range given {
		if name != "routes" {
			return badRequest("HTTPBadRequest", "Unrecognized attribute(s) '%s'", name)
		}
	}
	routes, p := parseRoutes(given)
	if p != nil {
		return p
	}
	r, p := s.visible(c)
	if p != nil {
		return p
	}
	if p := s.constrained(c, r.revision); p != nil {
		return p
	}
	return s.replaceRoutes(c, r, routes)
}

// constrained rejects a change whose If-Match names another revision. A condition that Neutron does not understand is none.
func (s *Server) constrained(c *call, revision int) *problem {
	number, ok := strings.CutPrefix(c.Header.Get("If-Match"), "revision_number=")
	expected, err := strconv.Atoi(number)
	if !ok || err != nil || s.options.NoRevisions || expected == revision {
		return nil
	}
	return &problem{status: http.StatusPreconditionFailed, kind: "RevisionNumberConstraintFailed",
		message: fmt.Sprintf("Constrained to %d, but current revision is %d", expected, revision)}
}

// addRoutes adds routes that do not exist yet.
func (s *Server) addRoutes(c *call) *problem {
	return s.atomically(c, func(old, given []Route) []Route {
		for _, route := range given {
			if !slices.Contains(old, route) {
				old = append(old, route)
			}
		}
		return old
	})
}

// removeRoutes removes the routes that are exactly so; the others given are ignored.
func (s *Server) removeRoutes(c *call) *problem {
	return s.atomically(c, func(old, given []Route) []Route {
		return slices.DeleteFunc(old, func(route Route) bool { return slices.Contains(given, route) })
	})
}

// atomically returns one of the actions of the extension extraroute-atomic.
func (s *Server) atomically(c *call, change func(old, given []Route) []Route) *problem {
	if s.options.NoAtomicRoutes {
		return &problem{status: http.StatusNotFound, kind: "HTTPNotFound", message: "The resource could not be found."}
	}
	given, p := parseRoutes(dig(c.body, "router"))
	if p != nil {
		return p
	}
	r, p := s.visible(c)
	if p != nil {
		return p
	}
	return s.replaceRoutes(c, r, change(slices.Clone(r.routes), given))
}

// replaceRoutes validates the whole list, as Neutron does whatever was requested, and keeps it.
func (s *Server) replaceRoutes(c *call, r *router, routes []Route) *problem {
	if len(routes) > s.options.MaxRoutes {
		return badRequest("RoutesExhausted", "Unable to complete operation for %s. The number of routes exceeds the maximum %d.", r.id, s.options.MaxRoutes)
	}
	own := map[string]bool{}
	var connected []netip.Prefix
	for _, p := range s.content.ports {
		if p.device == r.id {
			own[p.address] = true
			for _, sub := range s.content.subnets {
				if sub.network == p.network {
					connected = append(connected, sub.cidr)
				}
			}
		}
	}
	for _, route := range routes {
		hop, _ := netip.ParseAddr(route.NextHop)
		if !slices.ContainsFunc(connected, func(cidr netip.Prefix) bool { return cidr.Contains(hop) }) {
			return badRequest("InvalidRoutes", "Invalid format for routes: %v, the nexthop is not connected with router", routes)
		}
		if own[route.NextHop] {
			return badRequest("InvalidRoutes", "Invalid format for routes: %v, the nexthop is used by router", routes)
		}
	}
	r.routes = routes
	r.revision++
	return s.writeRouter(c, r)
}

// parseRoutes reads the routes of a body: each a network without host bits and an address, and none twice.
func parseRoutes(body map[string]any) ([]Route, *problem) {
	items, ok := body["routes"].([]any)
	if !ok {
		return nil, badRequest("HTTPBadRequest", "Invalid input for routes. Reason: Invalid data format for hostroute: '%v'.", body["routes"])
	}
	routes := []Route{}
	for _, item := range items {
		fields, _ := item.(map[string]any)
		destination, _ := fields["destination"].(string)
		hop, _ := fields["nexthop"].(string)
		prefix, err := netip.ParsePrefix(destination)
		if _, bad := netip.ParseAddr(hop); len(fields) != 2 || err != nil || bad != nil || prefix.Masked() != prefix {
			return nil, badRequest("HTTPBadRequest", "Invalid input for routes. Reason: Invalid data format for hostroute: '%v'.", item)
		}
		route := Route{Destination: destination, NextHop: hop}
		if slices.Contains(routes, route) {
			return nil, badRequest("HTTPBadRequest", "Invalid input for routes. Reason: Duplicate hostroute '%v'.", item)
		}
		routes = append(routes, route)
	}
	return routes, nil
}

func badRequest(kind, format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, kind: kind, message: fmt.Sprintf(format, args...)}
}
