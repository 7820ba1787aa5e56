// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretReference names a Secret in the namespace of the Kluster. It contains the OpenStack credentials, as clouds.yaml or in
// the openstack-* keys of Kubernikus, and the credentials of the workload cluster, as a kubeconfig or in the keys of
// Kubernikus.
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

// KubeconfigReference names a Secret in the namespace of the Kluster that has a kubeconfig. It is used unchanged, and read
// again when it changes.
type KubeconfigReference struct {
	// Name of the Secret.
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// Key of the Secret. Unset, it is "value", as in the Secrets of Cluster API.
	// +optional
	Key string `json:"key,omitempty" protobuf:"bytes,2,opt,name=key"`
}

// CloudReference names a Secret in the namespace of the Kluster that has OpenStack credentials, with the keys that a Secret of
// a Kluster has for them. It is used unchanged, and read again when it changes.
type CloudReference struct {
	// Name of the Secret.
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// CloudName is the cloud of its clouds.yaml. Unset, it is the only one, or the one that its key "cloud" names.
	// +optional
	CloudName string `json:"cloudName,omitempty" protobuf:"bytes,2,opt,name=cloudName"`
	// RegionName is the region. Unset, it is region_name of the cloud.
	// +optional
	RegionName string `json:"regionName,omitempty" protobuf:"bytes,3,opt,name=regionName"`
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

// DeletionPolicy specifies what happens to objects of a kind when the Kluster is deleted.
// +enum
// +k8s:enum
type DeletionPolicy string

// Deletion policies.
const (
	// DeletionPolicyDelete deletes the object.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyRetain retains it, and lists it in the status.
	DeletionPolicyRetain DeletionPolicy = "Retain"
)

// DeorbitSpec specifies what is deleted, and the timeouts, when a Kluster is deleted.
type DeorbitSpec struct {
	// PersistentVolumes specifies whether the claims that Cinder or Manila backs are deleted with their volumes: Delete or Retain. Defaults
	// to Delete. With Retain, no claims, pods, snapshots and volumes are deleted.
	// +optional
	// +k8s:optional
	PersistentVolumes DeletionPolicy `json:"persistentVolumes,omitempty" protobuf:"bytes,1,opt,name=persistentVolumes,casttype=DeletionPolicy"`
	// LoadBalancers specifies whether Services of type LoadBalancer are deleted with their load balancers: Delete or Retain.
	// Defaults to Delete.
	// +optional
	// +k8s:optional
	LoadBalancers DeletionPolicy `json:"loadBalancers,omitempty" protobuf:"bytes,2,opt,name=loadBalancers,casttype=DeletionPolicy"`
	// FloatingIPs specifies whether floating IPs are deleted with their load balancers: Delete or Retain. Defaults to Delete. The
	// annotation loadbalancer.openstack.org/keep-floatingip on a Service retains its floating IP in any case.
	// +optional
	// +k8s:optional
	FloatingIPs DeletionPolicy `json:"floatingIPs,omitempty" protobuf:"bytes,3,opt,name=floatingIPs,casttype=DeletionPolicy"`
	// Snapshots specifies whether volume snapshots are deleted: Delete or Retain. Defaults to Delete.
	// +optional
	// +k8s:optional
	Snapshots DeletionPolicy `json:"snapshots,omitempty" protobuf:"bytes,4,opt,name=snapshots,casttype=DeletionPolicy"`
	// UnseenVolumes specifies whether volumes and snapshots that have the tag of the cluster, but were never seen in it, are
	// deleted: Delete or Retain. Defaults to Retain, because the volume of a PersistentVolume to retain has the same tag.
	// +optional
	// +k8s:optional
	UnseenVolumes DeletionPolicy `json:"unseenVolumes,omitempty" protobuf:"bytes,5,opt,name=unseenVolumes,casttype=DeletionPolicy"`
	// Timeout is the maximum duration of Deorbit. Then the Kluster is released, and leftovers are reported. By default, the
	// configuration of the controller manager applies (24h).
	// +optional
	// +k8s:opaqueType
	Timeout *metav1.Duration `json:"timeout,omitempty" protobuf:"bytes,6,opt,name=timeout"`
	// StageTimeout is the maximum time of a stage without progress before the next one starts. By default, the configuration of
	// the controller manager applies (1h).
	// +optional
	// +k8s:opaqueType
	StageTimeout *metav1.Duration `json:"stageTimeout,omitempty" protobuf:"bytes,7,opt,name=stageTimeout"`
	// APIUnavailableTimeout is how long the API server of the cluster must be unavailable without interruption before the stages
	// inside the cluster are skipped. By default, the configuration of the controller manager applies (2m).
	// +optional
	// +k8s:opaqueType
	APIUnavailableTimeout *metav1.Duration `json:"apiUnavailableTimeout,omitempty" protobuf:"bytes,8,opt,name=apiUnavailableTimeout"`
	// ServiceGracePeriod is the time for the cloud controller to clean up after a deleted Service if its progress cannot be
	// observed. By default, the configuration of the controller manager applies (2m).
	// +optional
	// +k8s:opaqueType
	ServiceGracePeriod *metav1.Duration `json:"serviceGracePeriod,omitempty" protobuf:"bytes,9,opt,name=serviceGracePeriod"`
}

// RouteGCSpec configures Route GC. By default, the configuration of the controller manager applies.
type RouteGCSpec struct {
	// Enabled enables or disables Route GC for this cluster. By default, the configuration of the controller manager applies
	// (true).
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// Interval is the time between two runs, at least 1s. By default, the configuration of the controller manager applies (5m).
	// +optional
	// +k8s:opaqueType
	Interval *metav1.Duration `json:"interval,omitempty" protobuf:"bytes,2,opt,name=interval"`
	// DryRun reports orphaned routes without removing them. By default, the configuration of the controller manager applies
	// (false).
	// +optional
	DryRun *bool `json:"dryRun,omitempty" protobuf:"varint,3,opt,name=dryRun"`
}

// DrainPolicy specifies how routes without another backend are handled when traffic is moved away from a backend.
// +enum
// +k8s:enum
type DrainPolicy string

// Drain policies.
const (
	// DrainStrict moves their traffic away, too.
	DrainStrict DrainPolicy = "Strict"
	// DrainKeepSole does not change them.
	DrainKeepSole DrainPolicy = "KeepSole"
)

// DiscoverySpec announces the cluster as a DiscoveryBackend of type kubernetes.
type DiscoverySpec struct {
	// Enabled announces the cluster. The user who sets it must be allowed to create DiscoveryBackends in the namespace.
	// +optional
	Enabled bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// Namespace is the namespace of the DiscoveryBackend. Defaults to gimbal-discovery.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// DrainPolicy specifies how routes without another backend are handled when the cluster is drained: Strict moves their traffic
	// away, KeepSole does not change them. Defaults to Strict.
	// +optional
	// +k8s:optional
	DrainPolicy DrainPolicy `json:"drainPolicy,omitempty" protobuf:"bytes,3,opt,name=drainPolicy,casttype=DrainPolicy"`
}

// LocalVolumeCleanupSpec configures the local volume cleanup in the workload cluster.
type LocalVolumeCleanupSpec struct {
	// StorageClassNames are the storage classes whose local volumes are cleaned up. Without any, the cleanup is disabled.
	// +optional
	// +listType=set
	StorageClassNames []string `json:"storageClassNames,omitempty" protobuf:"bytes,1,rep,name=storageClassNames"`
	// PVCDeletionDelay is how long a node must be missing before its claims are deleted. By default, the configuration of the
	// controller manager applies (60s).
	// +optional
	// +k8s:opaqueType
	PVCDeletionDelay *metav1.Duration `json:"pvcDeletionDelay,omitempty" protobuf:"bytes,2,opt,name=pvcDeletionDelay"`
	// MaxMissingNodeFraction is the fraction of missing nodes, more than 0 and at most 1, at which the cleanup stops. By default,
	// the configuration of the controller manager applies (0.55).
	// +optional
	MaxMissingNodeFraction *float64 `json:"maxMissingNodeFraction,omitempty" protobuf:"fixed64,3,opt,name=maxMissingNodeFraction"`
}
