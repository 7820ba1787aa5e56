// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// States of a stage.
const (
	stageDone    = "done"
	stageCurrent = "current"
	stagePending = "pending"
)

// stages are when stages of a Deorbit began. The status has only the current one; the others were observed while the console ran.
type stages map[kubernikusv1.DeorbitStage]time.Time

// observe adds the current stage.
func (s stages) observe(k *kubernikusv1.Kluster) stages {
	d := k.Status.Deorbit
	if d == nil || d.Stage == "" || d.StageStartedAt == nil || s[d.Stage].Equal(d.StageStartedAt.Time) {
		return s
	}
	s = maps.Clone(s)
	if s == nil {
		s = stages{}
	}
	s[d.Stage] = d.StageStartedAt.Time
	return s
}

// Deorbit is the progress of a Deorbit.
type Deorbit struct {
	Stages []Stage `json:"stages"`
	// Reason and Message are those of the condition Deorbited.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Failing reports that Deorbit waits for a user or retries, instead of working on its stage.
	Failing        bool       `json:"failing"`
	StartedAt      *time.Time `json:"startedAt,omitempty"`
	LastProgressAt *time.Time `json:"lastProgressAt,omitempty"`
	// StageTimeout is how many seconds a stage may go without progress, 0 if that is unknown.
	StageTimeout float64                      `json:"stageTimeout,omitempty"`
	Remaining    []kubernikusv1.DeorbitObject `json:"remaining"`
	Retained     []kubernikusv1.DeorbitObject `json:"retained"`
	// ClusterLost is why the stages inside the cluster were skipped, ClusterRejected why its state is unknown.
	ClusterLost     string `json:"clusterLost,omitempty"`
	ClusterRejected string `json:"clusterRejected,omitempty"`
}

// Stage is a stage of a Deorbit.
type Stage struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// StartedAt and EndedAt are known of the current stage, and of those that were observed.
	StartedAt *time.Time `json:"startedAt,omitempty"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
}

// deorbitOf returns the progress of the Deorbit of a Kluster, nil if it is not being deleted.
func deorbitOf(k *kubernikusv1.Kluster, seen stages) *Deorbit {
	if k.DeletionTimestamp.IsZero() {
		return nil
	}
	d := k.Status.Deorbit
	if d == nil {
		d = &kubernikusv1.DeorbitStatus{}
	}
	view := &Deorbit{Remaining: slices.Concat(d.Remaining, d.Undecided), Retained: d.Retained, ClusterLost: d.ClusterLost,
		ClusterRejected: d.ClusterRefused}
	if d.StartedAt != nil {
		view.StartedAt = new(d.StartedAt.Time)
	}
	if d.LastProgressAt != nil {
		view.LastProgressAt = new(d.LastProgressAt.Time)
	}
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited); c != nil {
		view.Reason, view.Message = c.Reason, c.Message
		view.Failing = c.Reason != string(d.Stage)
	}
	all := k.DeorbitStages()
	state := stageDone
	if d.Stage == "" {
		state = stagePending
	}
	for i, name := range all {
		if name == d.Stage {
			state = stageCurrent
		}
		stage := Stage{Name: string(name), State: state}
		if at, ok := seen[name]; ok && state != stagePending {
			stage.StartedAt = &at
		}
		if state == stageDone && i+1 < len(all) {
			if at, ok := seen[all[i+1]]; ok {
				stage.EndedAt = &at
			}
		}
		view.Stages = append(view.Stages, stage)
		if state == stageCurrent {
			state = stagePending
		}
	}
	return view
}

// deorbitOf returns the progress of the Deorbit of a Kluster, with the time that a stage may go without any: its own, else that of the
// configuration.
func (s *store) deorbitOf(k *kubernikusv1.Kluster, seen stages) *Deorbit {
	view := deorbitOf(k, seen)
	if timeout := cmp.Or(k.Spec.Deorbit.StageTimeout, s.stageTimeout.Load()); view != nil && timeout != nil {
		view.StageTimeout = timeout.Seconds()
	}
	return view
}

// RouteGC are the orphaned routes of a Kluster.
type RouteGC struct {
	// Reason and Message are those of the condition RoutesClean.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Count is how many there are, Orphans are the first ones.
	Count   int32                        `json:"count"`
	Orphans []kubernikusv1.OrphanedRoute `json:"orphans"`
}

// routeGCOf are the orphaned routes of a Kluster, nil if none are known.
func routeGCOf(k *kubernikusv1.Kluster) *RouteGC {
	r := k.Status.RouteGC
	if r == nil {
		return nil
	}
	view := &RouteGC{Count: r.OrphanCount, Orphans: r.Orphans}
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionRoutesClean); c != nil {
		view.Reason, view.Message = c.Reason, c.Message
	}
	return view
}
