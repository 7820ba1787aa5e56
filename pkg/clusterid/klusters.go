// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterid

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// ReasonPending is the reason of an unknown identity before the first check of the cluster.
const ReasonPending = "Pending"

// Stays reports whether a cluster has to stay for a Kluster of it: it is not being deleted, or an annotation requests to wait.
func Stays(k *kubernikusv1.Kluster) bool {
	return k.DeletionTimestamp.IsZero() || kit.IsPaused(k) || k.TerminationProtected()
}

// IsReleased reports whether Deorbit is over, or was never responsible: a Kluster that is being deleted needs nothing any more, though
// others may still keep the object.
func IsReleased(k *kubernikusv1.Kluster) bool {
	return !k.DeletionTimestamp.IsZero() && !k.HasDeorbiter()
}

// Leaves reports whether a Kluster that is being deleted does nothing to its cluster any more.
func Leaves(k *kubernikusv1.Kluster) bool {
	return IsReleased(k) || !k.DeletionTimestamp.IsZero() && k.Detached()
}

// AreDeletedTogether reports whether two Klusters are proven to lead to the same cluster and are both being deleted: what one of them
// protects from the other is to go.
func AreDeletedTogether(a, b *kubernikusv1.Kluster) bool {
	return !a.DeletionTimestamp.IsZero() && !b.DeletionTimestamp.IsZero() && Compare(OfUID(a.ClusterID()), OfUID(b.ClusterID())) == Same
}

// Labels of the DiscoveryBackend that announces a Kluster, and of its Secret.
const (
	// LabelNamespace is the namespace of the Kluster.
	LabelNamespace = "groundskeeper.io/kluster-namespace"
	// LabelName is the metadata.name of the Kluster.
	LabelName = "groundskeeper.io/kluster-name"
	// LabelUID is the UID of the Kluster.
	LabelUID = "groundskeeper.io/kluster-uid"
)

// IsMadeFor reports whether an object was created for this Kluster, and not for a namesake.
func IsMadeFor(k *kubernikusv1.Kluster, object metav1.Object) bool {
	labels := object.GetLabels()
	return labels[LabelNamespace] == k.Namespace && labels[LabelName] == k.Name && k.UID != "" && labels[LabelUID] == string(k.UID)
}

// IsAnnouncement reports whether a DiscoveryBackend announces a Kluster.
func IsAnnouncement(k *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) bool {
	return IsMadeFor(k, b) && b.Name == k.Name
}

// IsDrained reports whether a DiscoveryBackend is in maintenance and gets no requests.
func IsDrained(b *gimbalv1.DiscoveryBackend) bool {
	drained := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionDrained)
	return b.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance && drained != nil && drained.Status == metav1.ConditionTrue &&
		drained.ObservedGeneration >= b.Generation
}
