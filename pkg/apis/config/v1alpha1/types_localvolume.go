// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LocalVolumeConfiguration configures the cleanup of PersistentVolumes, and their claims, whose node is gone.
type LocalVolumeConfiguration struct {
	// StorageClassNames are the classes whose volumes are cleaned up. Empty: none.
	StorageClassNames []string `json:"storageClassNames"`
	// PVCDeletionDelay is how long a node must be gone before a claim is deleted.
	PVCDeletionDelay *metav1.Duration `json:"pvcDeletionDelay"`
	// StalePVDiscoveryInterval is the pause between two looks for volumes that nobody claims any more.
	StalePVDiscoveryInterval *metav1.Duration `json:"stalePVDiscoveryInterval"`
	// MaxMissingNodeFraction is the share of the nodes with local volumes that may be gone. When more are, nothing is
	// deleted: then the listing is more likely to be wrong than the nodes are.
	MaxMissingNodeFraction *float64 `json:"maxMissingNodeFraction"`
	// NodeTopologyKeys are the labels by which a volume names its node.
	NodeTopologyKeys []string `json:"nodeTopologyKeys"`
	// WorkerThreads is how many claims are worked on at the same time.
	WorkerThreads *int32 `json:"workerThreads"`
	// DeletePendingPods deletes pods that wait for a claim that was deleted.
	DeletePendingPods *bool `json:"deletePendingPods"`
	// IncludeFailedVolumes cleans up volumes in the phase Failed, too.
	IncludeFailedVolumes *bool `json:"includeFailedVolumes"`
	// DryRun deletes nothing: events, logs and metrics tell what would be.
	DryRun *bool `json:"dryRun"`
}
