// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"

// DiscoveryBackend is a cluster whose services are discovered and copied into this cluster, so that routes can send traffic to
// them.
type DiscoveryBackend struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name is the name of the backend cluster, and unique among the DiscoveryBackends of all
	// namespaces.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Cluster specifies how to connect to the backend cluster and whether it accepts requests.
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

// BackendType is the type of a backend cluster.
// +enum
// +k8s:enum
type BackendType string

const (
	// BackendOpenStack is an OpenStack cloud, whose load balancers are discovered.
	BackendOpenStack BackendType = "openstack"
	// BackendKubernetes is a Kubernetes cluster, whose Services are discovered.
	BackendKubernetes BackendType = "kubernetes"
)

// ClusterStatus specifies whether a backend accepts requests.
// +enum
// +k8s:enum
type ClusterStatus string

const (
	// ClusterEnabled means that the backend accepts requests.
	ClusterEnabled ClusterStatus = "Enabled"
	// ClusterMaintenance means that traffic is moved away from the backend.
	ClusterMaintenance ClusterStatus = "Maintenance"
)

// DrainPolicy specifies how maintenance handles a route without another backend.
// +enum
// +k8s:enum
type DrainPolicy string

const (
	// DrainStrict moves the traffic away nevertheless, so that requests to such a route fail.
	DrainStrict DrainPolicy = "Strict"
	// DrainKeepSole does not change such a route.
	DrainKeepSole DrainPolicy = "KeepSole"
)

// ServicePolicy specifies which services of a backend are discovered.
// +enum
// +k8s:enum
type ServicePolicy string

const (
	// ServicesAll copies all services.
	ServicesAll ServicePolicy = "All"
	// ServicesExported copies the Services that have a ServiceExport of the Multi-Cluster Services API.
	ServicesExported ServicePolicy = "Exported"
)

// ZonePolicy specifies whether the zones of the endpoints of a backend are copied.
// +enum
// +k8s:enum
type ZonePolicy string

const (
	// ZonesCopy copies the zone of each endpoint, and the zones whose clients should use it.
	ZonesCopy ZonePolicy = "Copy"
	// ZonesOmit copies neither.
	ZonesOmit ZonePolicy = "Omit"
)

// MissingNamespacePolicy specifies how services whose namespace does not exist in this cluster are handled.
// +enum
// +k8s:enum
type MissingNamespacePolicy string

const (
	// MissingNamespaceWait copies the services as soon as the namespace is created by another client.
	MissingNamespaceWait MissingNamespacePolicy = "Wait"
	// MissingNamespaceCreate creates the namespace.
	MissingNamespaceCreate MissingNamespacePolicy = "Create"
	// MissingNamespaceIgnore skips the services without an error.
	MissingNamespaceIgnore MissingNamespacePolicy = "Ignore"
)

// Cluster specifies how to connect to a backend cluster, what is discovered and whether it accepts requests.
type Cluster struct {
	// Type is openstack or kubernetes. It is not case-sensitive and stored in lower case. It is immutable.
	// +k8s:required
	// +required
	Type BackendType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=BackendType"`
	// Secret is the name of the Secret with the credentials, in the namespace of the DiscoveryBackend. Set either this or
	// credentials.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-long-name
	Secret string `json:"secret,omitempty" protobuf:"bytes,2,opt,name=secret"`
	// Credentials is an alias of the field secret. Set one of the two.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-long-name
	Credentials string `json:"credentials,omitempty" protobuf:"bytes,3,opt,name=credentials"`
	// RefreshInterval is the time between two lists of the backend, in seconds. It defaults to 30 for openstack and to 1800 for
	// kubernetes, where changes are also watched.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	RefreshInterval *int32 `json:"refreshInterval,omitempty" protobuf:"varint,4,opt,name=refreshInterval"`
	// Debug makes the discoverer log more. It defaults to false.
	// +optional
	Debug bool `json:"debug,omitempty" protobuf:"varint,5,opt,name=debug"`
	// ClusterStatus is Enabled (the default) or Maintenance, which moves all traffic away from the backend until it is Enabled
	// again. It is not case-sensitive.
	// +optional
	// +k8s:optional
	ClusterStatus ClusterStatus `json:"clusterStatus,omitempty" protobuf:"bytes,6,opt,name=clusterStatus,casttype=ClusterStatus"`
	// Namespaces specifies which namespaces of the backend are discovered.
	// +optional
	Namespaces NamespacePolicy `json:"namespaces,omitempty" protobuf:"bytes,7,opt,name=namespaces"`
	// DrainPolicy specifies how maintenance handles a route without another backend: Strict (the default) moves the traffic away
	// nevertheless, KeepSole does not change the route. It is not case-sensitive.
	// +optional
	// +k8s:optional
	DrainPolicy DrainPolicy `json:"drainPolicy,omitempty" protobuf:"bytes,8,opt,name=drainPolicy,casttype=DrainPolicy"`
	// DrainGracePeriod is how long open connections may remain after the routes were changed, before the backend is considered
	// drained, for instance 30s. It defaults to 0s.
	// +optional
	// +k8s:opaqueType
	DrainGracePeriod *metav1.Duration `json:"drainGracePeriod,omitempty" protobuf:"bytes,9,opt,name=drainGracePeriod"`
	// ExternalNames makes the discoverer copy Services of type ExternalName too. It defaults to false.
	// +optional
	ExternalNames bool `json:"externalNames,omitempty" protobuf:"varint,10,opt,name=externalNames"`
	// Selector selects the services that are discovered, by their labels in the backend. Empty means all.
	// +optional
	// +k8s:opaqueType
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,11,opt,name=selector"`
	// Labels specifies which labels the copied Services have.
	// +optional
	Labels LabelPolicy `json:"labels,omitempty" protobuf:"bytes,12,opt,name=labels"`
	// Annotations lists the keys of the annotations of Services that are copied. Empty means none. The list is replaced as a whole
	// by server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	// +k8s:maxItems=100
	Annotations []string `json:"annotations,omitempty" protobuf:"bytes,13,rep,name=annotations"`
	// Addresses specifies which addresses the copied endpoints may have.
	// +optional
	Addresses AddressPolicy `json:"addresses,omitempty" protobuf:"bytes,14,opt,name=addresses"`
	// DrainDuration is how long maintenance takes to move the traffic away, and afterwards to move it back: in ten steps, which
	// status.ramp shows. Routes without weights do not take part. It defaults to 0s: in one step.
	// +optional
	// +k8s:opaqueType
	DrainDuration *metav1.Duration `json:"drainDuration,omitempty" protobuf:"bytes,15,opt,name=drainDuration"`
	// Maintenance specifies when maintenance begins without a change of clusterStatus.
	// +optional
	Maintenance MaintenancePolicy `json:"maintenance,omitempty" protobuf:"bytes,16,opt,name=maintenance"`
	// ServicePolicy specifies which services are discovered: All (the default), or Exported, which are the Services of a Kubernetes
	// cluster that have a ServiceExport (multicluster.x-k8s.io) with their name. The other fields restrict both. It is not
	// case-sensitive.
	// +optional
	// +k8s:optional
	ServicePolicy ServicePolicy `json:"servicePolicy,omitempty" protobuf:"bytes,17,opt,name=servicePolicy,casttype=ServicePolicy"`
	// ZonePolicy specifies whether the zone of each endpoint of a Kubernetes cluster is copied, and its hints (forZones): Copy (the
	// default), or Omit, for a backend whose zones mean something else than zones of the same name here. It is not case-sensitive.
	// +optional
	// +k8s:optional
	ZonePolicy ZonePolicy `json:"zonePolicy,omitempty" protobuf:"bytes,18,opt,name=zonePolicy,casttype=ZonePolicy"`
}

// MaintenancePolicy specifies when maintenance begins and ends without a change of clusterStatus.
type MaintenancePolicy struct {
	// Automatic moves the traffic away from the backend while its discoverer cannot reach it, as long as clusterStatus is Enabled.
	// Routes without another backend keep their traffic, as with drainPolicy KeepSole. It is never done to the only backend that
	// serves, nor to more backends at the same time than the controller manager permits. It defaults to false.
	// +optional
	Automatic bool `json:"automatic,omitempty" protobuf:"varint,1,opt,name=automatic"`
	// UnreachablePeriod is how long the backend has to be unreachable before automatic maintenance begins. It defaults to 5m.
	// +optional
	// +k8s:opaqueType
	UnreachablePeriod *metav1.Duration `json:"unreachablePeriod,omitempty" protobuf:"bytes,2,opt,name=unreachablePeriod"`
	// StablePeriod is how long the backend has to be reachable before automatic maintenance ends. It defaults to 10m.
	// +optional
	// +k8s:opaqueType
	StablePeriod *metav1.Duration `json:"stablePeriod,omitempty" protobuf:"bytes,3,opt,name=stablePeriod"`
	// Services specifies when the requests for a single copied Service go to the other receivers of its routes.
	// +optional
	Services ServiceMaintenancePolicy `json:"services,omitempty" protobuf:"bytes,4,opt,name=services"`
}

// ServiceMaintenancePolicy specifies when the requests for a copied Service without a ready endpoint go to the other receivers of a rule.
type ServiceMaintenancePolicy struct {
	// Automatic moves these requests by the weights of routes, never where no other receiver is valid and has a ready endpoint. It
	// defaults to false.
	// +optional
	Automatic bool `json:"automatic,omitempty" protobuf:"varint,1,opt,name=automatic"`
	// UnreadyPeriod is how long the Service has to be without a ready endpoint before its requests move. It defaults to 10s.
	// +optional
	// +k8s:opaqueType
	UnreadyPeriod *metav1.Duration `json:"unreadyPeriod,omitempty" protobuf:"bytes,2,opt,name=unreadyPeriod"`
	// StablePeriod is how long it has to have a ready endpoint before they return. It doubles with each time that they moved, up to an
	// hour, and starts over when the Service had a ready endpoint for an hour. It defaults to 1m.
	// +optional
	// +k8s:opaqueType
	StablePeriod *metav1.Duration `json:"stablePeriod,omitempty" protobuf:"bytes,3,opt,name=stablePeriod"`
}

// AddressPolicy specifies which addresses copied endpoints may have.
type AddressPolicy struct {
	// Allow lists the networks of addresses that are copied, in CIDR notation. Empty means all, except those that no backend is
	// supposed to have: addresses of the API server of this cluster, loopback, link-local and multicast addresses, and those of the
	// metadata services of clouds. Such an address is copied only if the list has a network with no other addresses than such,
	// for instance 169.254.20.0/24, and the backend is not confined to its own namespace. The list is replaced as a whole by
	// server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	// +k8s:maxItems=100
	Allow []string `json:"allow,omitempty" protobuf:"bytes,1,rep,name=allow"`
}

// LabelPolicy specifies which labels copied Services have. Of those of the services, only what include names and what selector uses is
// copied, because other controllers find their objects by labels, and would delete a copy that has them.
type LabelPolicy struct {
	// Include lists keys of labels that are copied. A key that ends with a slash stands for all keys with this prefix. The list is
	// replaced as a whole by server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	// +k8s:maxItems=100
	Include []string `json:"include,omitempty" protobuf:"bytes,1,rep,name=include"`
	// Exclude lists keys of labels that are not copied, even if include contains them, selector uses them, or a copy has them from an
	// earlier version. A key that ends with a slash stands for all keys with this prefix. The list is replaced as a whole by
	// server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	// +k8s:maxItems=100
	Exclude []string `json:"exclude,omitempty" protobuf:"bytes,2,rep,name=exclude"`
	// Add has labels that every copied Service gets, instead of those of the service with the same keys.
	// +optional
	// +k8s:optional
	Add map[string]string `json:"add,omitempty" protobuf:"bytes,3,rep,name=add"`
}

// NamespacePolicy specifies which namespaces of a backend are discovered.
type NamespacePolicy struct {
	// Allow lists the namespaces that are discovered, by their exact names. Empty means all.
	// The list is replaced as a whole by server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	// +k8s:eachVal=+k8s:format=k8s-short-name
	Allow []string `json:"allow,omitempty" protobuf:"bytes,1,rep,name=allow"`
	// Deny lists namespaces that are not discovered, by their exact names, even if allow contains them. The list is replaced as a
	// whole by server-side apply.
	// +optional
	// +k8s:optional
	// +listType=atomic
	// +k8s:eachVal=+k8s:format=k8s-short-name
	Deny []string `json:"deny,omitempty" protobuf:"bytes,2,rep,name=deny"`
	// Missing specifies how services whose namespace does not exist in this cluster are handled: Wait (the default) copies them as
	// soon as it exists, Create creates it, Ignore skips them. It is not case-sensitive.
	// +optional
	// +k8s:optional
	Missing MissingNamespacePolicy `json:"missing,omitempty" protobuf:"bytes,3,opt,name=missing,casttype=MissingNamespacePolicy"`
}
