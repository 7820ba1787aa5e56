// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// BackendsOf returns the DiscoveryBackends that copied a cluster, as the API server has them now. There are none where the API is not
// served.
func BackendsOf(ctx context.Context, live client.Reader, clusterID string) ([]gimbalv1.DiscoveryBackend, error) {
	found := &gimbalv1.DiscoveryBackendList{}
	if err := lists.Complete(live).List(ctx, found, client.MatchingFields{gimbalv1.ClusterIDField: clusterID}); isUnknown(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("list the DiscoveryBackends of the cluster: %w", err)
	}
	return found.Items, nil
}

// IsAnnouncement reports whether a DiscoveryBackend announces a Kluster.
func IsAnnouncement(k *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) bool {
	return isOwn(k, b) && b.Name == k.Name
}

// IsDrained reports whether a DiscoveryBackend is in maintenance and gets no requests.
func IsDrained(b *gimbalv1.DiscoveryBackend) bool {
	drained := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionDrained)
	return b.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance && drained != nil && drained.Status == metav1.ConditionTrue &&
		drained.ObservedGeneration >= b.Generation
}
