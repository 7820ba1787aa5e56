// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"

// DiscoveryBackend is a cluster whose services are discovered and copied into this one, so that routes here can send
// traffic there.
type DiscoveryBackend struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name is the name of the backend cluster; no other DiscoveryBackend, of any
	// namespace, may have it.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Cluster says how the backend cluster is reached and whether it takes requests.
	// +optional
	Cluster Cluster `json:"cluster,omitempty" protobuf:"bytes,2,opt,name=cluster"`
	// Status is the observed state. It is written by the operator, the discoverer and the maintenance controller.
	// +optional
	Status DiscoveryBackendStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DiscoveryBackendList is a list of DiscoveryBackends.
type DiscoveryBackendList struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Items are the DiscoveryBackends.
	Items []DiscoveryBackend `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// BackendType says what kind of cluster a backend is.
// +enum
// +k8s:enum
type BackendType string

const (
	// BackendOpenStack is an OpenStack cloud, whose load balancers are discovered.
	BackendOpenStack BackendType = "openstack"
	// BackendKubernetes is a Kubernetes cluster, whose Services are discovered.
	BackendKubernetes BackendType = "kubernetes"
)

// ClusterStatus says whether a backend takes requests.
// +enum
// +k8s:enum
type ClusterStatus string

const (
	// ClusterEnabled means the backend takes requests.
	ClusterEnabled ClusterStatus = "Enabled"
	// ClusterMaintenance means traffic is shifted away from the backend.
	ClusterMaintenance ClusterStatus = "Maintenance"
)

// DrainPolicy says what maintenance does with a route that has no other backend.
// +enum
// +k8s:enum
type DrainPolicy string

const (
	// DrainStrict takes the traffic away all the same, so that such a route answers with an error.
	DrainStrict DrainPolicy = "Strict"
	// DrainKeepSole leaves such a route as it is.
	DrainKeepSole DrainPolicy = "KeepSole"
)

// MissingNamespacePolicy says what happens to services whose namespace does not exist here.
// +enum
// +k8s:enum
type MissingNamespacePolicy string

const (
	// MissingNamespaceWait copies the services as soon as somebody creates the namespace.
	MissingNamespaceWait MissingNamespacePolicy = "Wait"
	// MissingNamespaceCreate creates the namespace.
	MissingNamespaceCreate MissingNamespacePolicy = "Create"
	// MissingNamespaceIgnore passes over the services in silence.
	MissingNamespaceIgnore MissingNamespacePolicy = "Ignore"
)

// Cluster says how a backend cluster is reached, what of it is discovered and whether it takes requests.
type Cluster struct {
	// Type is openstack or kubernetes. Any case is accepted and stored in lower case. It cannot be changed.
	// +k8s:required
	Type BackendType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=BackendType"`
	// Secret is the name of the Secret, in the namespace of the DiscoveryBackend, with what is needed to connect.
	// Give either this or credentials.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-long-name
	Secret string `json:"secret,omitempty" protobuf:"bytes,2,opt,name=secret"`
	// Credentials is another name of the field secret. Give one of the two.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-long-name
	Credentials string `json:"credentials,omitempty" protobuf:"bytes,3,opt,name=credentials"`
	// RefreshInterval is the time from one listing of the backend to the next, in seconds. It defaults to 30 for
	// openstack and to 1800 for kubernetes, where changes are also watched.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	RefreshInterval *int32 `json:"refreshInterval,omitempty" protobuf:"varint,4,opt,name=refreshInterval"`
	// Debug makes the discoverer log more. It defaults to false.
	// +optional
	Debug bool `json:"debug,omitempty" protobuf:"varint,5,opt,name=debug"`
	// ClusterStatus is Enabled (the default) or Maintenance, which shifts all traffic away from the backend until it
	// is Enabled again. Any case is accepted.
	// +optional
	// +k8s:optional
	ClusterStatus ClusterStatus `json:"clusterStatus,omitempty" protobuf:"bytes,6,opt,name=clusterStatus,casttype=ClusterStatus"`
	// Namespaces says which namespaces of the backend are discovered.
	// +optional
	Namespaces NamespacePolicy `json:"namespaces,omitempty" protobuf:"bytes,7,opt,name=namespaces"`
	// DrainPolicy says what maintenance does with a route that has no other backend: Strict (the default) takes the
	// traffic away all the same, KeepSole leaves it. Any case is accepted.
	// +optional
	// +k8s:optional
	DrainPolicy DrainPolicy `json:"drainPolicy,omitempty" protobuf:"bytes,8,opt,name=drainPolicy,casttype=DrainPolicy"`
	// DrainGracePeriod is how long open connections may last after the routes were rewritten, before the backend
	// counts as drained, for instance 30s. It defaults to 0s.
	// +optional
	// +k8s:opaqueType
	DrainGracePeriod *metav1.Duration `json:"drainGracePeriod,omitempty" protobuf:"bytes,9,opt,name=drainGracePeriod"`
	// ExternalNames makes the discoverer copy Services of type ExternalName too. It defaults to false.
	// +optional
	ExternalNames bool `json:"externalNames,omitempty" protobuf:"varint,10,opt,name=externalNames"`
}

// NamespacePolicy says which namespaces of a backend are discovered.
type NamespacePolicy struct {
	// Allow lists the namespaces that are discovered, by their exact names. Empty means all.
	// The list is replaced as a whole by server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	// +k8s:eachVal=+k8s:format=k8s-short-name
	Allow []string `json:"allow,omitempty" protobuf:"bytes,1,rep,name=allow"`
	// Deny lists namespaces that are not discovered, by their exact names, even when allow has them.
	// The list is replaced as a whole by server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	// +k8s:eachVal=+k8s:format=k8s-short-name
	Deny []string `json:"deny,omitempty" protobuf:"bytes,2,rep,name=deny"`
	// Missing says what happens to services whose namespace does not exist here: Wait (the default) copies them as
	// soon as it does, Create makes it, Ignore passes over them. Any case is accepted.
	// +optional
	// +k8s:optional
	Missing MissingNamespacePolicy `json:"missing,omitempty" protobuf:"bytes,3,opt,name=missing,casttype=MissingNamespacePolicy"`
}
