// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// shareKey is the metadata by which the Manila CSI driver marks shares with the id of the cluster, if it has one. Snapshots have none.
// Source: https://github.com/kubernetes/cloud-provider-openstack/blob/master/pkg/csi/manila/controllerserver.go
const shareKey = "manila.csi.openstack.org/cluster"

// Manila deletes shares and snapshots only in some statuses. From error_deleting only an administrator gets them out.
var (
	deletableShare         = []string{"available", "error", "inactive"}
	deletableShareSnapshot = []string{"available", "error"}
)

// sharesIn returns how many of the recorded volumes and snapshots are those of Manila, and how many are not.
func sharesIn(w stage.Work) (shares, others int) {
	for _, v := range w.Recorded.Volumes {
		if v.Share {
			shares++
		}
	}
	for _, s := range w.Recorded.Snapshots {
		if s.Share {
			shares++
		}
	}
	return shares, len(w.Recorded.Volumes) + len(w.Recorded.Snapshots) - shares
}

// listShares lists what Manila has, unless the cluster was checked and has nothing there: many clouds have no Manila.
func (p Project) listShares(ctx context.Context, w stage.Work, all *inventory) error {
	if shares, _ := sharesIn(w); shares == 0 && w.ClusterLost == "" {
		return nil
	}
	shares, err := listed(ctx, p.Shares.Shares, func(s openstack.Share) string { return s.ID })
	if err != nil {
		return err
	}
	// Snapshots second: one that comes meanwhile is seen.
	snapshots, err := listed(ctx, p.Shares.Snapshots, func(s openstack.ShareSnapshot) string { return s.ID })
	if err != nil {
		return err
	}
	all.shares, all.shareSnapshots = shares, snapshots
	return nil
}

// shareSnapshotsOf decides about snapshots of shares, and returns the fate of all there are, those of others included. Only the id that a
// VolumeSnapshotContent had shows whose they are.
func (d *decision) shareSnapshotsOf() []fate {
	recorded := map[string]kubernikusv1.SeenSnapshot{}
	for _, s := range d.Recorded.Snapshots {
		if s.Share {
			recorded[s.ID] = s
		}
	}
	if d.unseen.shares != "" && deletes(d.Policies.PersistentVolumes) && deletes(d.Policies.Snapshots) {
		for _, s := range d.Recorded.Snapshots {
			if s.Share && s.DeletionPolicy == string(kubernikusv1.DeletionPolicyDelete) {
				d.stick(kubernikusv1.DeorbitObject{Kind: kindShareSnapshot, ID: s.ID}, "could not be checked: "+d.unseen.shares)
			}
		}
	}
	fates := make([]fate, 0, len(d.shareSnapshots))
	for _, s := range d.shareSnapshots {
		object := kubernikusv1.DeorbitObject{Kind: kindShareSnapshot, Name: s.Name, ID: s.ID}
		record, seen := recorded[s.ID]
		standing := d.stands("its VolumeSnapshot or VolumeSnapshotContent "+record.Name, record.Standing)
		what, why := d.keeper(stored{s.ProjectID, "", record.DeletionPolicy, standing, seen},
			d.Policies.Snapshots, "snapshots", "VolumeSnapshotContent")
		fates = append(fates, fate{volume: s.ShareID, text: "snapshot " + s.ID, is: what})
		switch {
		case d.settles(what, object, why):
		case !slices.Contains(deletableShareSnapshot, s.Status):
			d.remain(object, "status "+s.Status)
		default:
			d.remove(removal{object: object,
				do: func(ctx context.Context, p Project, id string) error { return p.Shares.DeleteSnapshot(ctx, id) }})
		}
	}
	return fates
}

// sharesOf decides about shares. Manila deletes none that has snapshots, and deletes their access rules with them. A share that only its
// metadata claims for the cluster is never deleted.
func (d *decision) sharesOf(snapshots []fate) {
	recorded := map[string]kubernikusv1.SeenVolume{}
	for _, v := range d.Recorded.Volumes {
		if v.Share {
			recorded[v.ID] = v
		}
	}
	if d.unseen.shares != "" && deletes(d.Policies.PersistentVolumes) {
		d.rejectUnseen()
	}
	for _, s := range d.shares {
		object := kubernikusv1.DeorbitObject{Kind: kindShare, Name: s.Name, ID: s.ID}
		record, seen := recorded[s.ID]
		standing := d.stands("the claim of its PersistentVolume "+record.Name, record.Standing)
		what, why := d.keeper(stored{s.ProjectID, s.Metadata[shareKey], record.ReclaimPolicy, standing, seen},
			d.Policies.PersistentVolumes, "persistentVolumes", "PersistentVolume")
		if !seen && what == deletable {
			what, why = isUndecided, "never seen in the cluster, and a share is deleted only by the ID that a PersistentVolume had"
		}
		waits, stays := snapshotsBefore(s.ID, snapshots)
		switch {
		case d.settles(what, object, why):
		case stays.is == isRetained:
			d.retain(object, stays.text+" of it stays")
		case stays.text != "":
			d.undecide(object, stays.text+" of it stays, and Manila deletes no share that has a snapshot")
		case waits != "":
			d.remain(object, waiting+waits)
		case !slices.Contains(deletableShare, s.Status):
			d.remain(object, "status "+s.Status)
		default:
			d.remove(removal{object: object,
				do: func(ctx context.Context, p Project, id string) error { return p.Shares.DeleteShare(ctx, id) }})
		}
	}
}

// rejectUnseen reports the recorded shares that could not be checked, and without any that others may be left.
func (d *decision) rejectUnseen() {
	reason := "could not be checked: " + d.unseen.shares
	if shares, _ := sharesIn(d.Work); shares == 0 {
		d.stick(kubernikusv1.DeorbitObject{Kind: kindShare}, reason)
	}
	for _, v := range d.Recorded.Volumes {
		if v.Share && v.ReclaimPolicy == string(kubernikusv1.DeletionPolicyDelete) {
			d.stick(kubernikusv1.DeorbitObject{Kind: kindShare, ID: v.ID}, reason)
		}
	}
}
