// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// PlanKey is the key of the record with the Plan. No name of a node and no label value begins like this.
const PlanKey = "_plan"

// maxPlan is the maximum size of the Plan in the record, which has to be written again whenever the Plan changes.
const maxPlan = 128 << 10

// Plan is what the controllers will delete and when, and what they retain and why. They write it into the record for users: nothing else
// computes it.
type Plan struct {
	// Brake is why nothing is deleted; empty if the brake is not engaged.
	Brake string `json:"brake,omitempty"`
	// DryRun reports that nothing is deleted, whatever is due.
	DryRun bool `json:"dryRun,omitempty"`
	// Nodes are the missing nodes, in the order in which their objects are deleted.
	Nodes []PlannedNode `json:"nodes,omitempty"`
	// Volumes are those of missing nodes, in the same order, and those that are retained although they seem to be lost, or never cleaned up.
	Volumes []PlannedVolume `json:"volumes,omitempty"`
	// MoreNodes and MoreVolumes are how many others did not fit.
	MoreNodes   int `json:"moreNodes,omitempty"`
	MoreVolumes int `json:"moreVolumes,omitempty"`
}

// PlannedNode is a missing node.
type PlannedNode struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
	// Claims and Volumes are how many objects will be deleted, the first of them at Due; nil if there are none.
	Claims  int        `json:"claims,omitempty"`
	Volumes int        `json:"volumes,omitempty"`
	Due     *time.Time `json:"due,omitempty"`
}

// PlannedVolume is a volume with its claim.
type PlannedVolume struct {
	Name string `json:"name"`
	// Claim is the namespace and name of its claim.
	Claim string `json:"claim,omitempty"`
	// Nodes are its missing nodes.
	Nodes []string `json:"nodes,omitempty"`
	// Trouble explains why one of them that exists counts as lost.
	Trouble string `json:"trouble,omitempty"`
	// ClaimDue and VolumeDue are when the claim and the volume are deleted, a time in the past if that is due; nil if they are not.
	ClaimDue  *time.Time `json:"claimDue,omitempty"`
	VolumeDue *time.Time `json:"volumeDue,omitempty"`
	// ClaimKept and VolumeKept are why the claim or the volume is retained.
	ClaimKept  string `json:"claimKept,omitempty"`
	VolumeKept string `json:"volumeKept,omitempty"`
	// Reason is the reason of the event of a volume that is not stale: EventNodeUncertain, EventUnsupported or EventNotNodeBound.
	Reason string `json:"reason,omitempty"`
	// Doubtful is the Node that may be the missing one.
	Doubtful string `json:"doubtful,omitempty"`
}

// due returns when the first of the two objects is deleted, nil if none is.
func (v *PlannedVolume) due() *time.Time {
	if v.ClaimDue == nil || v.VolumeDue != nil && v.VolumeDue.Before(*v.ClaimDue) {
		return v.VolumeDue
	}
	return v.ClaimDue
}

type planInput struct {
	brake     string
	config    *configv1alpha1.LocalVolumeConfiguration
	subjects  []Subject
	untouched []Untouched
	// since is when the nodes went missing, as recorded, by the clock of the API server.
	since map[string]time.Time
	// now is a time of the process.
	now time.Time
}

// planOf returns the Plan. Its times are relative to the recorded ones: they do not change while time passes, so that the record is not
// written again.
func planOf(in planInput) Plan {
	plan := Plan{Brake: in.brake, DryRun: *in.config.DryRun}
	nodes := map[string]*PlannedNode{}
	for name, since := range in.since {
		nodes[name] = &PlannedNode{Name: name, Since: since.UTC().Truncate(time.Second)}
	}
	for i := range in.subjects {
		volume, ok := plannedVolume(&in.subjects[i], in)
		if !ok {
			continue
		}
		plan.Volumes = append(plan.Volumes, volume)
		for _, name := range volume.Nodes {
			if node := nodes[name]; node != nil {
				node.add(&volume)
			}
		}
	}
	for _, node := range nodes {
		plan.Nodes = append(plan.Nodes, *node)
	}
	slices.SortFunc(plan.Nodes, func(a, b PlannedNode) int { return cmp.Or(compareDue(a.Due, b.Due), cmp.Compare(a.Name, b.Name)) })
	slices.SortStableFunc(plan.Volumes, func(a, b PlannedVolume) int { return compareDue(a.due(), b.due()) })
	for _, found := range in.untouched {
		plan.Volumes = append(plan.Volumes, PlannedVolume{Name: found.Volume.Name, Claim: claimOf(found.Volume), Reason: found.Reason,
			VolumeKept: found.Why, Doubtful: found.Node})
	}
	return plan
}

// plannedVolume returns what is planned for a stale volume; false: nothing that a user needs to know.
func plannedVolume(subject *Subject, in planInput) (PlannedVolume, bool) {
	var since time.Time
	for _, node := range subject.Nodes {
		since = later(since, in.since[node])
	}
	at := func(after time.Duration) *time.Time { return new(since.Add(after).UTC().Truncate(time.Second)) }
	volume := PlannedVolume{Name: subject.Volume.Name, Claim: claimOf(subject.Volume), Nodes: subject.Nodes, Trouble: subject.Trouble,
		ClaimKept: subject.ClaimDecision.Skipped, VolumeKept: subject.VolumeDecision.Skipped}
	if subject.ClaimDecision.Action != Keep {
		delay, _ := subject.ClaimDelay(in.config)
		volume.ClaimDue = at(delay)
	}
	switch decision := subject.VolumeDecision; {
	case decision.Action == Keep:
	case decision.Action == Wait && decision.Until.After(in.now.Add(PassInterval)):
		volume.VolumeDue = at(decision.Until.Sub(subject.Since))
	default: // a wait of a moment is repeated, and its end is no plan
		volume.VolumeDue = at(0)
	}
	return volume, volume.due() != nil || volume.ClaimKept != "" || volume.VolumeKept != ""
}

func (n *PlannedNode) add(volume *PlannedVolume) {
	if volume.ClaimDue != nil {
		n.Claims++
	}
	if volume.VolumeDue != nil {
		n.Volumes++
	}
	if due := volume.due(); compareDue(due, n.Due) < 0 {
		n.Due = due
	}
}

// compareDue orders times; nil, never, is last.
func compareDue(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

func claimOf(volume *corev1.PersistentVolume) string {
	if ref := volume.Spec.ClaimRef; ref != nil {
		return ref.Namespace + "/" + ref.Name
	}
	return ""
}

// encode returns the Plan in the given number of bytes at most, nothing if it is empty. Nodes have half of them at most.
func (p Plan) encode(limit int) (string, error) {
	whole, err := json.Marshal(Plan{Brake: p.Brake, DryRun: p.DryRun, MoreNodes: len(p.Nodes), MoreVolumes: len(p.Volumes)})
	if err != nil {
		return "", err
	}
	room := limit - len(whole) - len(`"nodes":[],"volumes":[],`)
	if len(p.Nodes)+len(p.Volumes) == 0 && p.Brake == "" || room < 0 {
		return "", nil
	}
	nodes, used, err := fitting(p.Nodes, room/2)
	if err != nil {
		return "", err
	}
	volumes, _, err := fitting(p.Volumes, room-used)
	if err != nil {
		return "", err
	}
	p.MoreNodes, p.Nodes = len(p.Nodes)-len(nodes), nodes
	p.MoreVolumes, p.Volumes = len(p.Volumes)-len(volumes), volumes
	text, err := json.Marshal(p)
	return string(text), err
}

func fitting[T any](items []T, room int) (first []T, used int, err error) {
	for i := range items {
		text, err := json.Marshal(&items[i])
		if err != nil {
			return nil, 0, err
		}
		size := len(text) + len(",")
		if used+size > room {
			return items[:i], used, nil
		}
		used += size
	}
	return items, used, nil
}
