// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"maps"
	"slices"

	"github.com/google/uuid"
)

// Volume is a volume of Cinder.
type Volume struct {
	ID, Name, Description string
	// Status is available, or in-use when it is attached, unless it specifies otherwise.
	Status     string
	Size       int // GiB
	SnapshotID string
	Metadata   map[string]string
	// AttachedTo are the ids of servers.
	AttachedTo []string
}

// Snapshot is a snapshot of a volume.
type Snapshot struct {
	ID, Name, Description string
	// Status is available unless it specifies otherwise.
	Status   string
	VolumeID string
	Metadata map[string]string
}

// volume is a Volume of a project.
type volume struct {
	Volume
	project string
}

type snapshot struct {
	Snapshot
	project string
}

func (v *volume) id() string   { return v.ID }
func (s *snapshot) id() string { return s.ID }

// settle makes the status fit the attachments.
func (v *volume) settle() {
	switch {
	case len(v.AttachedTo) > 0 && (v.Status == "available" || v.Status == ""):
		v.Status = "in-use"
	case len(v.AttachedTo) == 0 && (v.Status == "in-use" || v.Status == ""):
		v.Status = "available"
	}
	if v.Metadata == nil {
		v.Metadata = map[string]string{}
	}
}

// copied returns the volume for others to keep.
func (v Volume) copied() Volume {
	v.Metadata, v.AttachedTo = maps.Clone(v.Metadata), slices.Clone(v.AttachedTo)
	return v
}

// AddVolume makes a volume, and returns its id, a new one if it has none.
func (s *Server) AddVolume(project string, v Volume) string {
	made := &volume{Volume: v.copied(), project: project}
	made.ID, made.Size = newID(v.ID), max(v.Size, 1)
	made.settle()
	s.change(func(c *content) { c.volumes = append(c.volumes, made) })
	return made.ID
}

// ChangeVolume changes a volume. Its status follows its attachments.
func (s *Server) ChangeVolume(id string, change func(*Volume)) {
	s.change(func(c *content) {
		v := find(c.volumes, id)
		change(&v.Volume)
		v.settle()
	})
}

// RemoveVolume takes a volume away, as if it had never been.
func (s *Server) RemoveVolume(id string) { s.change(func(c *content) { c.removeVolume(id) }) }

// Volumes returns the volumes of a project.
func (s *Server) Volumes(project string) (all []Volume) {
	s.change(func(c *content) {
		for _, v := range c.volumes {
			if v.project == project {
				all = append(all, v.copied())
			}
		}
	})
	return all
}

// AddSnapshot makes a snapshot, and returns its id, a new one if it has none.
func (s *Server) AddSnapshot(project string, of Snapshot) string {
	made := &snapshot{Snapshot: of, project: project}
	made.ID, made.Metadata = newID(of.ID), maps.Clone(of.Metadata)
	if made.Status == "" {
		made.Status = "available"
	}
	if made.Metadata == nil {
		made.Metadata = map[string]string{}
	}
	s.change(func(c *content) { c.snapshots = append(c.snapshots, made) })
	return made.ID
}

// ChangeSnapshot changes a snapshot.
func (s *Server) ChangeSnapshot(id string, change func(*Snapshot)) {
	s.change(func(c *content) { change(&find(c.snapshots, id).Snapshot) })
}

// RemoveSnapshot takes a snapshot away, as if it had never been.
func (s *Server) RemoveSnapshot(id string) { s.change(func(c *content) { c.removeSnapshot(id) }) }

// Snapshots returns the snapshots of a project.
func (s *Server) Snapshots(project string) (all []Snapshot) {
	s.change(func(c *content) {
		for _, v := range c.snapshots {
			if v.project == project {
				one := v.Snapshot
				one.Metadata = maps.Clone(v.Metadata)
				all = append(all, one)
			}
		}
	})
	return all
}

func (c *content) removeVolume(id string) {
	c.volumes = without(c.volumes, func(v *volume) bool { return v.ID == id })
}

func (c *content) removeSnapshot(id string) {
	c.snapshots = without(c.snapshots, func(v *snapshot) bool { return v.ID == id })
}

// newID returns an id, or a new one when there is none.
func newID(id string) string {
	if id == "" {
		return uuid.NewString()
	}
	return id
}
