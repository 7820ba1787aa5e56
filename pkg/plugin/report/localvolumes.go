// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

const (
	// LocalVolumesTitle is what the findings about the cleanup of local volumes are listed as.
	LocalVolumesTitle = "Local volumes"
	// unconfirmed is the age of a confirmation from which on no controller counts the time. One is expected every few seconds.
	unconfirmed = time.Minute
)

// LocalVolumes returns the findings of the record: the brake, each missing node, and the volumes that are retained, of which at most
// shown have the same reason.
func LocalVolumes(recorded *localvolume.Recorded, shown int, now time.Time) (all []Finding) {
	add := func(name string, f Finding) {
		f.Kind, f.Name = LocalVolumesTitle, name
		all = append(all, f)
	}
	for _, f := range Stopped(recorded, now) {
		add("deletions", f)
	}
	for i := range recorded.Nodes {
		add("node/"+recorded.Nodes[i].Name, lostNodeFinding(recorded, &recorded.Nodes[i], now))
	}
	if recorded.MoreNodes > 0 {
		add("nodes", Found(Warning, "%d more are missing", recorded.MoreNodes))
	}
	count := map[string]int{}
	for i := range recorded.Volumes {
		volume := &recorded.Volumes[i]
		if volume.Reason == "" {
			continue
		}
		if count[volume.Reason]++; count[volume.Reason] <= shown {
			add("pv/"+volume.Name, keptFinding(volume))
		}
	}
	for _, reason := range []string{localvolume.EventNodeUncertain, localvolume.EventUnsupported, localvolume.EventNotNodeBound} {
		if more := count[reason] - shown; more > 0 {
			add("volumes", Found(levelOf(reason), "%d more: %s", more, reason))
		}
	}
	if recorded.MoreVolumes > 0 {
		add("volumes", Found(InProgress, "%d more did not fit into the record: see their events", recorded.MoreVolumes))
	}
	return all
}

// Stopped returns why nothing is deleted, whatever is due.
func Stopped(recorded *localvolume.Recorded, now time.Time) (all []Finding) {
	if recorded.Brake != "" {
		all = append(all, Found(Warning, "%s", recorded.Brake))
	}
	counts := slices.ContainsFunc(recorded.Nodes, func(n localvolume.PlannedNode) bool { return n.Due != nil })
	if counts && recorded.Confirmed != nil && now.Sub(*recorded.Confirmed) >= unconfirmed {
		all = append(all, Found(Warning, "no controller has confirmed since %s that the nodes are missing: is it running, and may it reach the "+
			"API server?",
			recorded.Confirmed.UTC().Format(time.RFC3339)))
	}
	return all
}

func lostNodeFinding(recorded *localvolume.Recorded, node *localvolume.PlannedNode, now time.Time) Finding {
	since := "is missing for " + Lasts(new(metav1.NewTime(node.Since)), now)
	if node.Due == nil {
		return Found(InProgress, "%s, and nothing of it will be deleted", since)
	}
	var what []string
	for _, of := range []struct {
		count int
		noun  string
	}{{node.Claims, "claim"}, {node.Volumes, "volume"}} {
		switch {
		case of.count == 1:
			what = append(what, "1 "+of.noun)
		case of.count > 1:
			what = append(what, fmt.Sprintf("%d %ss", of.count, of.noun))
		}
	}
	return Found(Warning, "%s, and %s %s", since, strings.Join(what, " and "), removal(recorded, *node.Due, now))
}

// removal returns when something is deleted.
func removal(recorded *localvolume.Recorded, due, now time.Time) string {
	when := Ago(new(metav1.NewTime(due)), now)
	switch {
	case recorded.DryRun:
		return "would be deleted without the dry run"
	case recorded.Brake != "":
		return "would be deleted, but the brake is engaged"
	case due.After(now):
		return "will be deleted " + when
	}
	return "should be deleted now, due " + when
}

// levelOf returns who has to act on a volume that is retained.
func levelOf(reason string) Level {
	if reason == localvolume.EventNodeUncertain {
		return Warning
	}
	return InProgress
}

// keptFinding is about a volume that is retained although it seems to be lost, or never cleaned up.
func keptFinding(volume *localvolume.PlannedVolume) Finding {
	if volume.Reason == localvolume.EventNodeUncertain {
		return Found(Warning, "is retained with its claim: %s; set the label, or delete the node if it is lost", volume.VolumeKept)
	}
	return Found(InProgress, "is never cleaned up: %s", volume.VolumeKept)
}

// AboutLocalVolumes returns what is recorded about a claim, a volume or a node.
func AboutLocalVolumes(recorded *localvolume.Recorded, object client.Object, now time.Time) (all []Finding) {
	name := Name(object.GetNamespace(), object.GetName())
	_, isNode := object.(*corev1.Node)
	_, isClaim := object.(*corev1.PersistentVolumeClaim)
	if isNode {
		for i := range recorded.Nodes {
			if recorded.Nodes[i].Name == name {
				all = append(all, lostNodeFinding(recorded, &recorded.Nodes[i], now))
			}
		}
	}
	for i := range recorded.Volumes {
		switch volume := &recorded.Volumes[i]; {
		case isNode && volume.Doubtful == name:
			all = append(all, Found(Warning, "volume %s %s", volume.Name, keptFinding(volume).Message))
		case isNode && slices.Contains(volume.Nodes, name), isClaim && volume.Claim == name, !isNode && !isClaim && volume.Name == name:
			all = append(all, volumeFindings(recorded, volume, now)...)
		}
	}
	return all
}

// volumeFindings returns what will happen to a volume and its claim.
func volumeFindings(recorded *localvolume.Recorded, volume *localvolume.PlannedVolume, now time.Time) (all []Finding) {
	if volume.Reason != "" {
		f := keptFinding(volume)
		return []Finding{Found(f.Level, "volume %s %s", volume.Name, f.Message)}
	}
	nodes := localvolume.Lost(volume.Nodes, volume.Trouble)
	for _, object := range []struct {
		name, kept string
		due        *time.Time
	}{{"claim " + volume.Claim, volume.ClaimKept, volume.ClaimDue}, {"volume " + volume.Name, volume.VolumeKept, volume.VolumeDue}} {
		switch {
		case object.due != nil:
			all = append(all, Found(Warning, "%s, and %s %s", nodes, object.name, removal(recorded, *object.due, now)))
		case object.kept != "":
			all = append(all, Found(InProgress, "%s, but %s is retained: %s", nodes, object.name, object.kept))
		}
	}
	return all
}

// LocalVolumesNote counts what status shows.
func LocalVolumesNote(recorded *localvolume.Recorded) string {
	count := map[string]int{"missing nodes": len(recorded.Nodes) + recorded.MoreNodes}
	for _, volume := range recorded.Volumes {
		switch volume.Reason {
		case localvolume.EventNodeUncertain:
			count["volumes in doubt"]++
		case localvolume.EventUnsupported, localvolume.EventNotNodeBound:
			count["volumes that are never cleaned up"]++
		}
	}
	var notes []string
	for what, n := range count {
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d", what, n))
		}
	}
	slices.SortFunc(notes, cmp.Compare[string])
	return strings.Join(notes, ", ")
}
