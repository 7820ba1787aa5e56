// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/http"
	"slices"

	"github.com/google/uuid"
)

// Messages of Cinder, whatever of them is the case.
const (
	volumeNotDeletable = "Invalid volume: Volume status must be available or error or error_restoring or error_extending or error_managing and " +
		"must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer."
	snapshotNotDeletable = "Invalid snapshot: Snapshot status must be available or error and must not be part of a group."
)

// createVolume begins to make a volume. At the microversion 3.0 that Groundskeeper speaks Cinder ignores fields of a volume that it
// does not know.
func (s *Server) createVolume(c *call) *problem {
	given, ok := c.body["volume"].(map[string]any)
	if !ok {
		return cinderProblem(http.StatusBadRequest, "Invalid input for field/attribute volume. Value: None. 'volume' is a required property")
	}
	made := &volume{Volume: Volume{ID: uuid.NewString(), Status: "creating"}, project: c.project}
	var p *problem
	if made.Name, made.Description, made.Metadata, p = cinderTexts(given); p != nil {
		return p
	}
	made.Size = wholeNumber(given["size"])
	if id, _ := given["snapshot_id"].(string); id != "" {
		of, p := s.visibleSnapshot(c, id)
		if p != nil {
			return p
		}
		made.SnapshotID = id
		if source := find(s.content.volumes, of.VolumeID); source != nil && made.Size == 0 {
			made.Size = source.Size
		}
	}
	if made.Size <= 0 {
		return cinderProblem(http.StatusBadRequest, "Invalid input received: Volume size must be an integer and greater than 0")
	}
	s.content.volumes = append(s.content.volumes, made)
	s.later(made.ID, func(*content) { made.Status = "available" })
	return c.write(http.StatusAccepted, map[string]any{"volume": s.volumeBody(made, false)})
}

// deleteVolume begins to delete a volume that nothing uses; with cascade, its snapshots, too.
func (s *Server) deleteVolume(c *call) *problem {
	v, p := s.visibleVolume(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	var snapshots []*snapshot
	for _, one := range s.content.snapshots {
		if one.VolumeID == v.ID {
			snapshots = append(snapshots, one)
		}
	}
	cascade := slices.Contains([]string{"true", "True", "1"}, c.URL.Query().Get("cascade"))
	stuck := func(one *snapshot) bool {
		return !cascade || !slices.Contains([]string{"available", "error", "deleting"}, one.Status)
	}
	fit := []string{"available", "error", "error_restoring", "error_extending", "error_managing"}
	if len(v.AttachedTo) > 0 || !slices.Contains(fit, v.Status) || slices.ContainsFunc(snapshots, stuck) {
		return cinderProblem(http.StatusBadRequest, volumeNotDeletable)
	}
	for _, one := range snapshots {
		s.deleting(one.ID, &one.Status, func(c *content) { c.removeSnapshot(one.ID) })
	}
	s.deleting(v.ID, &v.Status, func(c *content) { c.removeVolume(v.ID) })
	c.response.WriteHeader(http.StatusAccepted)
	return nil
}

// createSnapshot begins to make a snapshot of a volume, of one in use only by force.
func (s *Server) createSnapshot(c *call) *problem {
	var given struct {
		Name        any            `json:"name"`
		DisplayName any            `json:"display_name"`
		Description any            `json:"description"`
		VolumeID    string         `json:"volume_id"`
		Force       any            `json:"force"`
		Metadata    map[string]any `json:"metadata"`
	}
	if err := c.read("snapshot", &given); err != nil {
		if field, ok := errors.AsType[unknownField](err); ok {
			return cinderProblem(http.StatusBadRequest, "Additional properties are not allowed ('"+string(field)+"' was unexpected)")
		}
		return cinderProblem(http.StatusBadRequest, "Invalid input for field/attribute snapshot.")
	}
	if given.VolumeID == "" {
		return cinderProblem(http.StatusBadRequest, "Invalid input for field/attribute snapshot. 'volume_id' is a required property")
	}
	of, p := s.visibleVolume(c, given.VolumeID)
	if p != nil {
		return p
	}
	forced := given.Force == true || given.Force == "true"
	if of.Status != "available" && (!forced || of.Status != "in-use") {
		return cinderProblem(http.StatusBadRequest, "Invalid volume: Volume "+of.ID+" status must be available, but current status is: "+of.Status+".")
	}
	made := &snapshot{Snapshot: Snapshot{ID: uuid.NewString(), Status: "creating", VolumeID: of.ID}, project: c.project}
	if made.Name, made.Description, made.Metadata, p = cinderTexts(dig(c.body, "snapshot")); p != nil {
		return p
	}
	s.content.snapshots = append(s.content.snapshots, made)
	s.later(made.ID, func(*content) { made.Status = "available" })
	return c.write(http.StatusAccepted, map[string]any{"snapshot": s.snapshotBody(made, false)})
}

func (s *Server) deleteSnapshot(c *call) *problem {
	v, p := s.visibleSnapshot(c, c.PathValue("id"))
	if p != nil {
		return p
	}
	if v.Status != "available" && v.Status != "error" {
		return cinderProblem(http.StatusBadRequest, snapshotNotDeletable)
	}
	s.deleting(v.ID, &v.Status, func(c *content) { c.removeSnapshot(v.ID) })
	c.response.WriteHeader(http.StatusAccepted)
	return nil
}

// deleting begins a deletion, that ends with the object deleted or in error.
func (s *Server) deleting(id string, status *string, remove func(*content)) {
	*status = "deleting"
	s.later(id, func(c *content) {
		if c.failing[id] {
			*status = "error_deleting"
			return
		}
		remove(c)
	})
}

// cinderTexts reads name, description and metadata, which are texts or null.
func cinderTexts(given map[string]any) (name, description string, metadata map[string]string, p *problem) {
	for field, into := range map[string]*string{"name": &name, "description": &description} {
		text, ok := given[field].(string)
		if !ok && given[field] != nil {
			return "", "", nil, cinderProblem(http.StatusBadRequest, "Invalid input for field/attribute "+field+".")
		}
		*into = text
	}
	metadata = map[string]string{}
	for key, value := range dig(given, "metadata") {
		text, ok := value.(string)
		if !ok {
			return "", "", nil, cinderProblem(http.StatusBadRequest, "Invalid input for field/attribute metadata.")
		}
		metadata[key] = text
	}
	return name, description, metadata, nil
}
