// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package objectstate exposes the state of single objects as metrics: kube-state-metrics cannot watch the kinds of an aggregated API
// server. The series are computed from the cache of the manager in each scrape and not stored, and their number is limited.
package objectstate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
)

// state is what the metrics of an object report.
type state struct {
	namespace, name string
	ready, stalled  bool
	// reason is that of the summary of the conditions, phase the one in the status, "" where the kind has none.
	reason, phase string
	// progress is when the object last got closer to its desired state, or moved away from it.
	progress time.Time
	// leftovers is how many objects a deletion still has to delete, -1 for an object that is not being deleted, or of another kind.
	leftovers int
	// drained is whether maintenance has moved all traffic away, nil outside of maintenance.
	drained *bool
}

// summarized returns the state that all kinds have.
func summarized(meta *metav1.ObjectMeta, s conditions.Summary) state {
	return state{
		namespace: meta.Namespace, name: meta.Name, ready: s.Ready == metav1.ConditionTrue, stalled: s.Stalled, reason: s.Reason,
		progress: meta.CreationTimestamp.Time, leftovers: -1,
	}
}

// progressed notes times at which the object progressed.
func (s *state) progressed(times ...*metav1.Time) {
	for _, t := range times {
		if t != nil && t.After(s.progress) {
			s.progress = t.Time
		}
	}
}

// changed notes the transitions of conditions. Those of the summary repeat others.
func (s *state) changed(list []metav1.Condition) {
	for i := range list {
		if !conditions.IsSummary(list[i].Type) {
			s.progressed(&list[i].LastTransitionTime)
		}
	}
}

// stateOf returns the state of an object of the cache, and false for an object of another kind.
func stateOf(object any) (state, bool) {
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		return ofProject(o), true
	case *kubernikusv1.Kluster:
		return ofKluster(o), true
	case *gimbalv1.DiscoveryBackend:
		return ofBackend(o), true
	case *packed.Translation:
		return ofTranslation(o.Head()), true
	case *midonetv1.Translation:
		return ofTranslation(o), true
	default:
		return state{}, false
	}
}

func ofProject(p *gardenerv1beta1.Project) state {
	s := summarized(&p.ObjectMeta, conditions.ProjectSummary(p))
	s.phase = string(p.Status.Phase)
	s.progressed(p.DeletionTimestamp)
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; !conditions.IsSummary(string(c.Type)) {
			s.progressed(&c.LastUpdateTime)
		}
	}
	return s
}

func ofKluster(k *kubernikusv1.Kluster) state {
	s := summarized(&k.ObjectMeta, conditions.KlusterSummary(k))
	s.phase = string(k.Status.Phase)
	s.progressed(k.DeletionTimestamp)
	s.changed(k.Status.Conditions)
	if d := k.Status.Deorbit; d != nil && k.DeletionTimestamp != nil {
		s.leftovers = len(d.Remaining)
		s.progressed(d.StartedAt, d.LastProgressAt)
	}
	return s
}

func ofBackend(b *gimbalv1.DiscoveryBackend) state {
	s := summarized(&b.ObjectMeta, conditions.DiscoveryBackendSummary(b))
	s.phase = string(b.Cluster.ClusterStatus)
	s.progressed(b.DeletionTimestamp, b.Status.LastSyncTime)
	s.changed(b.Status.Conditions)
	if b.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
		drained := false
		for i := range b.Status.Conditions {
			c := &b.Status.Conditions[i]
			drained = drained || c.Type == gimbalv1.ConditionDrained && c.Status == metav1.ConditionTrue && c.ObservedGeneration == b.Generation
		}
		s.drained = &drained
	}
	return s
}

func ofTranslation(t *midonetv1.Translation) state {
	s := summarized(&t.ObjectMeta, conditions.TranslationSummary(t))
	s.progressed(t.DeletionTimestamp)
	s.changed(t.Status.Conditions)
	return s
}
