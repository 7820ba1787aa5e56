// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"cmp"
	"maps"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cloud"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// Kinds of objects, besides those of packages cluster and cloud.
const (
	// backendKind and secretKind are what stage Drain reports.
	backendKind = "DiscoveryBackend"
	secretKind  = "Secret"
	// projectKind represents everything that could not be checked in an OpenStack project.
	projectKind = "Project"
)

// keyOf distinguishes objects, regardless of why they are reported.
func keyOf(o kubernikusv1.DeorbitObject) kubernikusv1.DeorbitObject {
	o.Reason = ""
	return o
}

// recordSeen adds observed objects to the record, and reports whether the record must be written before objects are deleted, which is not
// the case for changes of Standing only. Earlier objects are retained, with their latest state. If two refer to the same volume or
// snapshot, the one that retains it takes precedence.
func recordSeen(status *kubernikusv1.DeorbitStatus, seen stage.Seen) bool {
	volumes := upsert(&status.SeenVolumes, seen.Volumes, func(v kubernikusv1.SeenVolume) string { return v.ID },
		func(v kubernikusv1.SeenVolume) bool {
			return v.ReclaimPolicy != string(kubernikusv1.DeletionPolicyDelete)
		}, func(v *kubernikusv1.SeenVolume) { v.Standing, v.ServerID, v.Gone = "", "", false })
	snapshots := upsert(&status.SeenSnapshots, seen.Snapshots, func(s kubernikusv1.SeenSnapshot) string { return s.ID },
		func(s kubernikusv1.SeenSnapshot) bool {
			return s.DeletionPolicy != string(kubernikusv1.DeletionPolicyDelete)
		}, func(s *kubernikusv1.SeenSnapshot) { s.Standing, s.Gone = "", false })
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
	before, at, again := slices.Clone(*record), make(map[string]int, len(*record)), map[string]bool{}
	for i, entry := range before {
		at[id(entry)] = i
	}
	for _, entry := range seen {
		key := id(entry)
		switch i, known := at[key]; {
		case key == "", again[key] && keeps((*record)[i]):
			continue
		case known:
			(*record)[i] = entry
		default:
			at[key], *record = len(*record), append(*record, entry)
		}
		again[key] = true
	}
	for i, was := range before {
		is := (*record)[i]
		passing(&was)
		passing(&is)
		changed = changed || was != is
	}
	return changed || len(*record) > len(before)
}

// recordRemaining replaces the remaining objects that the last check of a stage reported. Those of other stages are retained while
// that stage is decisive: Drain for the announcement, Routes for routes, and Verify for all others after its first check. In a cluster that
// was dismantled no object remains.
func recordRemaining(status *kubernikusv1.DeorbitStatus, p part, dismantled bool) {
	replaced := func(o kubernikusv1.DeorbitObject) bool {
		last := kubernikusv1.DeorbitVerify
		if cluster.IsFreeze(o) {
			return p.stage == kubernikusv1.DeorbitFreeze // see progress.isUnfrozen
		}
		switch o.Kind {
		case cloud.KindRoute, cloud.KindRouter:
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
	case plan.KindClaim, plan.KindSnapshot, plan.KindContent:
		return o.ID == "" ||
			slices.ContainsFunc(status.SeenVolumes, func(v kubernikusv1.SeenVolume) bool { return v.ID == o.ID && v.Standing != "" }) ||
			slices.ContainsFunc(status.SeenSnapshots, func(s kubernikusv1.SeenSnapshot) bool { return s.ID == o.ID && s.Standing != "" })
	default:
		return false
	}
}

// sortObjects gives a list an order that does not depend on who listed what first. What freezes the cluster is first, because the end of a
// long list is cut off.
func sortObjects(list []kubernikusv1.DeorbitObject) {
	rank := func(o kubernikusv1.DeorbitObject) int {
		if cluster.IsFreeze(o) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b kubernikusv1.DeorbitObject) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}

// recordRetained keeps what stays on purpose over all stages, until it is deleted, by whomever, or is to go after all.
func recordRetained(status *kubernikusv1.DeorbitStatus, report stage.Report) {
	stays := map[kubernikusv1.DeorbitObject]kubernikusv1.DeorbitObject{}
	for _, o := range status.Retained {
		if !slices.Contains(report.Listed, o.Kind) {
			stays[keyOf(o)] = o
		}
	}
	for _, o := range slices.Concat(report.Deleted, report.Remaining, report.Undecided) {
		delete(stays, keyOf(o))
	}
	for _, o := range report.Retained {
		stays[keyOf(o)] = o
	}
	status.Retained = slices.Collect(maps.Values(stays))
	sortObjects(status.Retained)
}

// listVolumes are the stages that list the volumes of the cluster.
var listVolumes = []kubernikusv1.DeorbitStage{
	kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitClaims, kubernikusv1.DeorbitWait,
}

// recordUndecided replaces what a check left undecided: the volumes and snapshots of the cluster by those of each check that listed them,
// routes by stage Routes, all others by stage Verify, which reports recorded volumes itself.
func recordUndecided(status *kubernikusv1.DeorbitStatus, p part) {
	replaced := func(o kubernikusv1.DeorbitObject) bool {
		switch o.Kind {
		case plan.KindVolume:
			return slices.Contains(listVolumes, p.stage) || p.stage == kubernikusv1.DeorbitVerify &&
				slices.ContainsFunc(status.SeenVolumes, func(v kubernikusv1.SeenVolume) bool { return v.ID == o.ID })
		case plan.KindContent:
			return p.stage == kubernikusv1.DeorbitFreeze || p.stage == kubernikusv1.DeorbitSnapshots
		case cloud.KindRoute:
			return p.stage == kubernikusv1.DeorbitRoutes
		default:
			return p.stage == kubernikusv1.DeorbitVerify
		}
	}
	status.Undecided = append(slices.DeleteFunc(status.Undecided, replaced), p.report.Undecided...)
	sortObjects(status.Undecided)
}
