// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

func (s *Server) networkPaths() map[string]func(*call) *problem {
	const root = networkRoot + "/v2.0/"
	return map[string]func(*call) *problem{
		"GET " + networkRoot + "/{$}":                     s.networkVersions,
		"GET " + root + "extensions":                      s.listExtensions,
		"GET " + root + "routers":                         s.listRouters,
		"GET " + root + "routers/{id}":                    s.showRouter,
		"PUT " + root + "routers/{id}":                    s.updateRouter,
		"PUT " + root + "routers/{id}/add_extraroutes":    s.addRoutes,
		"PUT " + root + "routers/{id}/remove_extraroutes": s.removeRoutes,
		"GET " + root + "networks":                        s.listNetworks,
		"GET " + root + "subnets":                         s.listSubnets,
		"GET " + root + "ports":                           s.listPorts,
		"POST " + root + "ports":                          s.createPort,
		"GET " + root + "ports/{id}":                      s.showPort,
		"PUT " + root + "ports/{id}":                      s.updatePort,
		"DELETE " + root + "ports/{id}":                   s.deletePort,
		"PUT " + root + "ports/{id}/tags/{tag}":           s.addPortTag,
		"DELETE " + root + "ports/{id}/tags/{tag}":        s.removePortTag,
		"GET " + root + "trunks":                          s.listTrunks,
		"POST " + root + "trunks":                         s.createTrunk,
		"DELETE " + root + "trunks/{id}":                  s.deleteTrunk,
		"GET " + root + "floatingips":                     s.listFloatingIPs,
		"POST " + root + "floatingips":                    s.createFloatingIP,
		"GET " + root + "floatingips/{id}":                s.showFloatingIP,
		"PUT " + root + "floatingips/{id}":                s.updateFloatingIP,
		"DELETE " + root + "floatingips/{id}":             s.deleteFloatingIP,
		"GET " + root + "security-groups":                 s.listGroups,
		"POST " + root + "security-groups":                s.createGroup,
		"GET " + root + "security-groups/{id}":            s.showGroup,
		"DELETE " + root + "security-groups/{id}":         s.deleteGroup,
	}
}

func (s *Server) networkVersions(c *call) *problem {
	return c.write(http.StatusOK, map[string]any{"versions": []any{map[string]any{"id": "v2.0", "status": "CURRENT",
		"links": []any{map[string]any{"rel": "self", "href": s.http.URL + networkRoot + "/v2.0/"}}}}})
}

func (s *Server) listExtensions(c *call) *problem {
	aliases := []string{"router", "extraroute", "security-group", "allowed-address-pairs", "trunk", "standard-attr-tag"}
	if !s.options.NoGroupFilter {
		aliases = append(aliases, "port-security-groups-filtering")
	}
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

// listPorts lists the project's ports.
func (s *Server) listPorts(c *call) *problem {
	query := c.URL.Query()
	for i, value := range query["fixed_ips"] {
		address, ok := strings.CutPrefix(value, "ip_address=")
		if !ok {
			return badRequest("HTTPBadRequest", "Invalid input for fixed_ips")
		}
		query["fixed_ips"][i] = address
	}
	var all []any
	for _, p := range s.content.ports {
		if c.sees(p.project) {
			body := s.portBody(p)
			body["fixed_ips"] = []string{p.address}
			all = append(all, body)
		}
	}
	found, unknown := filter(query, all, "id", "name", "device_id", "device_owner", "network_id", "fixed_ips", "security_groups", "project_id", "tenant_id")
	if unknown != "" {
		return unfit(unknown)
	}
	for i, entry := range found {
		id := entry.(map[string]any)["id"].(string)
		found[i] = s.portBody(*s.content.port(id))
	}
	return s.writePage(c, "ports", found)
}

// unfit is how Neutron rejects a filter that it does not have.
func unfit(name string) *problem {
	return badRequest("HTTPBadRequest", "['%s'] is invalid attribute for filtering", name)
}

func (s *Server) portBody(p port) map[string]any {
	fixed := []any{}
	if p.address != "" {
		fixed = append(fixed, map[string]any{"ip_address": p.address, "subnet_id": s.subnetOf(p.network)})
	}
	pairs := []any{}
	for _, address := range p.pairs {
		pairs = append(pairs, map[string]any{"ip_address": address, "mac_address": portMAC})
	}
	body := map[string]any{"id": p.id, "name": p.name, "description": p.description, "network_id": p.network, "device_owner": p.owner,
		"device_id": p.device, "project_id": p.project, "tenant_id": p.project, "status": "ACTIVE", "admin_state_up": true,
		"fixed_ips": fixed, "security_groups": list(p.groups), "mac_address": portMAC, "allowed_address_pairs": pairs, "tags": list(p.tags),
		"revision_number": p.revision}
	if s.options.NoRevisions {
		delete(body, "revision_number")
	}
	return body
}

// portMAC is the MAC address of all ports.
const portMAC = "fa:16:3e:00:00:01"

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

// writePage writes the page of a list behind the marker, with a link to the next one.
func (s *Server) writePage(c *call, name string, all []any) *problem {
	items, next, p := s.page(c, all, c.URL.Query())
	if p != nil {
		return p
	}
	body := map[string]any{name: items}
	if next != "" {
		body[name+"_links"] = []any{map[string]any{"rel": "next", "href": next}}
	}
	return c.write(http.StatusOK, body)
}

// page returns the part of a list behind the marker of a query, and the link to the next one; "": a page of this size would
// be behind the last.
func (s *Server) page(c *call, all []any, query url.Values) (items []any, next string, p *problem) {
	id := func(entry any) any { return entry.(map[string]any)["id"] }
	if marker := query.Get("marker"); marker != "" {
		at := slices.IndexFunc(all, func(entry any) bool { return id(entry) == marker })
		if at < 0 {
			return nil, "", &problem{status: http.StatusBadRequest, kind: "badRequest", message: "marker [" + marker + "] not found"}
		}
		all = all[at+1:]
	}
	size := s.options.PageSize
	if limit, err := strconv.Atoi(query.Get("limit")); err == nil && limit > 0 {
		size = min(size, limit)
	}
	if len(all) < size {
		return all, "", nil
	}
	query.Set("marker", id(all[size-1]).(string))
	return all[:size], s.http.URL + c.URL.Path + "?" + query.Encode(), nil
}
