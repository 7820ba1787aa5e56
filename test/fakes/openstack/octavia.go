// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

func (s *Server) balancerPaths() map[string]func(*call) *problem {
	const root = balancerRoot + "/v2.0/lbaas/"
	return map[string]func(*call) *problem{
		"GET " + balancerRoot + "/{$}":                  s.balancerVersions,
		"GET " + root + "loadbalancers":                 s.listBalancers,
		"POST " + root + "loadbalancers":                s.createBalancer,
		"GET " + root + "loadbalancers/{id}":            s.showBalancer,
		"PUT " + root + "loadbalancers/{id}":            s.updateBalancer,
		"DELETE " + root + "loadbalancers/{id}":         s.deleteBalancer,
		"GET " + root + "listeners":                     s.listListeners,
		"POST " + root + "listeners":                    s.createListener,
		"GET " + root + "listeners/{id}":                s.showListener,
		"DELETE " + root + "listeners/{id}":             s.deleteListener,
		"GET " + root + "pools":                         s.listPools,
		"POST " + root + "pools":                        s.createPool,
		"GET " + root + "pools/{id}":                    s.showPool,
		"DELETE " + root + "pools/{id}":                 s.deletePool,
		"GET " + root + "pools/{id}/members":            s.listMembers,
		"POST " + root + "pools/{id}/members":           s.createMember,
		"DELETE " + root + "pools/{id}/members/{child}": s.deleteMember,
	}
}

func (s *Server) balancerVersions(c *call) *problem {
	versions := []any{}
	for minor := range 27 {
		versions = append(versions, map[string]any{"id": fmt.Sprintf("v2.%d", minor), "status": "SUPPORTED", "updated": "2026-01-01T00:00:00Z",
			"links": []any{map[string]any{"rel": "self", "href": s.http.URL + balancerRoot + "/v2"}}})
	}
	return c.write(http.StatusOK, map[string]any{"versions": versions})
}

func (s *Server) listBalancers(c *call) *problem {
	var all []any
	for _, b := range s.content.balancers {
		all = append(all, s.balancerBody(b, false))
	}
	return s.writeList(c, "loadbalancers", all, "vip_address", "vip_port_id", "vip_subnet_id", "vip_network_id", "tags")
}

func (s *Server) listListeners(c *call) *problem {
	var all []any
	for _, l := range s.content.listeners {
		all = append(all, s.listenerBody(l))
	}
	return s.writeList(c, "listeners", all, "protocol", "protocol_port", "default_pool_id", "tags")
}

func (s *Server) listPools(c *call) *problem {
	var all []any
	for _, p := range s.content.pools {
		all = append(all, s.poolBody(p, false))
	}
	return s.writeList(c, "pools", all, "protocol", "lb_algorithm", "tags")
}

func (s *Server) listMembers(c *call) *problem {
	p := find(s.content.pools, c.PathValue("id"))
	if p == nil {
		return missing("Pool", c.PathValue("id"))
	}
	if !c.sees(p.project) {
		return notAllowed()
	}
	var all []any
	for _, m := range s.content.membersOf(p.ID) {
		all = append(all, memberBody(m))
	}
	return s.writeList(c, "members", all, "address", "protocol_port", "weight", "tags")
}

// writeList writes a page of what the project has, or for an administrator all have, unless one project is requested. The link to
// the next page does not repeat the filters, by a fault of Octavia.
func (s *Server) writeList(c *call, name string, all []any, filters ...string) *problem {
	query := c.URL.Query()
	wanted := query["project_id"]
	if len(wanted) > 0 && !c.sees(wanted[0]) {
		return notAllowed()
	}
	all = slices.DeleteFunc(all, func(entry any) bool { return !c.sees(entry.(map[string]any)["project_id"].(string)) })
	filters = append(filters, "project_id", "id", "name", "description", "provisioning_status", "operating_status", "admin_state_up")
	found, unknown := filter(query, all, filters...)
	if unknown != "" {
		return octaviaProblem(http.StatusBadRequest, "One or more arguments are either duplicate or invalid")
	}
	kept := url.Values{}
	for _, parameter := range []string{"marker", "limit", "sort", "sort_key"} {
		if query.Has(parameter) {
			kept.Set(parameter, query.Get(parameter))
		}
	}
	items, next, p := s.page(c, found, kept)
	if p != nil {
		return p
	}
	links := []any{}
	if query.Has("marker") {
		links = append(links, map[string]any{"rel": "previous", "href": s.http.URL + c.URL.Path + "?page_reverse=True"})
	}
	if next != "" {
		links = append(links, map[string]any{"rel": "next", "href": next})
	}
	return c.write(http.StatusOK, map[string]any{name: items, name + "_links": links})
}

func (s *Server) showBalancer(c *call) *problem {
	b, p := s.visibleBalancer(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	return c.write(http.StatusOK, map[string]any{"loadbalancer": s.balancerBody(b, false)})
}

func (s *Server) showListener(c *call) *problem {
	l, p := s.visibleListener(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	return c.write(http.StatusOK, map[string]any{"listener": s.listenerBody(l)})
}

func (s *Server) showPool(c *call) *problem {
	pool, p := s.visiblePool(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	return c.write(http.StatusOK, map[string]any{"pool": s.poolBody(pool, false)})
}

// notAllowed is how Octavia responds for what is another project's: it does not hide that it is there.
func notAllowed() *problem {
	return octaviaProblem(http.StatusForbidden, "Policy does not allow this request to be performed.")
}

func (s *Server) visibleBalancer(c *call, id string) (*loadBalancer, *problem) {
	b := find(s.content.balancers, id)
	if b == nil {
		return nil, missing("Load Balancer", id)
	}
	if !c.sees(b.project) {
		return nil, notAllowed()
	}
	return b, nil
}

func (s *Server) visibleListener(c *call, id string) (*listener, *problem) {
	l := find(s.content.listeners, id)
	if l == nil {
		return nil, missing("Listener", id)
	}
	if !c.sees(l.project) {
		return nil, notAllowed()
	}
	return l, nil
}

func (s *Server) visiblePool(c *call, id string) (*pool, *problem) {
	p := find(s.content.pools, id)
	if p == nil {
		return nil, missing("Pool", id)
	}
	if !c.sees(p.project) {
		return nil, notAllowed()
	}
	return p, nil
}
