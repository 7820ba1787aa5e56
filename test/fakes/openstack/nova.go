// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Microversions that the fake knows, all 2.x, and the first that lists servers of a cell that is down.
const (
	newestMicroversion   = 93
	downCellMicroversion = 69
)

func (s *Server) computePaths() map[string]func(*call) *problem {
	return map[string]func(*call) *problem{
		"GET /compute/v2.1/{$}":                                            s.computeVersion,
		"GET /compute/v2.1/servers/detail":                                 s.listServers,
		"GET /compute/v2.1/servers/{id}":                                   s.showServer,
		"DELETE /compute/v2.1/servers/{id}/os-volume_attachments/{volume}": s.detachVolume,
	}
}

func (s *Server) computeVersion(c *call) *problem {
	return c.write(http.StatusOK, map[string]any{"version": map[string]any{"id": "v2.1", "status": "CURRENT", "version": "2." + strconv.Itoa(newestMicroversion),
		"min_version": "2.1", "links": []any{map[string]any{"rel": "self", "href": s.http.URL + computeRoot + "/"}}}})
}

// microversion reads the minor version that the client requests; without one it is the oldest.
func microversion(c *call) (int, *problem) {
	text := strings.TrimPrefix(c.Header.Get("OpenStack-API-Version"), "compute ")
	if text == "" {
		text = c.Header.Get("X-OpenStack-Nova-API-Version")
	}
	if text == "" {
		return 1, nil
	}
	minor, err := strconv.Atoi(strings.TrimPrefix(text, "2."))
	if err != nil {
		return 0, &problem{status: http.StatusBadRequest, kind: "badRequest", message: fmt.Sprintf("API Version String %s is of invalid format.", text)}
	}
	if minor > newestMicroversion {
		return 0, &problem{status: http.StatusNotAcceptable, kind: "computeFault",
			message: fmt.Sprintf("Version %s is not supported by the API. Minimum is 2.1 and maximum is 2.%d.", text, newestMicroversion)}
	}
	return minor, nil
}

// listServers lists the project's servers. Those of a cell that is down are in the first page of a plain list from
// microversion 2.69 on, and otherwise left out without a word.
func (s *Server) listServers(c *call) *problem {
	minor, p := microversion(c)
	if p != nil {
		return p
	}
	plain := len(c.URL.Query()) == 0
	found := []any{}
	if plain && minor >= downCellMicroversion {
		for _, v := range s.content.servers {
			if v.project == c.project && s.hidden(v) {
				found = append(found, s.partial(v))
			}
		}
	}
	for _, v := range s.content.servers {
		if v.project == c.project && !s.hidden(v) {
			found = append(found, s.whole(v))
		}
	}
	return s.writePage(c, "servers", found)
}

func (s *Server) showServer(c *call) *problem {
	minor, p := microversion(c)
	if p != nil {
		return p
	}
	id := c.PathValue("id")
	for _, v := range s.content.servers {
		switch {
		case v.id != id:
		case s.hidden(v) && minor >= downCellMicroversion:
			return c.write(http.StatusOK, map[string]any{"server": s.partial(v)})
		case s.hidden(v):
			return &problem{status: http.StatusInternalServerError, kind: "computeFault", message: "Unexpected API Error."}
		default:
			return c.write(http.StatusOK, map[string]any{"server": s.whole(v)})
		}
	}
	return &problem{status: http.StatusNotFound, kind: "itemNotFound", message: fmt.Sprintf("Instance %s could not be found.", id)}
}

// detachVolume begins to detach a volume from a server of the project.
func (s *Server) detachVolume(c *call) *problem {
	id, volumeID := c.PathValue("id"), c.PathValue("volume")
	if !slices.ContainsFunc(s.content.servers, func(v server) bool { return v.id == id && v.project == c.project }) {
		return &problem{status: http.StatusNotFound, kind: "itemNotFound", message: fmt.Sprintf("Instance %s could not be found.", id)}
	}
	v := find(s.content.volumes, volumeID)
	if v == nil || v.project != c.project || !slices.Contains(v.AttachedTo, id) {
		return &problem{status: http.StatusNotFound, kind: "itemNotFound", message: "volume_id not found: " + volumeID}
	}
	if v.Status != "in-use" {
		return &problem{status: http.StatusBadRequest, kind: "badRequest",
			message: fmt.Sprintf("Invalid volume: Invalid input received: Invalid volume: Volume status must be 'in-use'. Got %s.", v.Status)}
	}
	v.Status = "detaching"
	s.later(v.ID, func(*content) {
		v.AttachedTo = slices.DeleteFunc(v.AttachedTo, func(to string) bool { return to == id })
		v.Status = ""
		v.settle()
	})
	c.response.WriteHeader(http.StatusAccepted)
	return nil
}

func (s *Server) hidden(v server) bool { return s.content.cellDown && v.inDownCell }

// partial returns all that is known about a server of a cell that is down.
func (s *Server) partial(v server) map[string]any {
	return map[string]any{"id": v.id, "tenant_id": v.project, "status": "UNKNOWN", "created": "2026-01-01T00:00:00Z", "links": []any{}}
}

func (s *Server) whole(v server) map[string]any {
	addresses := []any{}
	for i, address := range v.addresses {
		kind := "fixed"
		if i > 0 {
			kind = "floating"
		}
		addresses = append(addresses, map[string]any{"addr": address, "version": 4, "OS-EXT-IPS:type": kind})
	}
	entry := s.partial(v)
	entry["name"], entry["status"], entry["addresses"] = v.name, v.status, map[string]any{"net": addresses}
	return entry
}
