// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
)

const shareRoot = "/share/v2"

// Microversions of Manila: what it speaks at most, and the first that reports the project of a snapshot.
const (
	manilaMinor   = 90
	snapshotMinor = 17
)

func (s *Server) sharePaths() map[string]func(*call) *problem {
	return map[string]func(*call) *problem{
		"GET /share/v2/shares/detail":     s.listShares,
		"DELETE /share/v2/shares/{id}":    s.deleteShare,
		"GET /share/v2/snapshots/detail":  s.listShareSnapshots,
		"DELETE /share/v2/snapshots/{id}": s.deleteShareSnapshot,
	}
}

var manilaVersion = regexp.MustCompile(`^2\.(\d{1,3})$`)

// manilaMinorOf returns the minor version that a request is for, 0 without the header.
func manilaMinorOf(c *call) (int, *problem) {
	text := c.Header.Get("X-Openstack-Manila-Api-Version")
	if text == "" {
		return 0, nil
	}
	found := manilaVersion.FindStringSubmatch(text)
	if found == nil {
		return 0, manilaProblem(http.StatusBadRequest, "API Version String "+text+" is of invalid format. Must be of format MajorNum.MinorNum.")
	}
	minor, _ := strconv.Atoi(found[1])
	if minor > manilaMinor {
		return 0, manilaProblem(http.StatusNotAcceptable,
			fmt.Sprintf("Version %s is not supported by the API. Minimum is 2.0 and maximum is 2.%d.", text, manilaMinor))
	}
	return minor, nil
}

// writeOffset writes the part of a list behind the offset of a query. Manila's link to the next page names a marker, which it ignores.
func (s *Server) writeOffset(c *call, name string, all []any) *problem {
	offset, err := strconv.Atoi(c.URL.Query().Get("offset"))
	if text := c.URL.Query().Get("offset"); text != "" && (err != nil || offset < 0) {
		return manilaProblem(http.StatusBadRequest, "offset param must be an integer")
	}
	all = all[min(offset, len(all)):]
	body := map[string]any{name: all}
	if size := s.options.PageSize; len(all) >= size {
		last := all[size-1].(map[string]any)["id"].(string)
		body[name] = all[:size]
		body[name+"_links"] = []any{map[string]any{"rel": "next", "href": s.http.URL + c.URL.Path + "?marker=" + last}}
	}
	return c.write(http.StatusOK, body)
}

func (s *Server) listShares(c *call) *problem {
	if _, p := manilaMinorOf(c); p != nil {
		return p
	}
	all := []any{}
	for _, v := range slices.Backward(s.content.shares) { // the youngest first
		if v.project == c.project {
			all = append(all, map[string]any{"id": v.ID, "name": v.Name, "status": v.Status, "project_id": v.project, "metadata": v.Metadata,
				"share_proto": "NFS", "size": 1, "is_public": false, "created_at": cinderTime, "updated_at": nil})
		}
	}
	return s.writeOffset(c, "shares", all)
}

func (s *Server) listShareSnapshots(c *call) *problem {
	minor, p := manilaMinorOf(c)
	if p != nil {
		return p
	}
	all := []any{}
	for _, v := range slices.Backward(s.content.shareSnapshots) {
		if v.project != c.project {
			continue
		}
		body := map[string]any{"id": v.ID, "name": v.Name, "status": v.Status, "share_id": v.ShareID, "share_proto": "NFS", "size": 1,
			"share_size": 1, "created_at": cinderTime}
		if minor >= snapshotMinor {
			body["project_id"] = v.project
		}
		all = append(all, body)
	}
	return s.writeOffset(c, "snapshots", all)
}

// deleteShare begins to delete a share with its access rules. Manila forbids it while there are snapshots, or its status is another one.
func (s *Server) deleteShare(c *call) *problem {
	if _, p := manilaMinorOf(c); p != nil {
		return p
	}
	v := find(s.content.shares, c.PathValue("id"))
	if v == nil || !c.sees(v.project) {
		return manilaProblem(http.StatusNotFound, "Share "+c.PathValue("id")+" could not be found.")
	}
	snapshots := 0
	for _, one := range s.content.shareSnapshots {
		if one.ShareID == v.ID {
			snapshots++
		}
	}
	switch {
	case !slices.Contains([]string{"available", "error", "inactive"}, v.Status):
		return manilaProblem(http.StatusForbidden, "Invalid share: Share status must be one of ('available', 'error', 'inactive').")
	case snapshots > 0:
		return manilaProblem(http.StatusForbidden, fmt.Sprintf("Invalid share: Share still has %d dependent snapshots.", snapshots))
	case v.Replicas > 0:
		return manilaProblem(http.StatusConflict, fmt.Sprintf("Share %s has replicas. Remove the replicas before deleting the share.", v.ID))
	}
	s.deleting(v.ID, &v.Status, func(c *content) { c.removeShare(v.ID) })
	c.response.WriteHeader(http.StatusAccepted)
	return nil
}

func (s *Server) deleteShareSnapshot(c *call) *problem {
	if _, p := manilaMinorOf(c); p != nil {
		return p
	}
	v := find(s.content.shareSnapshots, c.PathValue("id"))
	if v == nil || !c.sees(v.project) {
		return manilaProblem(http.StatusNotFound, "Snapshot "+c.PathValue("id")+" could not be found.")
	}
	if v.Status != "available" && v.Status != "error" {
		return manilaProblem(http.StatusBadRequest, "Invalid share snapshot: Share Snapshot status must be one of ('available', 'error').")
	}
	s.deleting(v.ID, &v.Status, func(c *content) { c.removeShareSnapshot(v.ID) })
	c.response.WriteHeader(http.StatusAccepted)
	return nil
}

// manilaProblem returns a rejection with Manila's name for the code.
func manilaProblem(status int, message string) *problem {
	kinds := map[int]string{http.StatusBadRequest: "badRequest", http.StatusForbidden: "forbidden", http.StatusNotFound: "itemNotFound",
		http.StatusConflict: "conflictingRequest"}
	return &problem{status: status, kind: kinds[status], message: message}
}
