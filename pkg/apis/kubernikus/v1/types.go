// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"

// Kluster is a workload cluster on OpenStack that another tool provisions. When it is registered as a Kluster, its routes are
// managed, and it is deorbited without leaving resources behind in the OpenStack project.
type Kluster struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Spec is the desired state of the cluster.
	// +optional
	Spec KlusterSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Status is the observed state. It is written by the controllers.
	// +optional
	Status KlusterStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// KlusterList is a list of Klusters.
type KlusterList struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Items are the Klusters.
	Items []Kluster `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// KlusterSpec describes a workload cluster. The first fields are those of Kubernikus, so that its manifests apply unchanged;
// secretRef and the following fields are specific to Groundskeeper.
type KlusterSpec struct {
	// Name is the short name of the cluster in OpenStack: lower case letters, digits and dashes, at most 63 characters. It
	// defaults to metadata.name without the suffix "-<account>", where the account is the label "account" or otherwise the
	// namespace. It is immutable.
	// +optional
	// +k8s:optional
	// +k8s:immutable
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Openstack names the OpenStack objects that the cluster uses.
	// +optional
	Openstack OpenstackSpec `json:"openstack,omitempty" protobuf:"bytes,2,opt,name=openstack"`
	// ClusterCIDR is the range of the pods, for instance 100.100.0.0/16, which is the default, or the two of a dual-stack
	// cluster with a comma between them, as 100.100.0.0/16,fd00:100::/56. It may be empty only with noCloud. It cannot be
	// changed.
	// +optional
	// +k8s:optional
	// +k8s:immutable
	ClusterCIDR *string `json:"clusterCIDR,omitempty" protobuf:"bytes,3,opt,name=clusterCIDR"`
	// ServiceCIDR is the IPv4 range of the services. Defaults to 198.18.128.0/17. It cannot be changed.
	// +optional
	// +k8s:optional
	// +k8s:immutable
	ServiceCIDR string `json:"serviceCIDR,omitempty" protobuf:"bytes,4,opt,name=serviceCIDR"`
	// AdvertiseAddress is the IP address that the API server announces to the pods. Defaults to 1.1.1.1.
	// +optional
	AdvertiseAddress string `json:"advertiseAddress,omitempty" protobuf:"bytes,5,opt,name=advertiseAddress"`
	// AdvertisePort is the port that the API server announces to the pods. Defaults to 6443.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:maximum=65535
	AdvertisePort *int32 `json:"advertisePort,omitempty" protobuf:"varint,6,opt,name=advertisePort"`
	// DNSAddress is the IPv4 address of the cluster's DNS service. Defaults to the third address of serviceCIDR.
	// It cannot be changed.
	// +optional
	// +k8s:optional
	// +k8s:immutable
	DNSAddress string `json:"dnsAddress,omitempty" protobuf:"bytes,7,opt,name=dnsAddress"`
	// DNSDomain is the DNS domain of the cluster. Defaults to cluster.local. It cannot be changed.
	// +optional
	// +k8s:optional
	// +k8s:immutable
	DNSDomain string `json:"dnsDomain,omitempty" protobuf:"bytes,8,opt,name=dnsDomain"`
	// Version is the Kubernetes version of the cluster, for instance 1.36.3. It can be increased by one minor version at a time,
	// and not decreased.
	// +optional
	Version string `json:"version,omitempty" protobuf:"bytes,9,opt,name=version"`
	// Backup specifies where etcd is backed up: on, off or externalAWS. Defaults to on. In YAML, on and off have to be quoted.
	// +optional
	// +k8s:optional
	Backup BackupMode `json:"backup,omitempty" protobuf:"bytes,10,opt,name=backup,casttype=BackupMode"`
	// Audit specifies the destination of the audit log: elasticsearch, swift, http or stdout. By default there is none.
	// +optional
	// +k8s:optional
	Audit AuditMode `json:"audit,omitempty" protobuf:"bytes,11,opt,name=audit,casttype=AuditMode"`
	// Dex specifies whether the cluster has its own Dex to authenticate users. Defaults to true.
	// +optional
	Dex *bool `json:"dex,omitempty" protobuf:"varint,12,opt,name=dex"`
	// Dashboard specifies whether the cluster has a dashboard. Defaults to true.
	// +optional
	Dashboard *bool `json:"dashboard,omitempty" protobuf:"varint,13,opt,name=dashboard"`
	// NoCloud specifies that the cluster does not use OpenStack: nothing is listed or deleted there.
	// +optional
	NoCloud bool `json:"noCloud,omitempty" protobuf:"varint,14,opt,name=noCloud"`
	// CustomCNI specifies that the cluster provides its pod network and has no routes on the router: Route GC is disabled for it
	// unless routeGC.enabled is true, and other clusters on the router may have the same range.
	// +optional
	CustomCNI bool `json:"customCNI,omitempty" protobuf:"varint,15,opt,name=customCNI"`
	// SeedKubeadm specifies that the cluster gets the objects that kubeadm needs to join nodes.
	// +optional
	SeedKubeadm bool `json:"seedKubeadm,omitempty" protobuf:"varint,16,opt,name=seedKubeadm"`
	// SeedVirtual specifies that the cluster gets the objects that virtual nodes need.
	// +optional
	SeedVirtual bool `json:"seedVirtual,omitempty" protobuf:"varint,17,opt,name=seedVirtual"`
	// SSHPublicKey is added to every new node. At most 10000 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=10000
	SSHPublicKey string `json:"sshPublicKey,omitempty" protobuf:"bytes,18,opt,name=sshPublicKey"`
	// OIDC makes the API server accept the tokens of an OpenID Connect issuer.
	// +optional
	// +k8s:optional
	OIDC *OIDC `json:"oidc,omitempty" protobuf:"bytes,19,opt,name=oidc"`
	// AuthenticationConfiguration is the text of an AuthenticationConfiguration of apiserver.config.k8s.io for the API
	// server, as YAML.
	// +optional
	AuthenticationConfiguration string `json:"authenticationConfiguration,omitempty" protobuf:"bytes,20,opt,name=authenticationConfiguration"`
	// NodePools are the groups of equal nodes. A pool can be removed when its size is 0.
	// +optional
	// +k8s:optional
	// +listType=map
	// +listMapKey=name
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:maxItems=256
	NodePools []NodePool `json:"nodePools,omitempty" protobuf:"bytes,21,rep,name=nodePools"`

	// SecretRef names the Secret with the OpenStack credentials and with the kubeconfig of the workload cluster.
	// +optional
	SecretRef SecretReference `json:"secretRef,omitempty" protobuf:"bytes,22,opt,name=secretRef"`
	// CloudProvider has the names with which the cluster tags its resources in OpenStack.
	// +optional
	CloudProvider CloudProvider `json:"cloudProvider,omitempty" protobuf:"bytes,23,opt,name=cloudProvider"`
	// Deorbit specifies what is deleted, and its timeouts, when the Kluster is deleted.
	// +optional
	Deorbit DeorbitSpec `json:"deorbit,omitempty" protobuf:"bytes,24,opt,name=deorbit"`
	// RouteGC specifies how routes to deleted nodes are removed from the router.
	// +optional
	// +k8s:optional
	RouteGC *RouteGCSpec `json:"routeGC,omitempty" protobuf:"bytes,25,opt,name=routeGC"`
	// Discovery announces the cluster as a DiscoveryBackend, so that its services are discovered.
	// +optional
	// +k8s:optional
	Discovery *DiscoverySpec `json:"discovery,omitempty" protobuf:"bytes,26,opt,name=discovery"`
	// LocalVolumeCleanup enables the local volume cleanup in the workload cluster. By default it is disabled.
	// +optional
	// +k8s:optional
	LocalVolumeCleanup *LocalVolumeCleanupSpec `json:"localVolumeCleanup,omitempty" protobuf:"bytes,27,opt,name=localVolumeCleanup"`
}

// BackupMode specifies where etcd is backed up.
// +enum
// +k8s:enum
type BackupMode string

// Destinations of backups.
const (
	// BackupOn backs up to the object store of the cloud.
	BackupOn BackupMode = "on"
	// BackupOff disables backups.
	BackupOff BackupMode = "off"
	// BackupExternalAWS backs up to S3 at AWS.
	BackupExternalAWS BackupMode = "externalAWS"
)

// AuditMode specifies the destination of the audit log.
// +enum
// +k8s:enum
type AuditMode string

// Destinations of the audit log.
const (
	// AuditElasticsearch sends it to Elasticsearch.
	AuditElasticsearch AuditMode = "elasticsearch"
	// AuditSwift stores it in the object store.
	AuditSwift AuditMode = "swift"
	// AuditHTTP posts it to a webhook.
	AuditHTTP AuditMode = "http"
	// AuditStdout prints it.
	AuditStdout AuditMode = "stdout"
)
