// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (s *Server) networkVersions(c *call) *problem {
	return c.write(http.StatusOK, map[string]any{"versions": []any{map[string]any{"id": "v2.0", "status": "CURRENT",
		"links": []any{map[string]any{"rel": "self", "href": s.http.URL + networkRoot + "/v2.0/"}}}}})
}

func (s *Server) listExtensions(c *call) *problem {
	aliases := []string{"router", "extraroute"}
	if !s.options.NoAtomicRoutes {
		aliases = append(aliases, "extraroute-atomic")
	}
	if !s.options.NoRevisions {
		aliases = append(aliases, "standard-attr-revisions", "revision-if-match")
	}
	extensions := []any{}
	for _, alias := range aliases {
		extensions = append(extensions, map[string]any{"alias": alias, "name": alias, "description": "", "links": []any{}, "updated": "2019-01-01T00:00:00-00:00"})
	}
	return c.write(http.StatusOK, map[string]any{"extensions": extensions})
}

// listPorts lists the project's ports. Values of one filter are alternatives, filters all have to match.
func (s *Server) listPorts(c *call) *problem {
	query := c.URL.Query()
	filters := map[string][]string{}
	for name, values := range query {
		switch name {
		case "device_id", "network_id", "marker", "limit":
			filters[name] = values
		case "fixed_ips":
			for _, value := range values {
				address, ok := strings.CutPrefix(value, "ip_address=")
				if !ok {
					return badRequest("HTTPBadRequest", "Invalid input for fixed_ips")
				}
				filters[name] = append(filters[name], address)
			}
		default:
			return badRequest("HTTPBadRequest", "[u\"'%s' is not supported for filtering\"]", name)
		}
	}
	fits := func(name, value string) bool { return filters[name] == nil || slices.Contains(filters[name], value) }
	found := []any{}
	for _, p := range s.content.ports {
		if p.project == c.project && fits("device_id", p.device) && fits("network_id", p.network) && fits("fixed_ips", p.address) {
			found = append(found, map[string]any{"id": p.id, "network_id": p.network, "device_owner": p.owner, "device_id": p.device,
				"project_id": p.project, "status": "ACTIVE", "fixed_ips": []any{map[string]any{"ip_address": p.address, "subnet_id": s.subnetOf(p.network)}}})
		}
	}
	return s.writePage(c, "ports", found)
}

func (s *Server) subnetOf(network string) string {
	for _, sub := range s.content.subnets {
		if sub.network == network {
			return sub.id
		}
	}
	return ""
}

func (s *Server) listSubnets(c *call) *problem {
	wanted := c.URL.Query()["network_id"]
	found := []any{}
	for _, sub := range s.content.subnets {
		if wanted == nil || slices.Contains(wanted, sub.network) {
			found = append(found, map[string]any{"id": sub.id, "network_id": sub.network, "cidr": sub.cidr.String(), "ip_version": 4})
		}
	}
	return c.write(http.StatusOK, map[string]any{"subnets": found})
}

func (s *Server) listFloatingIPs(c *call) *problem {
	wanted := c.URL.Query()["floating_ip_address"]
	found := []any{}
	for _, f := range s.content.floatingIPs {
		if f.project != c.project || wanted != nil && !slices.Contains(wanted, f.address) {
			continue
		}
		entry := map[string]any{"id": f.address, "floating_ip_address": f.address, "port_id": nil, "project_id": f.project}
		if f.port != "" {
			entry["port_id"] = f.port
		}
		found = append(found, entry)
	}
	return c.write(http.StatusOK, map[string]any{"floatingips": found})
}

// writePage writes the page of a list behind the marker, with a link to the next one.
func (s *Server) writePage(c *call, name string, all []any) *problem {
	query := c.URL.Query()
	id := func(entry any) any { return entry.(map[string]any)["id"] }
	if marker := query.Get("marker"); marker != "" {
		at := slices.IndexFunc(all, func(entry any) bool { return id(entry) == marker })
		if at < 0 {
			return &problem{status: http.StatusBadRequest, kind: "badRequest", message: "marker [" + marker + "] not found"}
		}
		all = all[at+1:]
	}
	size := s.options.PageSize
	if limit, err := strconv.Atoi(query.Get("limit")); err == nil && limit > 0 {
		size = min(size, limit)
	}
	body := map[string]any{name: all}
	if len(all) >= size {
		query.Set("marker", id(all[size-1]).(string))
		body[name] = all[:size]
		body[name+"_links"] = []any{map[string]any{"rel": "next", "href": s.http.URL + c.URL.Path + "?" + query.Encode()}}
	}
	return c.write(http.StatusOK, body)
}
