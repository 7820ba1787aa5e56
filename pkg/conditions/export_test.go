// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// KnownReasons returns the reasons that the aspects of a kind name, by type of condition.
func KnownReasons() map[string]map[string][]string {
	backend := &gimbalv1.DiscoveryBackend{}
	drained := &gimbalv1.DiscoveryBackend{}
	drained.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
	manual := &gimbalv1.DiscoveryBackend{}
	manual.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionAvailable, Reason: reasonNoImage}}
	return map[string]map[string][]string{
		"Kluster":          reasonsOf(klusterAspects(&kubernikusv1.Kluster{}), deorbitAspects()),
		"DiscoveryBackend": reasonsOf(backendAspects(backend), backendAspects(drained), backendAspects(manual)),
		"Project":          reasonsOf(projectAspects(), projectDeletionAspects()),
	}
}

func reasonsOf(lists ...[]aspect) map[string][]string {
	known := map[string][]string{}
	for _, a := range slices.Concat(lists...) {
		all := slices.Concat(known[a.kind], a.stalled, a.pending, a.fine)
		slices.Sort(all)
		known[a.kind] = slices.Compact(all)
	}
	return known
}
