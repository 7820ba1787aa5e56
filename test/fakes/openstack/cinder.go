// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// cinderTime is when everything of Cinder was made.
const cinderTime = "2026-01-01T00:00:00.000000"

func (s *Server) volumePaths() map[string]func(*call) *problem {
	return map[string]func(*call) *problem{
		"GET /volume/v3/volumes/detail":    s.listVolumes,
		"GET /volume/v3/volumes/{id}":      s.showVolume,
		"POST /volume/v3/volumes":          s.createVolume,
		"DELETE /volume/v3/volumes/{id}":   s.deleteVolume,
		"GET /volume/v3/snapshots/detail":  s.listSnapshots,
		"GET /volume/v3/snapshots/{id}":    s.showSnapshot,
		"POST /volume/v3/snapshots":        s.createSnapshot,
		"DELETE /volume/v3/snapshots/{id}": s.deleteSnapshot,
	}
}

// listVolumes lists the project's volumes, for every client: all_tenants, by which an administrator gets all, is not supported.
func (s *Server) listVolumes(c *call) *problem {
	all := []any{}
	for _, v := range slices.Backward(s.content.volumes) { // the youngest first
		if v.project == c.project {
			all = append(all, s.volumeBody(v, true))
		}
	}
	return s.writePage(c, "volumes", cinderFilter(c, all, "name", "status"))
}

func (s *Server) showVolume(c *call) *problem {
	v, p := s.visibleVolume(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	return c.write(http.StatusOK, map[string]any{"volume": s.volumeBody(v, true)})
}

func (s *Server) listSnapshots(c *call) *problem {
	all := []any{}
	for _, v := range slices.Backward(s.content.snapshots) {
		if v.project == c.project {
			all = append(all, s.snapshotBody(v, true))
		}
	}
	return s.writePage(c, "snapshots", cinderFilter(c, all, "name", "status", "volume_id"))
}

func (s *Server) showSnapshot(c *call) *problem {
	v, p := s.visibleSnapshot(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	return c.write(http.StatusOK, map[string]any{"snapshot": s.snapshotBody(v, true)})
}

// cinderFilter filters by what Cinder knows, and ignores what it does not.
func cinderFilter(c *call, all []any, known ...string) []any {
	query := c.URL.Query()
	maps.DeleteFunc(query, func(name string, _ []string) bool { return !slices.Contains(known, name) })
	found, _ := filter(query, all, known...)
	return found
}

func (s *Server) visibleVolume(c *call, id string) (*volume, *problem) {
	if v := find(s.content.volumes, id); v != nil && c.sees(v.project) {
		return v, nil
	}
	return nil, cinderProblem(http.StatusNotFound, "Volume "+id+" could not be found.")
}

func (s *Server) visibleSnapshot(c *call, id string) (*snapshot, *problem) {
	if v := find(s.content.snapshots, id); v != nil && c.sees(v.project) {
		return v, nil
	}
	return nil, cinderProblem(http.StatusNotFound, "Snapshot "+id+" could not be found.")
}

// volumeBody returns a volume as Cinder writes it; the owner is not in the response to its creation.
func (s *Server) volumeBody(v *volume, owner bool) map[string]any {
	attachments := []any{}
	for _, server := range v.AttachedTo {
		attachments = append(attachments, map[string]any{"id": v.ID, "volume_id": v.ID, "attachment_id": v.ID + "-" + server, "server_id": server,
			"host_name": nil, "device": "/dev/vdb", "attached_at": cinderTime})
	}
	body := map[string]any{"id": v.ID, "name": v.Name, "description": orNull(v.Description), "status": v.Status, "size": v.Size,
		"snapshot_id": orNull(v.SnapshotID), "source_volid": nil, "metadata": v.Metadata, "attachments": attachments, "availability_zone": "nova",
		"volume_type": "__DEFAULT__", "bootable": "false", "encrypted": false, "multiattach": false, "replication_status": nil,
		"consistencygroup_id": nil, "user_id": v.project, "created_at": cinderTime, "updated_at": cinderTime, "links": []any{}}
	if owner {
		body["os-vol-tenant-attr:tenant_id"] = v.project
	}
	return body
}

func (s *Server) snapshotBody(v *snapshot, owner bool) map[string]any {
	size := 1
	if of := find(s.content.volumes, v.VolumeID); of != nil {
		size = of.Size
	}
	body := map[string]any{"id": v.ID, "name": v.Name, "description": orNull(v.Description), "status": v.Status, "size": size,
		"volume_id": v.VolumeID, "metadata": v.Metadata, "created_at": cinderTime, "updated_at": cinderTime}
	if owner {
		body["os-extended-snapshot-attributes:project_id"] = v.project
		body["os-extended-snapshot-attributes:progress"] = "100%"
	}
	return body
}

// cinderProblem returns a rejection with Cinder's name for the code.
func cinderProblem(status int, message string) *problem {
	kinds := map[int]string{http.StatusBadRequest: "badRequest", http.StatusNotFound: "itemNotFound"}
	return &problem{status: status, kind: kinds[status], message: message}
}

// wholeNumber reads a size, which may be a number or a text with one; 0: it is neither.
func wholeNumber(value any) int {
	switch v := value.(type) {
	case float64:
		if v == float64(int(v)) {
			return int(v)
		}
	case string:
		if n, err := strconv.Atoi(v); err == nil {
			return n
		}
	}
	return 0
}
