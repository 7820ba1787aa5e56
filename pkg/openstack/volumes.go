// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
)

// Volume is a volume of Cinder.
type Volume struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Status is Cinder's word in lower case, as available, in-use, deleting or error_deleting.
	Status string `json:"status"`
	// ProjectID is the owner, "" when Cinder does not report it to this user.
	ProjectID string            `json:"os-vol-tenant-attr:tenant_id"`
	Metadata  map[string]string `json:"metadata"`
	// AttachedTo are the ids of the servers that have the volume.
	AttachedTo []string `json:"-"`
}

// VolumeSnapshot is a snapshot of a volume.
type VolumeSnapshot struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Status is Cinder's word in lower case, as available, deleting or error_deleting.
	Status string `json:"status"`
	// ProjectID is the owner, "" when Cinder does not report it to this user.
	ProjectID string `json:"os-extended-snapshot-attributes:project_id"`
	// VolumeID is the volume that it was taken of. Cinder deletes no volume that has snapshots.
	VolumeID string            `json:"volume_id"`
	Metadata map[string]string `json:"metadata"`
}

// volume is a Volume as Cinder writes it.
type volume struct {
	Volume
	Attachments []struct {
		ServerID string `json:"server_id"`
	} `json:"attachments"`
}

// Volumes lists all volumes of the project: without all_tenants Cinder gives an administrator no others either. The list
// is whole, or there is an error.
// Source: https://docs.openstack.org/api-ref/block-storage/v3/#list-accessible-volumes-with-details
func (b BlockStorage) Volumes(ctx context.Context) ([]Volume, error) {
	return objects(ctx, b.api, "list the volumes", "volumes", nil, volume.convert, "volumes", "detail")
}

func (v volume) convert() (Volume, error) {
	if v.ID == "" || v.Status == "" {
		return Volume{}, fmt.Errorf("volume %q has no status", v.ID)
	}
	for _, attachment := range v.Attachments {
		if attachment.ServerID != "" {
			v.AttachedTo = append(v.AttachedTo, attachment.ServerID)
		}
	}
	return v.Volume, nil
}

// Snapshots lists all snapshots of the project. The list is whole, or there is an error.
// Source: https://docs.openstack.org/api-ref/block-storage/v3/#list-snapshots-and-details
func (b BlockStorage) Snapshots(ctx context.Context) ([]VolumeSnapshot, error) {
	return objects(ctx, b.api, "list the snapshots of volumes", "snapshots", nil, func(s VolumeSnapshot) (VolumeSnapshot, error) {
		if s.ID == "" || s.Status == "" {
			return VolumeSnapshot{}, fmt.Errorf("snapshot %q has no status", s.ID)
		}
		return s, nil
	}, "snapshots", "detail")
}

// DeleteVolume has Cinder delete a volume, which then is "deleting" for a while, and may end as "error_deleting". One that
// has already been deleted is fine. ReasonRefused: it is attached, has snapshots, or is on its way already; Cinder's message is the
// same for all of these, so check Status, AttachedTo and Snapshots.
func (b BlockStorage) DeleteVolume(ctx context.Context, id string) error {
	return b.remove(ctx, "delete volume "+id, "", id, "volumes")
}

// DeleteSnapshot has Cinder delete a snapshot, which then is "deleting" for a while. One that has already been deleted is
// fine. ReasonRefused: its status does not allow it, or volumes depend on it.
func (b BlockStorage) DeleteSnapshot(ctx context.Context, id string) error {
	return b.remove(ctx, "delete snapshot "+id, "", id, "snapshots")
}
