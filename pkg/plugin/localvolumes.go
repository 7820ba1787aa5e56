// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/plugin/console"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// shownVolumes is how many volumes status shows for each reason for which they are retained.
const shownVolumes = 5

// localVolumes adds the missing nodes, the brake, and the volumes that are retained. Without a record there is nothing to report.
func (c *command) localVolumes(ctx context.Context, r *report.Report) error {
	recorded, problem, err := console.FindRecord(ctx, c.client)
	if err != nil {
		return err
	}
	if recorded == nil {
		if problem != "" {
			r.Checked = append(r.Checked, report.Checked{Name: report.LocalVolumesTitle, Problem: problem})
		}
		return nil
	}
	r.Checked = append(r.Checked, report.Checked{Name: report.LocalVolumesTitle, Count: len(recorded.Nodes) + recorded.MoreNodes})
	r.Findings = append(r.Findings, report.LocalVolumes(recorded, shownVolumes, c.clock.Now())...)
	return nil
}

// whyVolume adds what is recorded about a claim, a volume or a node, and returns whether anything is.
func (c *command) whyVolume(ctx context.Context, k kind, object client.Object, r *report.Report) (bool, error) {
	recorded, problem, err := console.FindRecord(ctx, c.client)
	if problem != "" {
		r.Checked = append(r.Checked, report.Checked{Name: report.LocalVolumesTitle, Problem: problem})
	}
	if recorded == nil || err != nil {
		return false, err
	}
	all := report.AboutLocalVolumes(recorded, object, c.clock.Now())
	if len(all) > 0 {
		all = append(all, report.Stopped(recorded, c.clock.Now())...)
	}
	r.Add(k.title, object, all...)
	return len(all) > 0, nil
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
	checked := report.Checked{Name: strings.ToLower(report.LocalVolumesTitle), Problem: problem}
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
		for _, f := range report.Stopped(recorded, c.clock.Now()) {
			fails(f.Message)
		}
		checked.Note = report.LocalVolumesNote(recorded)
	}
	r.Checked = append(r.Checked, checked)
}
