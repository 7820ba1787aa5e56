// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeorbitStage is a step of Deorbit.
// +enum
// +k8s:enum
type DeorbitStage string

// Stages of Deorbit, in their order.
const (
	// DeorbitDrain moves traffic away from the cluster where it is announced as a DiscoveryBackend.
	DeorbitDrain DeorbitStage = "Drain"
	// DeorbitFreeze prevents that the cluster creates new cloud resources.
	DeorbitFreeze DeorbitStage = "Freeze"
	// DeorbitPods deletes the claims, then the pods that use them.
	DeorbitPods DeorbitStage = "Pods"
	// DeorbitSnapshots deletes volume snapshots.
	DeorbitSnapshots DeorbitStage = "Snapshots"
	// DeorbitClaims deletes the claims that Cinder or Manila backs.
	DeorbitClaims DeorbitStage = "Claims"
	// DeorbitServices deletes the Services of type LoadBalancer.
	DeorbitServices DeorbitStage = "Services"
	// DeorbitWait waits until the controllers of the cluster have cleaned up after the deleted objects.
	DeorbitWait DeorbitStage = "Wait"
	// DeorbitMachines waits until Cluster API has deleted the Machines of the cluster. Only the Kluster of a Cluster of Cluster API
	// has this stage.
	DeorbitMachines DeorbitStage = "Machines"
	// DeorbitVerify lists the remaining resources in OpenStack, and deletes them.
	DeorbitVerify DeorbitStage = "Verify"
	// DeorbitRoutes removes the routes of the cluster.
	DeorbitRoutes DeorbitStage = "Routes"
	// DeorbitRelease removes the finalizer of Groundskeeper from the Kluster.
	DeorbitRelease DeorbitStage = "Release"
)

// DeorbitStatus is the progress of Deorbit, including the records that it needs after a restart.
type DeorbitStatus struct {
	// StartedAt is when Deorbit began. Its timeout is measured from here.
	// +optional
	// +k8s:opaqueType
	StartedAt *metav1.Time `json:"startedAt,omitempty" protobuf:"bytes,1,opt,name=startedAt"`
	// LastProgressAt is when an object was last deleted, or a stage began. The timeout of a stage is measured from here.
	// +optional
	// +k8s:opaqueType
	LastProgressAt *metav1.Time `json:"lastProgressAt,omitempty" protobuf:"bytes,2,opt,name=lastProgressAt"`
	// Stage is the current stage: Drain, Freeze, Pods, Snapshots, Claims, Services, Wait, Machines, Verify, Routes, Release.
	// +optional
	// +k8s:optional
	Stage DeorbitStage `json:"stage,omitempty" protobuf:"bytes,3,opt,name=stage,casttype=DeorbitStage"`
	// StageStartedAt is when the stage began.
	// +optional
	// +k8s:opaqueType
	StageStartedAt *metav1.Time `json:"stageStartedAt,omitempty" protobuf:"bytes,4,opt,name=stageStartedAt"`
	// UnreachableSince is the first of the uninterrupted failures of the API server of the cluster.
	// +optional
	// +k8s:opaqueType
	UnreachableSince *metav1.Time `json:"unreachableSince,omitempty" protobuf:"bytes,5,opt,name=unreachableSince"`
	// Remaining are the objects that still have to be deleted, each with the reason why it still exists. The objects that are
	// listed when the Kluster is released are leftovers.
	// +optional
	// +k8s:optional
	// +listType=atomic
	Remaining []DeorbitObject `json:"remaining,omitempty" protobuf:"bytes,6,rep,name=remaining"`
	// Retained are the objects that are retained intentionally, each with the reason.
	// +optional
	// +k8s:optional
	// +listType=atomic
	Retained []DeorbitObject `json:"retained,omitempty" protobuf:"bytes,7,rep,name=retained"`
	// SeenVolumes are the volumes of Cinder and shares of Manila that were seen in the cluster, with the data of their PersistentVolumes.
	// +optional
	// +k8s:optional
	// +listType=map
	// +listMapKey=id
	SeenVolumes []SeenVolume `json:"seenVolumes,omitempty" protobuf:"bytes,8,rep,name=seenVolumes"`
	// SeenSnapshots are the snapshots of these that were seen in the cluster, with the data of their VolumeSnapshotContents.
	// +optional
	// +k8s:optional
	// +listType=map
	// +listMapKey=id
	SeenSnapshots []SeenSnapshot `json:"seenSnapshots,omitempty" protobuf:"bytes,9,rep,name=seenSnapshots"`
	// SeenServices are the Services of type LoadBalancer that were seen in the cluster. Their security groups carry the uid.
	// +optional
	// +k8s:optional
	// +listType=map
	// +listMapKey=uid
	SeenServices []SeenService `json:"seenServices,omitempty" protobuf:"bytes,10,rep,name=seenServices"`
	// ClusterName is the --cluster-name that the OpenStack cloud controller manager was seen to run with in the cluster.
	// +optional
	ClusterName string `json:"clusterName,omitempty" protobuf:"bytes,11,opt,name=clusterName"`
	// CSIClusterID is the --cluster that the Cinder CSI driver was seen to run with in the cluster.
	// +optional
	CSIClusterID string `json:"csiClusterID,omitempty" protobuf:"bytes,12,opt,name=csiClusterID"`
	// ClusterLost is why the stages inside the cluster were skipped. Empty: they were not.
	// +optional
	ClusterLost string `json:"clusterLost,omitempty" protobuf:"bytes,13,opt,name=clusterLost"`
	// ClusterRefused is why the state of the cluster, which may be alive, is unknown: its API server rejects the credentials or
	// the user, the Secret is invalid, or Deorbit ended before it was read. While it is set, nothing is deleted in OpenStack. Empty: the
	// state is known.
	// +optional
	ClusterRefused string `json:"clusterRefused,omitempty" protobuf:"bytes,14,opt,name=clusterRefused"`
	// Undecided are the objects that Deorbit does not delete because a user has to decide that, each with the reason. They are
	// leftovers, and the release does not wait for them.
	// +optional
	// +k8s:optional
	// +listType=atomic
	Undecided []DeorbitObject `json:"undecided,omitempty" protobuf:"bytes,15,rep,name=undecided"`
	// ClusterID is the uid of the namespace kube-system of the cluster that is being torn down. Nothing is done to another one.
	// +optional
	ClusterID string `json:"clusterID,omitempty" protobuf:"bytes,16,opt,name=clusterID"`
	// VerifyStartedAt is when the stages behind Machines began, while Cluster API deletes the cluster. Their timeout is measured from here.
	// +optional
	// +k8s:opaqueType
	VerifyStartedAt *metav1.Time `json:"verifyStartedAt,omitempty" protobuf:"bytes,17,opt,name=verifyStartedAt"`
}

// Standing is why objects of the cluster block a deletion in OpenStack.
// +enum
// +k8s:enum
type Standing string

// Reasons that block the deletion in OpenStack. The empty value means that nothing blocks it.
const (
	// StandingPresent means that the objects are in the cluster and not being deleted, or that a claim is still bound.
	StandingPresent Standing = "Present"
	// StandingRefused means that the cluster rejected their deletion.
	StandingRefused Standing = "Refused"
	// StandingFinalizer means that they have a finalizer that belongs neither to Kubernetes nor to the OpenStack provider.
	StandingFinalizer Standing = "Finalizer"
)

// DeorbitObject is an object of the workload cluster or of OpenStack that remains or is retained.
type DeorbitObject struct {
	// Kind of the object, for instance PersistentVolume, Service, Volume, LoadBalancer or FloatingIP.
	// +k8s:required
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind"`
	// Namespace of the object in the workload cluster.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// Name of the object.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	// ID of the object in OpenStack.
	// +optional
	ID string `json:"id,omitempty" protobuf:"bytes,4,opt,name=id"`
	// Reason is why the object remains or is retained.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
}

// SeenVolume is a Cinder volume, or a share of Manila, that was seen in the workload cluster.
type SeenVolume struct {
	// ID of the volume in Cinder, or of the share in Manila.
	// +k8s:required
	ID string `json:"id" protobuf:"bytes,1,opt,name=id"`
	// Name of its PersistentVolume.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	// ReclaimPolicy of its PersistentVolume: Delete or Retain.
	// +optional
	ReclaimPolicy string `json:"reclaimPolicy,omitempty" protobuf:"bytes,3,opt,name=reclaimPolicy"`
	// Standing is why the volume is not deleted in OpenStack, regardless of the policy: its claim or its PersistentVolume exists
	// in the cluster. Present, Refused or Finalizer; empty: nothing blocks the deletion.
	// +optional
	// +k8s:optional
	Standing Standing `json:"standing,omitempty" protobuf:"bytes,4,opt,name=standing,casttype=Standing"`
	// ServerID is the server in Nova of the node that a VolumeAttachment in the cluster attaches the volume to. Empty: no
	// VolumeAttachment was seen.
	// +optional
	ServerID string `json:"serverID,omitempty" protobuf:"bytes,5,opt,name=serverID"`
	// Share reports that it is a share of Manila, and not a volume of Cinder.
	// +optional
	Share bool `json:"share,omitempty" protobuf:"varint,6,opt,name=share"`
	// Gone reports whether neither its PersistentVolume nor its claim existed in the cluster when they were last checked.
	// +optional
	Gone bool `json:"gone,omitempty" protobuf:"varint,7,opt,name=gone"`
}

// SeenSnapshot is a snapshot of a Cinder volume or of a share of Manila that was seen in the workload cluster.
type SeenSnapshot struct {
	// ID of the snapshot in Cinder or Manila.
	// +k8s:required
	ID string `json:"id" protobuf:"bytes,1,opt,name=id"`
	// Name of its VolumeSnapshotContent.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	// DeletionPolicy of its VolumeSnapshotContent: Delete or Retain.
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty" protobuf:"bytes,3,opt,name=deletionPolicy"`
	// Standing is why the snapshot is not deleted in OpenStack, regardless of the policy: its VolumeSnapshot or its
	// VolumeSnapshotContent exists in the cluster. Present, Refused or Finalizer; empty: nothing blocks the deletion.
	// +optional
	// +k8s:optional
	Standing Standing `json:"standing,omitempty" protobuf:"bytes,4,opt,name=standing,casttype=Standing"`
	// Share reports that it is a snapshot of a share of Manila, and not of a volume of Cinder.
	// +optional
	Share bool `json:"share,omitempty" protobuf:"varint,5,opt,name=share"`
	// Gone reports whether its VolumeSnapshotContent no longer existed in the cluster when it was last checked.
	// +optional
	Gone bool `json:"gone,omitempty" protobuf:"varint,6,opt,name=gone"`
}

// SeenService is a Service of type LoadBalancer, or an Ingress of the Octavia ingress controller, that was seen in the
// workload cluster.
type SeenService struct {
	// UID of the Service.
	// +k8s:required
	UID string `json:"uid" protobuf:"bytes,1,opt,name=uid"`
	// Namespace of the Service.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// Name of the Service.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	// KeepFloatingIP reports whether an annotation of the Service retains its floating IP.
	// +optional
	KeepFloatingIP bool `json:"keepFloatingIP,omitempty" protobuf:"varint,4,opt,name=keepFloatingIP"`
	// LoadBalancerID is the load balancer in Octavia that the Service names in its annotation.
	// +optional
	LoadBalancerID string `json:"loadBalancerID,omitempty" protobuf:"bytes,5,opt,name=loadBalancerID"`
	// Address is the address that the cloud controller wrote to the status of the Service.
	// +optional
	Address string `json:"address,omitempty" protobuf:"bytes,6,opt,name=address"`
	// Standing is why nothing of the Service is deleted in OpenStack: it exists in the cluster. Present, Refused or Finalizer;
	// empty: nothing blocks the deletion.
	// +optional
	// +k8s:optional
	Standing Standing `json:"standing,omitempty" protobuf:"bytes,7,opt,name=standing,casttype=Standing"`
	// Finalized reports whether the Service was seen with the finalizer that remains until its load balancer has been deleted.
	// +optional
	Finalized bool `json:"finalized,omitempty" protobuf:"varint,8,opt,name=finalized"`
	// Gone reports whether the Service no longer existed in the cluster when it was last checked.
	// +optional
	Gone bool `json:"gone,omitempty" protobuf:"varint,9,opt,name=gone"`
	// Ingress reports that it is an Ingress, and not a Service.
	// +optional
	Ingress bool `json:"ingress,omitempty" protobuf:"varint,10,opt,name=ingress"`
}
