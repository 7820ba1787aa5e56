// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LocalVolumeConfiguration configures the cleanup of PersistentVolumes, and their claims, whose node no longer exists.
type LocalVolumeConfiguration struct {
	// StorageClassNames are the classes whose volumes are cleaned up. Empty: none.
	StorageClassNames []string `json:"storageClassNames"`
	// StorageClassAnnotations honors the annotations of StorageClasses that opt them in or out, and set the delay of their claims.
	StorageClassAnnotations *bool `json:"storageClassAnnotations"`
	// PVCDeletionDelay is how long a node must be missing before a claim is deleted.
	PVCDeletionDelay *metav1.Duration `json:"pvcDeletionDelay"`
	// UnknownNodeDeletionDelay is the same, if longer, for a node that was never seen: it may still join. 0: what belongs to such a node
	// is never deleted.
	UnknownNodeDeletionDelay *metav1.Duration `json:"unknownNodeDeletionDelay"`
	// OutOfServiceNodes counts Nodes with the taint node.kubernetes.io/out-of-service as missing.
	OutOfServiceNodes *bool `json:"outOfServiceNodes"`
	// UnreachableNodeDelay is how long a Node must not be ready, or be unknown to be, until it counts as missing. 0: never.
	UnreachableNodeDelay *metav1.Duration `json:"unreachableNodeDelay"`
	// ProofOfLife retains claims of nodes whose machine shows a sign of life after its Node went: its Lease is renewed, or it reports the
	// status of a pod.
	ProofOfLife *bool `json:"proofOfLife"`
	// StalePVDiscoveryInterval is the interval between two checks for volumes that are no longer claimed.
	StalePVDiscoveryInterval *metav1.Duration `json:"stalePVDiscoveryInterval"`
	// MaxMissingNodeFraction is the share of the nodes with local volumes that may be missing. When more are missing, nothing
	// is deleted, because the list of nodes is probably incomplete.
	MaxMissingNodeFraction *float64 `json:"maxMissingNodeFraction"`
	// NodeTopologyKeys are the labels by which a volume names its node.
	NodeTopologyKeys []string `json:"nodeTopologyKeys"`
	// WorkerThreads is how many claims are worked on at the same time.
	WorkerThreads *int32 `json:"workerThreads"`
	// DeletePendingPods deletes pods that wait for a claim that was deleted.
	DeletePendingPods *bool `json:"deletePendingPods"`
	// IncludeFailedVolumes cleans up volumes in the phase Failed, too.
	IncludeFailedVolumes *bool `json:"includeFailedVolumes"`
	// DeleteVolumesOfUnknownNodes deletes free volumes of nodes that were never seen, too, when their reclaim policy is
	// Delete and no claim is reserved for them. Otherwise they are only reported, as their node may still join.
	DeleteVolumesOfUnknownNodes *bool `json:"deleteVolumesOfUnknownNodes"`
	// VolumeSources are the sources of the volumes that are cleaned up: local, and hostPath. CSI volumes have CSIDrivers.
	VolumeSources []VolumeSource `json:"volumeSources"`
	// CSIDrivers are the CSI drivers whose volumes are cleaned up, when they name one node alone. Each of them has to keep
	// its data on that node only.
	CSIDrivers []CSIDriver `json:"csiDrivers"`
	// DriverGracePeriod is how long Kubernetes and the provisioner or driver of a hostPath or CSI volume have to delete it.
	DriverGracePeriod *metav1.Duration `json:"driverGracePeriod"`
	// ReleaseCSIVolumes deletes CSI volumes that their driver did not delete in that time, and removes the finalizers of
	// the driver from them. What the driver stored on the disk of the node is not cleaned up.
	ReleaseCSIVolumes *bool `json:"releaseCSIVolumes"`
	// DryRun deletes nothing: events, logs and metrics report what would be deleted.
	DryRun *bool `json:"dryRun"`
}

// VolumeSource is a kind of volume.
type VolumeSource string

// The kinds of volumes that can be enabled.
const (
	VolumeSourceLocal    VolumeSource = "local"
	VolumeSourceHostPath VolumeSource = "hostPath"
)

// CSIDriver is a CSI driver whose volumes are on one node.
type CSIDriver struct {
	// Name is the name of the driver, as its CSIDriver object has it.
	Name string `json:"name"`
	// TopologyKey is the label by which its volumes name their node. A driver with two keys is listed twice.
	TopologyKey string `json:"topologyKey"`
}
