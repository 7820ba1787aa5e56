// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"cmp"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// Kinds that are treated in a dedicated way.
const (
	// routeKind and routerKind are what stage Routes reports.
	routeKind  = "Route"
	routerKind = "Router"
	// backendKind and secretKind are what stage Drain reports.
	backendKind = "DiscoveryBackend"
	secretKind  = "Secret"
	// claimKind, snapshotKind and contentKind are objects of the workload cluster behind which there may be something in
	// OpenStack.
	claimKind    = "PersistentVolumeClaim"
	snapshotKind = "VolumeSnapshot"
	contentKind  = "VolumeSnapshotContent"
	// persistentVolumeKind is what the stages that list the volumes of the cluster report.
	persistentVolumeKind = "PersistentVolume"
	// podKind is the kind of what comes back under a new name when it is deleted.
	podKind = "Pod"
	// projectKind represents everything that could not be checked in an OpenStack project.
	projectKind = "Project"
)

// objectKey distinguishes objects, regardless of what is reported about them.
type objectKey struct{ kind, namespace, name, id string }

func keyOf(o kubernikusv1.DeorbitObject) objectKey {
	return objectKey{kind: o.Kind, namespace: o.Namespace, name: o.Name, id: o.ID}
}

// recordSeen adds observed objects to the record, and reports whether the record must be written before objects are deleted, which is not
// the case for changes of Standing only. Earlier objects are retained, with their latest state. If two refer to the same volume or
// snapshot, the one that retains it takes precedence.
func recordSeen(status *kubernikusv1.DeorbitStatus, seen stage.Seen) bool {
	volumes := upsert(&status.SeenVolumes, seen.Volumes, func(v kubernikusv1.SeenVolume) string { return v.ID },
		func(v kubernikusv1.SeenVolume) bool {
			return v.ReclaimPolicy != string(kubernikusv1.DeletionPolicyDelete)
		}, func(v *kubernikusv1.SeenVolume) { v.Standing, v.ServerID = "", "" })
	snapshots := upsert(&status.SeenSnapshots, seen.Snapshots, func(s kubernikusv1.SeenSnapshot) string { return s.ID },
		func(s kubernikusv1.SeenSnapshot) bool {
			return s.DeletionPolicy != string(kubernikusv1.DeletionPolicyDelete)
		}, func(s *kubernikusv1.SeenSnapshot) { s.Standing = "" })
	services := upsert(&status.SeenServices, seen.Services, func(s kubernikusv1.SeenService) string { return s.UID },
		func(s kubernikusv1.SeenService) bool { return s.KeepFloatingIP }, func(s *kubernikusv1.SeenService) { s.Standing, s.Gone = "", false })
	status.ClusterName, status.CSIClusterID = cmp.Or(seen.ClusterName, status.ClusterName), cmp.Or(seen.CSIClusterID, status.CSIClusterID)
	return volumes || snapshots || services
}

// lose discards what blocked deletions in a cluster that is given up, except for what it rejected or a finalizer held: that counts
// without the cluster, too.
func lose(status *kubernikusv1.DeorbitStatus) {
	for i := range status.SeenVolumes {
		lost(&status.SeenVolumes[i].Standing)
	}
	for i := range status.SeenSnapshots {
		lost(&status.SeenSnapshots[i].Standing)
	}
	for i := range status.SeenServices {
		lost(&status.SeenServices[i].Standing)
	}
}

func lost(standing *kubernikusv1.Standing) {
	if *standing == kubernikusv1.StandingPresent {
		*standing = ""
	}
}

// upsert replaces or adds entries by their id, and reports whether the record changed otherwise than in what passing removes. An
// entry without an id cannot be recorded.
func upsert[T comparable](record *[]T, seen []T, id func(T) string, keeps func(T) bool, passing func(*T)) (changed bool) {
	latest := make(map[string]T, len(seen))
	for _, entry := range seen {
		key := id(entry)
		if last, twice := latest[key]; key == "" || twice && keeps(last) {
			continue
		}
		latest[key] = entry
	}
	at := make(map[string]int, len(*record))
	for i, entry := range *record {
		at[id(entry)] = i
	}
	for _, entry := range seen {
		entry, ok := latest[id(entry)]
		if !ok {
			continue
		}
		i, known := at[id(entry)]
		switch {
		case !known:
			at[id(entry)] = len(*record)
			*record, changed = append(*record, entry), true
		default:
			before, after := (*record)[i], entry
			passing(&before)
			passing(&after)
			(*record)[i], changed = entry, changed || before != after
		}
	}
	return changed
}

// recordRemaining replaces the remaining objects that the last check of a stage reported. Those of other stages are retained while
// that stage is decisive: Drain for the announcement, Routes for routes, and Verify for all others after its first check. In a cluster that
// was dismantled no object remains.
func recordRemaining(status *kubernikusv1.DeorbitStatus, p part, dismantled bool) {
	replaced := func(o kubernikusv1.DeorbitObject) bool {
		last := kubernikusv1.DeorbitVerify
		switch o.Kind {
		case routeKind, routerKind:
			last = kubernikusv1.DeorbitRoutes
		case backendKind, secretKind:
			last = kubernikusv1.DeorbitDrain
		}
		return p.stage == last && (dismantled || !isNeverDeleted(status, o)) || isInCluster(p.stage)
	}
	status.Remaining = append(slices.DeleteFunc(status.Remaining, replaced), p.report.Remaining...)
	sortObjects(status.Remaining)
}

// isNeverDeleted reports whether an object of the cluster was there when that was checked last, and nothing in OpenStack stands for it:
// no later stage sees it go.
func isNeverDeleted(status *kubernikusv1.DeorbitStatus, o kubernikusv1.DeorbitObject) bool {
	switch o.Kind {
	case claimKind, snapshotKind, contentKind:
		return o.ID == "" || slices.ContainsFunc(status.SeenVolumes, func(v kubernikusv1.SeenVolume) bool { return v.ID == o.ID && v.Standing != "" }) ||
			slices.ContainsFunc(status.SeenSnapshots, func(s kubernikusv1.SeenSnapshot) bool { return s.ID == o.ID && s.Standing != "" })
	default:
		return false
	}
}

// sortObjects gives a list an order that does not depend on who listed what first.
func sortObjects(list []kubernikusv1.DeorbitObject) {
	slices.SortStableFunc(list, func(a, b kubernikusv1.DeorbitObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}

// recordRetained keeps what stays on purpose over all stages, until it is deleted or is to go after all.
func recordRetained(status *kubernikusv1.DeorbitStatus, report stage.Report) {
	deletes, stays := map[objectKey]bool{}, map[objectKey]string{}
	for _, list := range [][]kubernikusv1.DeorbitObject{report.Deleted, report.Remaining, report.Undecided} {
		for _, o := range list {
			deletes[keyOf(o)] = true
		}
	}
	for _, o := range report.Retained {
		stays[keyOf(o)] = o.Reason
	}
	known := make(map[objectKey]bool, len(status.Retained))
	kept := status.Retained[:0]
	for _, o := range status.Retained {
		key := keyOf(o)
		reason, again := stays[key]
		if deletes[key] && !again {
			continue
		}
		if again {
			o.Reason = reason
		}
		known[key] = true
		kept = append(kept, o)
	}
	for _, o := range report.Retained {
		if key := keyOf(o); !known[key] {
			known[key] = true
			kept = append(kept, o)
		}
	}
	sortObjects(kept)
	status.Retained = kept
}

// recordUndecided replaces what a check left undecided: the volumes of the cluster by those of each check that listed them, routes by
// stage Routes, all others by stage Verify.
func recordUndecided(status *kubernikusv1.DeorbitStatus, p part) {
	replaced := func(o kubernikusv1.DeorbitObject) bool {
		switch o.Kind {
		case persistentVolumeKind:
			switch p.stage {
			case kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitClaims, kubernikusv1.DeorbitWait:
				return true
			}
			return false
		case routeKind:
			return p.stage == kubernikusv1.DeorbitRoutes
		default:
			return p.stage == kubernikusv1.DeorbitVerify
		}
	}
	status.Undecided = append(slices.DeleteFunc(status.Undecided, replaced), p.report.Undecided...)
	sortObjects(status.Undecided)
}

// memory is what is known of the checks a stage since it began, or since this process did.
type memory struct {
	// least is the least number of each kind that remained.
	least map[string]int
	// The objects whose deletion was requested.
	requested map[objectKey]bool
	// stuck is true when it was reported that nothing moves.
	stuck bool
}

// It remembers the objects of a check whose deletion was requested, and returns those that were not requested before.
func (m *memory) requests(o outcome) (first []kubernikusv1.DeorbitObject) {
	if m.requested == nil {
		m.requested = map[objectKey]bool{}
	}
	for _, p := range o.parts {
		for _, object := range p.report.Deleted {
			if key := keyOf(object); !m.requested[key] {
				m.requested[key] = true
				first = append(first, object)
			}
		}
	}
	return first
}

// shrinks reports whether a check found fewer objects of any kind than all earlier ones. An object that is recreated with another name is
// not progress.
func (m *memory) shrinks(o outcome) (progress bool) {
	counts := map[string]int{}
	for kind := range m.least {
		counts[kind] = 0
	}
	for _, p := range o.parts {
		for _, object := range p.report.Remaining {
			counts[object.Kind]++
		}
	}
	if m.least == nil {
		m.least = map[string]int{}
	}
	for kind, count := range counts {
		least, known := m.least[kind]
		if !known || count < least {
			m.least[kind] = count
			progress = progress || known
		}
	}
	return progress
}
