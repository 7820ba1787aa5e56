// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"fmt"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// clusterKey is the metadata by which the Cinder CSI driver marks volumes and snapshots with the id of the cluster.
// Source: https://github.com/kubernetes/cloud-provider-openstack/blob/master/pkg/csi/cinder/controllerserver.go
const clusterKey = "cinder.csi.openstack.org/cluster"

// Statuses of volumes and snapshots. Cinder deletes volumes and snapshots only in some.
// Source: https://docs.openstack.org/api-ref/block-storage/v3/#delete-a-volume
const (
	statusInUse         = "in-use"
	statusErrorDeleting = "error_deleting"
)

var (
	deletableVolume   = []string{"available", "error", "error_restoring", "error_extending", "error_managing", statusErrorDeleting}
	attachingVolume   = []string{"reserved", "attaching", "detaching"}
	deletableSnapshot = []string{"available", "error", statusErrorDeleting}
)

// stored is what a volume and a snapshot have in common.
type stored struct {
	project string
	// tag is the id of the cluster in its metadata.
	tag string
	// policy and standing are what was recorded of it, and recorded reports that something was.
	policy   string
	standing string
	recorded bool
}

// fateOf is what becomes of a volume or a snapshot that is the cluster's.
type fateOf int

const (
	// notOwn: it is another client's.
	notOwn fateOf = iota
	deletable
	// isRetained: it stays on purpose.
	isRetained
	// isUndecided: it stays, although no user requested that.
	isUndecided
	// isLeft: it stays although it should go.
	isLeft
)

// keeper decides whether a volume or a snapshot is the cluster's, and why it stays. The field is that of the spec which
// keeps its kind, beside that for all volumes; source is where the recorded policy is from.
func (d *decision) keeper(s stored, policy kubernikusv1.DeletionPolicy, field, source string) (fate fateOf, why string) {
	tagged := s.tag == d.tag && clusterid.Usable(d.tag)
	if !s.recorded && !tagged || s.project != d.project && s.project != "" {
		return notOwn, ""
	}
	owner := d.conflicts.ownerOf(s.tag, d.project)
	switch {
	case s.project == "":
		return isUndecided, "Cinder does not report which project it is of"
	case !deletes(d.Policies.PersistentVolumes):
		return isRetained, isRetain("persistentVolumes")
	case !deletes(policy):
		return isRetained, isRetain(field)
	case s.recorded && s.policy == "":
		return isUndecided, "no claim ever had it"
	case s.recorded && s.policy != string(kubernikusv1.DeletionPolicyDelete):
		return isRetained, "its " + source + " keeps it"
	case s.recorded && owner != "":
		return isUndecided, "its metadata names Kluster " + owner
	case !s.recorded && !deletes(d.Policies.UnseenVolumes) && d.ClusterLost != "":
		return isLeft, "never seen: " + unchecked + ", and " + isRetain("unseenVolumes")
	case !s.recorded && !deletes(d.Policies.UnseenVolumes):
		return isUndecided, "never seen in the cluster, and " + isRetain("unseenVolumes")
	case d.mayBeNew(s.recorded) != "":
		return isLeft, d.mayBeNew(s.recorded)
	case s.standing != "" && d.dismantled():
		return isUndecided, s.standing
	case s.standing != "":
		return isLeft, s.standing
	default:
		return deletable, ""
	}
}

// settles reports what stays, and whether an object does, or is another client's.
func (d *decision) settles(what fateOf, object kubernikusv1.DeorbitObject, why string) bool {
	switch what {
	case isRetained:
		d.retain(object, why)
	case isUndecided:
		d.undecide(object, why)
	case isLeft:
		d.stick(object, why)
	}
	return what != deletable
}

// fate is what becomes of a snapshot that keeps its volume from being deleted.
type fate struct {
	volume, text string
	is           fateOf
}

// snapshotsOf decides about snapshots, and returns the fate of all there are, those of others included.
func (d *decision) snapshotsOf() []fate {
	recorded := map[string]kubernikusv1.SeenSnapshot{}
	for _, s := range d.Recorded.Snapshots {
		recorded[s.ID] = s
	}
	fates := make([]fate, 0, len(d.snapshots))
	for _, s := range d.snapshots {
		object := kubernikusv1.DeorbitObject{Kind: kindSnapshot, Name: s.Name, ID: s.ID}
		record, seen := recorded[s.ID]
		if !seen && s.ProjectID == d.project && d.rejectsTag(s.Metadata) {
			d.rejectTag(object)
		}
		standing := d.stands("its VolumeSnapshot or VolumeSnapshotContent "+record.Name, record.Standing)
		what, why := d.keeper(stored{s.ProjectID, s.Metadata[clusterKey], record.DeletionPolicy, standing, seen},
			d.Policies.Snapshots, "snapshots", "VolumeSnapshotContent")
		fates = append(fates, fate{volume: s.VolumeID, text: "snapshot " + s.ID, is: what})
		switch {
		case d.settles(what, object, why):
		case !slices.Contains(deletableSnapshot, s.Status):
			d.remain(object, "status "+s.Status)
		default:
			d.remove(removal{object: object, again: s.Status == statusErrorDeleting,
				do: func(ctx context.Context, p Project, id string) error { return p.Volumes.DeleteSnapshot(ctx, id) }})
		}
	}
	return fates
}

// volumesOf decides about volumes. Cinder deletes none that has snapshots.
func (d *decision) volumesOf(snapshots []fate) {
	recorded := map[string]kubernikusv1.SeenVolume{}
	for _, v := range d.Recorded.Volumes {
		recorded[v.ID] = v
	}
	for _, v := range d.volumes {
		object := kubernikusv1.DeorbitObject{Kind: kindVolume, Name: v.Name, ID: v.ID}
		record, seen := recorded[v.ID]
		if !seen && v.ProjectID == d.project && d.rejectsTag(v.Metadata) {
			d.rejectTag(object)
		}
		standing := d.stands("the claim of its PersistentVolume "+record.Name, record.Standing)
		what, why := d.keeper(stored{v.ProjectID, v.Metadata[clusterKey], record.ReclaimPolicy, standing, seen},
			d.Policies.PersistentVolumes, "persistentVolumes", "PersistentVolume")
		waits, stays := snapshotsBefore(v.ID, snapshots)
		switch {
		case d.settles(what, object, why):
		case d.unseen.snapshots != "":
			d.remain(object, waiting+"the snapshots, which could not be checked")
		case stays.is == isRetained:
			d.retain(object, stays.text+" of it stays")
		case stays.text != "":
			d.undecide(object, stays.text+" of it stays, and Cinder deletes no volume that has a snapshot")
		case d.detaches(v, record):
			d.remove(removal{object: object, change: true,
				do: func(ctx context.Context, p Project, id string) error {
					return p.Compute.DetachVolume(ctx, record.ServerID, id)
				}})
		case len(v.AttachedTo) > 0 && d.isAbandoned(v):
			d.stick(object, "attached to server "+first(v.AttachedTo)+", which Nova does not have: "+
				"delete the attachment (openstack volume attachment delete), or have an administrator reset the volume")
		case len(v.AttachedTo) > 0:
			d.remain(object, "attached to server "+first(v.AttachedTo))
		case waits != "":
			d.remain(object, waiting+waits)
		case slices.Contains(attachingVolume, v.Status):
			d.remain(object, "status "+v.Status+": an attachment was begun and not ended. Delete it (openstack volume attachment delete)")
		case !slices.Contains(deletableVolume, v.Status):
			d.remain(object, "status "+v.Status)
		default:
			d.remove(removal{object: object, again: v.Status == statusErrorDeleting,
				do: func(ctx context.Context, p Project, id string) error { return p.Volumes.DeleteVolume(ctx, id) }})
		}
	}
}

// detaches reports whether a volume is detached as the CSI driver would, whose controller is dead: a VolumeAttachment that was
// seen in the cluster names the node of the only server that has it, and Nova has that server. In a cluster that was given up, pods
// may still use the volume.
func (d *decision) detaches(v openstack.Volume, record kubernikusv1.SeenVolume) bool {
	return d.ClusterLost == "" && v.Status == statusInUse && record.ServerID != "" &&
		slices.Equal(v.AttachedTo, []string{record.ServerID}) && d.liveServers[record.ServerID]
}

// isAbandoned reports whether only servers that Nova does not have are attached to a volume. Nova detaches it when a server is deleted;
// from a server that has been deleted, or that there never was, nothing does.
func (d *decision) isAbandoned(v openstack.Volume) bool {
	return !slices.ContainsFunc(v.AttachedTo, func(id string) bool { return !d.deletedServers[id] })
}

// snapshotsBefore returns the first snapshot of a volume that has to be deleted before it, and the first that stays: one that no user
// requested to retain, if there is any.
func snapshotsBefore(volume string, all []fate) (waits string, stays fate) {
	for _, f := range all {
		switch {
		case f.volume != volume:
		case (f.is == deletable || f.is == isLeft) && waits == "":
			waits = f.text
		case f.is == notOwn, f.is == isUndecided:
			if stays.text == "" || stays.is == isRetained {
				stays = f
			}
		case f.is == isRetained && stays.text == "":
			stays = f
		}
	}
	return waits, stays
}

// rejectsTag reports whether metadata may name this cluster by a name that nothing is deleted by.
func (d *decision) rejectsTag(metadata map[string]string) bool {
	tag, marked := metadata[clusterKey]
	doubted := []string{d.tag, d.Kluster.Name, d.Kluster.CSIClusterID(), d.Recorded.CSIClusterID}
	return marked && !clusterid.Usable(d.tag) && !d.unborn() && d.suspect(tag, doubted) && d.conflicts.ownerOf(tag, d.project) == ""
}

func (d *decision) rejectTag(object kubernikusv1.DeorbitObject) {
	if !deletes(d.Policies.PersistentVolumes) {
		d.retain(object, isRetain("persistentVolumes"))
		return
	}
	report, reason := d.doubtful(d.whyNot(d.tag, "csiClusterID"))
	report(object, reason)
}

// first returns the first of several texts, and how many more there are.
func first(texts []string) string {
	if more := len(texts) - 1; more > 0 {
		return fmt.Sprintf("%s and %d more", slices.Min(texts), more)
	}
	return texts[0]
}
