// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const (
	// reasonNoImage is the reason of Available where the controller runs no discoverers.
	reasonNoImage = "NoImage"
	// reasonEnabled is the reason of Drained when maintenance is over.
	reasonEnabled = "Enabled"
)

// DiscoveryBackendSummary returns the summary of a DiscoveryBackend: its services are copied, and while it is in
// maintenance nothing is sent to it.
func DiscoveryBackendSummary(b *gimbalv1.DiscoveryBackend) Summary {
	v := view{
		generation: b.Generation, observed: b.Status.ObservedGeneration, conditions: b.Status.Conditions,
		terminating: !b.DeletionTimestamp.IsZero(), ready: "the services of the backend are copied",
	}
	if v.terminating {
		return summarize(v, []aspect{{kind: gimbalv1.ConditionAvailable, anyGeneration: true}})
	}
	if b.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
		v.ready = "the services of the backend are copied, and maintenance has moved all traffic away"
	}
	return summarize(v, backendAspects(b))
}

// SetDiscoveryBackend writes the summary of a DiscoveryBackend into its conditions.
func SetDiscoveryBackend(b, old *gimbalv1.DiscoveryBackend, now time.Time) {
	b.Status.Conditions = replace(b.Status.Conditions, old.Status.Conditions, summaryTypes(), DiscoveryBackendSummary(b).list(b.Generation, now))
}

// backendAspects returns the conditions that a backend is ready by. Without an image the discoverer is started manually, and
// only what it reports counts: until it does, a user has to act.
func backendAspects(b *gimbalv1.DiscoveryBackend) []aspect {
	available := aspect{
		kind: gimbalv1.ConditionAvailable, required: true,
		stalled: []string{"RolloutStuck"},
		pending: []string{"RollingOut"}, // the former discoverer runs
	}
	discovered := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionDiscovered)
	c := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionAvailable)
	manual := c != nil && c.Reason == reasonNoImage
	switch {
	case manual && discovered == nil:
		available.stalled = append(available.stalled, reasonNoImage)
	case manual:
		available.fine = append(available.fine, reasonNoImage)
	}
	drained := aspect{kind: gimbalv1.ConditionDrained, required: true, stalled: []string{"Refused", "StillReceiving", gimbalv1.ReasonSameCluster}}
	if b.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance {
		// Changes of an earlier maintenance have to be restored.
		last := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionDrained)
		drained.required = last != nil && last.Reason != reasonEnabled
		drained.fine, drained.pending = []string{reasonEnabled}, []string{"Drained"}
	}
	return []aspect{
		{
			kind: gimbalv1.ConditionCredentialsValid, required: !manual, anyGeneration: manual,
			stalled: []string{"SecretMissing", "SecretInvalid", "Refused", "AnotherCluster"},
		},
		available,
		// A discoverer reports it when it changes, not for each generation.
		{kind: gimbalv1.ConditionDiscovered, required: !manual, anyGeneration: true},
		drained,
	}
}
