// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretReference names a Secret in the namespace of the Kluster. It holds the OpenStack credentials, as clouds.yaml or
// as the openstack-* keys of Kubernikus, and the way into the workload cluster, as kubeconfig or as Kubernikus' keys.
type SecretReference struct {
	// Name of the Secret. Defaults to <metadata.name>-secret.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Kubeconfig names another Secret that has the kubeconfig, such as that of Cluster API.
	// +optional
	// +k8s:optional
	Kubeconfig *KubeconfigReference `json:"kubeconfig,omitempty" protobuf:"bytes,2,opt,name=kubeconfig"`
	// Cloud names another Secret that has the OpenStack credentials, such as that of Cluster API.
	// +optional
	// +k8s:optional
	Cloud *CloudReference `json:"cloud,omitempty" protobuf:"bytes,3,opt,name=cloud"`
}

// KubeconfigReference names a Secret in the namespace of the Kluster that has a kubeconfig. It is read as it is, whenever it
// changes.
type KubeconfigReference struct {
	// Name of the Secret.
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// Key of the Secret. Unset, it is "value", as in the Secrets of Cluster API.
	// +optional
	Key string `json:"key,omitempty" protobuf:"bytes,2,opt,name=key"`
}

// CloudReference names a Secret in the namespace of the Kluster that has OpenStack credentials, with the keys that a Secret of
// a Kluster has for them. It is read as it is, whenever it changes.
type CloudReference struct {
	// Name of the Secret.
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// CloudName is the cloud of its clouds.yaml. Unset, it is the only one, or the one that its key "cloud" names.
	// +optional
	CloudName string `json:"cloudName,omitempty" protobuf:"bytes,2,opt,name=cloudName"`
}

// CloudProvider holds the names under which the cluster tags what it makes in OpenStack. Leftovers are found by them, so
// they have no default: nothing is deleted by a name that was neither set here nor seen in the cluster. By "kubernetes",
// the default of the cloud controller manager that many clusters share, nothing is deleted either.
type CloudProvider struct {
	// ClusterName is the --cluster-name of the OpenStack cloud controller manager. Unset, it is the one that the manager
	// is seen to run with in namespace kube-system of the cluster when the Kluster is deleted.
	// +optional
	ClusterName *string `json:"clusterName,omitempty" protobuf:"bytes,1,opt,name=clusterName"`
	// CSIClusterID is the --cluster of the Cinder CSI driver. Unset, it is the one that the driver is seen to run with in
	// namespace kube-system of the cluster when the Kluster is deleted.
	// +optional
	CSIClusterID *string `json:"csiClusterID,omitempty" protobuf:"bytes,2,opt,name=csiClusterID"`
}

// DeletionPolicy says what becomes of a kind of object when the Kluster is deleted.
// +enum
// +k8s:enum
type DeletionPolicy string

// What becomes of an object.
const (
	// DeletionPolicyDelete removes it.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyRetain keeps it, and lists it in the status.
	DeletionPolicyRetain DeletionPolicy = "Retain"
)

// DeorbitSpec says what is removed, and how long that may take, when a Kluster is deleted.
type DeorbitSpec struct {
	// PersistentVolumes says whether the claims that Cinder backs go with their volumes: Delete or Retain. Defaults to
	// Delete. With Retain, neither claims, pods, snapshots nor volumes are deleted.
	// +optional
	// +k8s:optional
	PersistentVolumes DeletionPolicy `json:"persistentVolumes,omitempty" protobuf:"bytes,1,opt,name=persistentVolumes,casttype=DeletionPolicy"`
	// LoadBalancers says whether Services of type LoadBalancer go with their load balancers: Delete or Retain.
	// Defaults to Delete.
	// +optional
	// +k8s:optional
	LoadBalancers DeletionPolicy `json:"loadBalancers,omitempty" protobuf:"bytes,2,opt,name=loadBalancers,casttype=DeletionPolicy"`
	// FloatingIPs says whether floating IPs go with their load balancers: Delete or Retain. Defaults to Delete. The
	// annotation loadbalancer.openstack.org/keep-floatingip on a Service keeps its own in any case.
	// +optional
	// +k8s:optional
	FloatingIPs DeletionPolicy `json:"floatingIPs,omitempty" protobuf:"bytes,3,opt,name=floatingIPs,casttype=DeletionPolicy"`
	// Snapshots says whether volume snapshots go: Delete or Retain. Defaults to Delete.
	// +optional
	// +k8s:optional
	Snapshots DeletionPolicy `json:"snapshots,omitempty" protobuf:"bytes,4,opt,name=snapshots,casttype=DeletionPolicy"`
	// UnseenVolumes says whether volumes and snapshots that carry the tag of the cluster, but were never seen in it, go:
	// Delete or Retain. Defaults to Retain, because one of a PersistentVolume to be kept carries the same tag.
	// +optional
	// +k8s:optional
	UnseenVolumes DeletionPolicy `json:"unseenVolumes,omitempty" protobuf:"bytes,5,opt,name=unseenVolumes,casttype=DeletionPolicy"`
	// Timeout is how long Deorbit takes at most. After it the Kluster is released, and what is left is reported. Unset,
	// the configuration of the controller manager says it, by default 24h.
	// +optional
	// +k8s:opaqueType
	Timeout *metav1.Duration `json:"timeout,omitempty" protobuf:"bytes,6,opt,name=timeout"`
	// StageTimeout is how long a stage may go without progress before the next one starts. Unset, the configuration of
	// the controller manager says it, by default 1h.
	// +optional
	// +k8s:opaqueType
	StageTimeout *metav1.Duration `json:"stageTimeout,omitempty" protobuf:"bytes,7,opt,name=stageTimeout"`
	// APIUnavailableTimeout is how long the API server of the cluster must fail, without a break, to be given up. Unset,
	// the configuration of the controller manager says it, by default 2m.
	// +optional
	// +k8s:opaqueType
	APIUnavailableTimeout *metav1.Duration `json:"apiUnavailableTimeout,omitempty" protobuf:"bytes,8,opt,name=apiUnavailableTimeout"`
	// ServiceGracePeriod is how long the cloud controller has to clean up behind a deleted Service where its progress
	// cannot be observed. Unset, the configuration of the controller manager says it, by default 2m.
	// +optional
	// +k8s:opaqueType
	ServiceGracePeriod *metav1.Duration `json:"serviceGracePeriod,omitempty" protobuf:"bytes,9,opt,name=serviceGracePeriod"`
}

// RouteGCSpec says how the router is kept clean. What is unset is as the controller manager is configured.
type RouteGCSpec struct {
	// Enabled turns Route GC on or off for this cluster. Unset, the configuration of the controller manager says it, by
	// default true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// Interval is the time between two passes, at least 1s. Unset, the configuration of the controller manager says it,
	// by default 5m.
	// +optional
	// +k8s:opaqueType
	Interval *metav1.Duration `json:"interval,omitempty" protobuf:"bytes,2,opt,name=interval"`
	// DryRun reports orphaned routes and removes none. Unset, the configuration of the controller manager says it, by
	// default false.
	// +optional
	DryRun *bool `json:"dryRun,omitempty" protobuf:"varint,3,opt,name=dryRun"`
}

// DrainPolicy says what happens to routes that have no other receiver when traffic is moved away from a backend.
// +enum
// +k8s:enum
type DrainPolicy string

// What happens to routes without another receiver.
const (
	// DrainStrict takes the traffic away from them as well.
	DrainStrict DrainPolicy = "Strict"
	// DrainKeepSole leaves them serving.
	DrainKeepSole DrainPolicy = "KeepSole"
)

// DiscoverySpec announces the cluster as a DiscoveryBackend of type kubernetes.
type DiscoverySpec struct {
	// Enabled announces the cluster. Whoever sets it must be allowed to create DiscoveryBackends in the namespace.
	// +optional
	Enabled bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// Namespace is where the DiscoveryBackend is made. Defaults to gimbal-discovery.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// DrainPolicy says what happens to routes without another receiver when the cluster is drained: Strict takes the
	// traffic away, KeepSole leaves them serving. Defaults to Strict.
	// +optional
	// +k8s:optional
	DrainPolicy DrainPolicy `json:"drainPolicy,omitempty" protobuf:"bytes,3,opt,name=drainPolicy,casttype=DrainPolicy"`
}

// LocalVolumeCleanupSpec runs the local volume cleanup in the workload cluster.
type LocalVolumeCleanupSpec struct {
	// StorageClassNames are the storage classes whose local volumes are cleaned up. Without any, nothing is.
	// +optional
	// +listType=set
	StorageClassNames []string `json:"storageClassNames,omitempty" protobuf:"bytes,1,rep,name=storageClassNames"`
	// PVCDeletionDelay is how long a node must be gone before the claims on it are deleted. Unset, the configuration of
	// the controller manager says it, by default 60s.
	// +optional
	// +k8s:opaqueType
	PVCDeletionDelay *metav1.Duration `json:"pvcDeletionDelay,omitempty" protobuf:"bytes,2,opt,name=pvcDeletionDelay"`
	// MaxMissingNodeFraction is the part of the nodes that may be missing, more than 0 and at most 1, before the cleanup
	// stops itself. Unset, the configuration of the controller manager says it, by default 0.55.
	// +optional
	MaxMissingNodeFraction *float64 `json:"maxMissingNodeFraction,omitempty" protobuf:"fixed64,3,opt,name=maxMissingNodeFraction"`
}
