// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// Snapshots deletes the snapshots that are Cinder's, then those contents that are left and not to be kept. It is over when they
// have been deleted: Cinder deletes no volume that has a snapshot.
func Snapshots(w *inventory.World, work stage.Work) Plan {
	p := Record(w, work.Recorded)
	if w.Listed.Snapshots {
		p.Listed = []string{KindSnapshot, KindContent}
	}
	taken, contained := w.OwnSnapshots(), w.OwnContents()
	switch {
	case !deletes(work.Policies.PersistentVolumes):
		p.retainSnapshots(taken, contained, "spec.deorbit.persistentVolumes is Retain")
		return p
	case !deletes(work.Policies.Snapshots):
		p.retainSnapshots(taken, contained, "spec.deorbit.snapshots is Retain")
		return p
	}
	recorded, held := snapshotRecords(p.Seen, work.Recorded), map[string]bool{}
	for _, s := range taken {
		id := ""
		if s.Of != nil {
			id, held[s.Of.Name] = s.Of.Handle, true
		}
		switch {
		case s.Deleting():
			p.remains(KindSnapshot, s.Meta, id, waiting(s.Meta))
		case id != "" && !recorded[id]:
			p.remains(KindSnapshot, s.Meta, id, reasonToRecord)
		default:
			p.deletes(snapshots.WithVersion(w.SnapshotVersion), KindSnapshot, s.Meta, id)
		}
	}
	for _, c := range contained {
		switch {
		case !c.Delete:
			p.retains(KindContent, c.Meta, c.Handle, "its deletion policy is not Delete")
		case c.Deleting():
			p.remains(KindContent, c.Meta, c.Handle, waiting(c.Meta))
		case held[c.Name]:
			p.remains(KindContent, c.Meta, c.Handle, "it is deleted with its VolumeSnapshot")
		case c.Handle != "" && !recorded[c.Handle]:
			p.remains(KindContent, c.Meta, c.Handle, reasonToRecord)
		default:
			p.deletes(contents.WithVersion(w.SnapshotVersion), KindContent, c.Meta, c.Handle)
		}
	}
	return p
}

// keptSnapshots returns the names of contents that stay, by the volumes that they were taken of.
func keptSnapshots(w *inventory.World, policies stage.Policies) map[string]string {
	kept := map[string]string{}
	for _, c := range w.OwnContents() {
		stays := !c.Delete || !c.Deleting() && !deletes(policies.Snapshots)
		if stays && c.Volume != "" && c.Handle != "" {
			kept[c.Volume] = c.Name
		}
	}
	return kept
}

func (p *Plan) retainSnapshots(taken []inventory.Taken, contents []inventory.Content, reason string) {
	for _, s := range taken {
		p.retains(KindSnapshot, s.Meta, "", reason)
	}
	for _, c := range contents {
		p.retains(KindContent, c.Meta, c.Handle, reason)
	}
}
