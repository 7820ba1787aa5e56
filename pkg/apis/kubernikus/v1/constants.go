// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import "time"

// Finalizers of a Kluster and of the Secrets it uses.
const (
	// ClusterAPIFinalizer keeps a Kluster that was created for a Cluster of Cluster API until its end is recorded there.
	ClusterAPIFinalizer = "groundskeeper.io/cluster-api"
	// DeorbiterFinalizer keeps a Kluster until its leftovers are removed, or released.
	DeorbiterFinalizer = "kubernikus.sap.cc/deorbiter"
	// ImportedDeorbiterFinalizer is the same on a Kluster that was imported from Kubernikus.
	ImportedDeorbiterFinalizer = "deorbiter"
	// SecretInUseFinalizer keeps a Secret while a Kluster needs it.
	SecretInUseFinalizer = "groundskeeper.io/in-use"
)

// Annotations of a Kluster.
const (
	// DetachAnnotation with the value "true" makes a deletion release the Kluster and touch nothing of it.
	DetachAnnotation = "groundskeeper.io/detach"
	// SelfDestructAnnotation with the value SelfDestructNow ends a Deorbit immediately.
	SelfDestructAnnotation = "kubernikus.sap.cc/self-destruct"
	// SelfDestructNow is the value of SelfDestructAnnotation.
	SelfDestructNow = "now"
	// AcceptCloudAnnotation acknowledges that the Secret leads to another project, region or Keystone than at registration.
	// Its value is the new place, as the condition OpenStackReachable writes it.
	AcceptCloudAnnotation = "groundskeeper.io/accept-cloud"
	// AcceptUnknownIdentityAnnotation acknowledges that other objects, whose cluster is unknown, lead to another cluster than this one.
	// Its value is kluster/namespace/name or discoverybackend/namespace/name of each, with commas between them, as conditions and warnings
	// print it. A namespace/name alone is a Kluster.
	AcceptUnknownIdentityAnnotation = "groundskeeper.io/accept-unknown-identity"
	// ClusterAPIUIDAnnotation is the uid of the Cluster of Cluster API that the Kluster is created, changed and deleted with.
	ClusterAPIUIDAnnotation = "groundskeeper.io/cluster-api-uid"
	// MachinesAnnotation reports, while Cluster API deletes the cluster, whether it still has Machines: MachinesPresent or
	// MachinesDeleted.
	MachinesAnnotation = "groundskeeper.io/machines"
	// MachinesPresent delays the checks of OpenStack until the Machines have been deleted. So does every other value that is unknown.
	MachinesPresent = "Present"
	// MachinesDeleted skips the stages inside the cluster, which does not exist any more.
	MachinesDeleted = "Deleted"
	// ControlPlaneAnnotation reports, while Cluster API deletes the cluster, that it never came up: ControlPlaneNeverInitialized. Every other
	// value reports nothing.
	ControlPlaneAnnotation = "groundskeeper.io/control-plane"
	// ControlPlaneNeverInitialized means that Cluster API never initialized a control plane, and that no Machine became a node: nothing ran
	// that could have created anything in OpenStack.
	ControlPlaneNeverInitialized = "NeverInitialized"
	// PausedWithClusterAnnotation with the value "true" means that the Kluster is paused because its Cluster is.
	PausedWithClusterAnnotation = "groundskeeper.io/paused-with-cluster"
	// TerminationProtectionAnnotation with a non-empty value rejects the deletion and pauses a Deorbit.
	TerminationProtectionAnnotation = "kubernikus.cloud.sap/termination-protection"
)

// AccountLabel names the account, an OpenStack project, that a Kluster belongs to. Without it the namespace does.
const AccountLabel = "account"

// Limits and defaults of spec.name.
const (
	// MaxNameLength is the most characters that spec.name may have.
	MaxNameLength = 63
	// SecretNameSuffix behind metadata.name is the default of spec.secretRef.name.
	SecretNameSuffix = "-secret"
	// SharedCloudProviderName is the default cluster name of the OpenStack cloud provider. Clusters that were set up
	// without a configured name share it, so nothing may be deleted by it.
	SharedCloudProviderName = "kubernetes"
)

// Defaults that are written to the spec.
const (
	// DefaultClusterCIDR is the default of spec.clusterCIDR.
	DefaultClusterCIDR = "100.100.0.0/16"
	// DefaultServiceCIDR is the default of spec.serviceCIDR.
	DefaultServiceCIDR = "198.18.128.0/17"
	// DefaultAdvertiseAddress is the default of spec.advertiseAddress.
	DefaultAdvertiseAddress = "1.1.1.1"
	// DefaultAdvertisePort is the default of spec.advertisePort.
	DefaultAdvertisePort int32 = 6443
	// DefaultDNSDomain is the default of spec.dnsDomain.
	DefaultDNSDomain = "cluster.local"
	// DefaultSecurityGroupName is the default of spec.openstack.securityGroupName.
	DefaultSecurityGroupName = "default"
	// DefaultNodeImage is the default of spec.nodePools[].image.
	DefaultNodeImage = "flatcar-stable-amd64"
	// DefaultDiscoveryNamespace is the default of spec.discovery.namespace.
	DefaultDiscoveryNamespace = "gimbal-discovery"
)

// Defaults that are not written to the spec, because the configuration of the controller manager may change them.
const (
	// DefaultDeorbitTimeout is how long a Deorbit takes at most.
	DefaultDeorbitTimeout = 24 * time.Hour
	// DefaultDeorbitStageTimeout is how long a stage of Deorbit may go without progress.
	DefaultDeorbitStageTimeout = time.Hour
	// DefaultDeorbitAPIUnavailableTimeout is how long the workload API must fail continuously before it is given up.
	DefaultDeorbitAPIUnavailableTimeout = 2 * time.Minute
	// DefaultDeorbitServiceGracePeriod is how long the cloud controller has to clean up behind a deleted Service.
	DefaultDeorbitServiceGracePeriod = 2 * time.Minute
	// DefaultRouteGCInterval is the time between two passes of Route GC.
	DefaultRouteGCInterval = 5 * time.Minute
)

// Condition types of a Kluster.
const (
	// ConditionAPIServerReachable reports whether the API server of the workload cluster responds.
	ConditionAPIServerReachable = "APIServerReachable"
	// ConditionOpenStackReachable reports whether OpenStack responds and accepts the credentials.
	ConditionOpenStackReachable = "OpenStackReachable"
	// ConditionClusterPermissionsGranted reports whether the user of the Secret has the permissions that Deorbit needs in the
	// workload cluster.
	ConditionClusterPermissionsGranted = "ClusterPermissionsGranted"
	// ConditionOpenStackServicesUsable reports whether the user of the Secret may list, in each service of OpenStack, what
	// Deorbit has to check.
	ConditionOpenStackServicesUsable = "OpenStackServicesUsable"
	// ConditionRoutesClean reports whether the router has no orphaned routes of this cluster.
	ConditionRoutesClean = "RoutesClean"
	// ConditionDeorbited reports the progress of the Deorbit.
	ConditionDeorbited = "Deorbited"
	// ConditionAnnounced reports whether the DiscoveryBackend that announces the cluster corresponds to the spec.
	ConditionAnnounced = "Announced"
	// ConditionLocalVolumeCleanup reports whether local volumes are cleaned up in the workload cluster, if the spec requests it.
	ConditionLocalVolumeCleanup = "LocalVolumeCleanup"
	// ConditionClusterAPI reports whether the Kluster corresponds to its Cluster of Cluster API.
	ConditionClusterAPI = "ClusterAPISynced"
	// ConditionClusterUnique is False while another Kluster leads to the same cluster, or a DiscoveryBackend that announces none of them, and
	// absent otherwise.
	ConditionClusterUnique = "ClusterUnique"
	// ConditionPaused reports that an annotation pauses the Kluster.
	ConditionPaused = "Paused"
)

// Reasons in conditions of a Kluster that several controllers set.
const (
	// ReasonCIDRConflict means that a sibling on the same router has an overlapping clusterCIDR.
	ReasonCIDRConflict = "CIDRConflict"
	// ReasonIdentityConflict means that another Kluster of the OpenStack project has the same clusterName or csiClusterID.
	ReasonIdentityConflict = "IdentityConflict"
	// ReasonSameCluster means that another object leads to the same cluster.
	ReasonSameCluster = "SameCluster"
	// ReasonSameClusterBackend means that a DiscoveryBackend leads to the same cluster, and no other Kluster. Both may be in use.
	ReasonSameClusterBackend = "SameClusterBackend"
	// ReasonOwnCluster means that the cluster is the one that Groundskeeper runs in.
	ReasonOwnCluster = "OwnCluster"
	// ReasonIdentityUnknown means that another Kluster, whose cluster is unknown, may lead to the same one.
	ReasonIdentityUnknown = "IdentityUnknown"
	// ReasonClusterChanged means that the Secret leads to another cluster than the one that is being torn down.
	ReasonClusterChanged = "ClusterChanged"
	// ReasonClusterRefused means that the cluster may be running, but rejects the credentials or the user of the Secret.
	ReasonClusterRefused = "ClusterRefused"
	// ReasonCloudChanged means that the Secret points to another project, region or Keystone than at registration.
	ReasonCloudChanged = "CloudChanged"
)
