// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/plugin/console"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

const (
	// localVolumesTitle is what status and check call the cleanup of local volumes.
	localVolumesTitle = "Local volumes"
	// shownVolumes is how many volumes status shows for each reason for which they are retained.
	shownVolumes = 5
	// unconfirmed is the age of a confirmation from which on no controller counts the time. One is expected every few seconds.
	unconfirmed = time.Minute
)

// localVolumes adds the missing nodes, the brake, and the volumes that are retained. Without a record there is nothing to report.
func (c *command) localVolumes(ctx context.Context, r *report.Report) error {
	recorded, problem, err := console.FindRecord(ctx, c.client)
	if err != nil {
		return err
	}
	if recorded == nil {
		if problem != "" {
			r.Checked = append(r.Checked, report.Checked{Name: localVolumesTitle, Problem: problem})
		}
		return nil
	}
	r.Checked = append(r.Checked, report.Checked{Name: localVolumesTitle, Count: len(recorded.Nodes) + recorded.MoreNodes})
	r.Findings = append(r.Findings, volumesFindings(recorded, c.clock.Now())...)
	return nil
}

// volumesFindings returns those of the record: the brake, each missing node, and a few of the volumes that are retained.
func volumesFindings(recorded *localvolume.Recorded, now time.Time) (all []report.Finding) {
	add := func(name string, f report.Finding) {
		f.Kind, f.Name = localVolumesTitle, name
		all = append(all, f)
	}
	for _, f := range stopped(recorded, now) {
		add("deletions", f)
	}
	for i := range recorded.Nodes {
		add("node/"+recorded.Nodes[i].Name, lostNodeFinding(recorded, &recorded.Nodes[i], now))
	}
	if recorded.MoreNodes > 0 {
		add("nodes", report.Found(report.Warning, "%d more are missing", recorded.MoreNodes))
	}
	count := map[string]int{}
	for i := range recorded.Volumes {
		volume := &recorded.Volumes[i]
		if volume.Reason == "" {
			continue
		}
		if count[volume.Reason]++; count[volume.Reason] <= shownVolumes {
			add("pv/"+volume.Name, keptFinding(volume))
		}
	}
	for _, reason := range []string{localvolume.EventNodeUncertain, localvolume.EventUnsupported, localvolume.EventNotNodeBound} {
		if more := count[reason] - shownVolumes; more > 0 {
			add("volumes", report.Found(levelOf(reason), "%d more: %s", more, reason))
		}
	}
	if recorded.MoreVolumes > 0 {
		add("volumes", report.Found(report.InProgress, "%d more did not fit into the record: see their events", recorded.MoreVolumes))
	}
	return all
}

func lostNodeFinding(recorded *localvolume.Recorded, node *localvolume.PlannedNode, now time.Time) report.Finding {
	since := "is missing for " + report.Lasts(new(metav1.NewTime(node.Since)), now)
	if node.Due == nil {
		return report.Found(report.InProgress, "%s, and nothing of it will be deleted", since)
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
	return report.Found(report.Warning, "%s, and %s %s", since, strings.Join(what, " and "), deletion(recorded, *node.Due, now))
}

// deletion returns when something is deleted.
func deletion(recorded *localvolume.Recorded, due, now time.Time) string {
	when := report.Ago(new(metav1.NewTime(due)), now)
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
func levelOf(reason string) report.Level {
	if reason == localvolume.EventNodeUncertain {
		return report.Warning
	}
	return report.InProgress
}

// keptFinding is about a volume that is retained although it seems to be lost, or never cleaned up.
func keptFinding(volume *localvolume.PlannedVolume) report.Finding {
	if volume.Reason == localvolume.EventNodeUncertain {
		return report.Found(report.Warning, "is retained with its claim: %s; set the label, or delete the node if it is lost", volume.VolumeKept)
	}
	return report.Found(report.InProgress, "is never cleaned up: %s", volume.VolumeKept)
}

// whyVolume adds what is recorded about a claim, a volume or a node, and returns whether anything is.
func (c *command) whyVolume(ctx context.Context, k kind, object client.Object, r *report.Report) (bool, error) {
	recorded, problem, err := console.FindRecord(ctx, c.client)
	if problem != "" {
		r.Checked = append(r.Checked, report.Checked{Name: localVolumesTitle, Problem: problem})
	}
	if recorded == nil || err != nil {
		return false, err
	}
	all := objectFindings(recorded, object, c.clock.Now())
	if len(all) > 0 {
		all = append(all, stopped(recorded, c.clock.Now())...)
	}
	r.Add(k.title, object, all...)
	return len(all) > 0, nil
}

// stopped returns why nothing is deleted, whatever is due.
func stopped(recorded *localvolume.Recorded, now time.Time) (all []report.Finding) {
	if recorded.Brake != "" {
		all = append(all, report.Found(report.Warning, "%s", recorded.Brake))
	}
	counts := slices.ContainsFunc(recorded.Nodes, func(n localvolume.PlannedNode) bool { return n.Due != nil })
	if counts && recorded.Confirmed != nil && now.Sub(*recorded.Confirmed) >= unconfirmed {
		all = append(all, report.Found(report.Warning, "no controller has confirmed since %s that the nodes are missing: is it running, and may it reach the "+
			"API server?",
			recorded.Confirmed.UTC().Format(time.RFC3339)))
	}
	return all
}

// objectFindings returns what is recorded about a claim, a volume or a node.
func objectFindings(recorded *localvolume.Recorded, object client.Object, now time.Time) (all []report.Finding) {
	name := nameOf(object)
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
			all = append(all, report.Found(report.Warning, "volume %s %s", volume.Name, keptFinding(volume).Message))
		case isNode && slices.Contains(volume.Nodes, name), isClaim && volume.Claim == name, !isNode && !isClaim && volume.Name == name:
			all = append(all, volumeFindings(recorded, volume, now)...)
		}
	}
	return all
}

// volumeFindings returns what will happen to a volume and its claim.
func volumeFindings(recorded *localvolume.Recorded, volume *localvolume.PlannedVolume, now time.Time) (all []report.Finding) {
	if volume.Reason != "" {
		f := keptFinding(volume)
		return []report.Finding{report.Found(f.Level, "volume %s %s", volume.Name, f.Message)}
	}
	nodes := localvolume.Lost(volume.Nodes, volume.Trouble)
	for _, object := range []struct {
		name, kept string
		due        *time.Time
	}{{"claim " + volume.Claim, volume.ClaimKept, volume.ClaimDue}, {"volume " + volume.Name, volume.VolumeKept, volume.VolumeDue}} {
		switch {
		case object.due != nil:
			all = append(all, report.Found(report.Warning, "%s, and %s %s", nodes, object.name, deletion(recorded, *object.due, now)))
		case object.kept != "":
			all = append(all, report.Found(report.InProgress, "%s, but %s is retained: %s", nodes, object.name, object.kept))
		}
	}
	return all
}

// volumeKinds returns the kinds of local volumes. Of those, "why" knows what the cleanup recorded.
func volumeKinds() []kind {
	return []kind{
		{title: "PersistentVolumeClaims", names: []string{"persistentvolumeclaim", "persistentvolumeclaims", "pvc"},
			object: empty[corev1.PersistentVolumeClaim], list: emptyList[corev1.PersistentVolumeClaimList]},
		{title: "PersistentVolumes", names: []string{"persistentvolume", "persistentvolumes", "pv"}, global: true,
			object: empty[corev1.PersistentVolume], list: emptyList[corev1.PersistentVolumeList]},
	}
}

// checkVolumes adds whether the cleanup of local volumes works: only the brake stops it.
func (c *command) checkVolumes(ctx context.Context, r *report.Report) {
	recorded, problem, err := console.FindRecord(ctx, c.client)
	checked := report.Checked{Name: strings.ToLower(localVolumesTitle), Problem: problem}
	fails := func(message string) {
		r.Findings = append(r.Findings, report.Finding{Kind: checked.Name, Name: checked.Name, Level: report.Warning,
			Message: report.OneLine(message)})
	}
	switch {
	case err != nil:
		fails(c.explained(ctx, err).Error())
	case recorded == nil && problem == "":
		return // there is nothing to clean up, or no controller for it
	case recorded != nil:
		for _, f := range stopped(recorded, c.clock.Now()) {
			fails(f.Message)
		}
		checked.Note = volumesNote(recorded)
	}
	r.Checked = append(r.Checked, checked)
}

// volumesNote counts what status shows.
func volumesNote(recorded *localvolume.Recorded) string {
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
