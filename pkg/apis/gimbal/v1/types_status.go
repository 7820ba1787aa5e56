// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DiscoveryBackendStatus is the observed state of a DiscoveryBackend.
type DiscoveryBackendStatus struct {
	// Errors are the current errors: of connections, of single services, of maintenance. An entry is removed when its cause no
	// longer exists.
	// +optional
	// +k8s:optional
	// +listType=map
	// +listMapKey=type
	// +listMapKey=message
	// +k8s:listType=map
	// +k8s:listMapKey=type
	// +k8s:listMapKey=message
	Errors []DiscoveryError `json:"errors,omitempty" protobuf:"bytes,1,rep,name=errors"`
	// ObservedGeneration is the generation of the DiscoveryBackend that this status describes.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,2,opt,name=observedGeneration"`
	// Conditions are the state in detail, Available, CredentialsValid, Reachable, Discovered, Drained in maintenance,
	// AutomaticMaintenance if cluster.maintenance.automatic is set, and ClusterUnique if another object leads to the same
	// cluster, and its summary, which the API server writes: Ready, Reconciling while the backend becomes ready on its own, and Stalled when a
	// user has to act.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,3,rep,name=conditions"`
	// Services is the number of discovered services with a copy in this cluster. It is absent before the first list.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	Services *int32 `json:"services,omitempty" protobuf:"varint,4,opt,name=services"`
	// Endpoints is the number of addresses of those services. It is absent before the first list.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	Endpoints *int32 `json:"endpoints,omitempty" protobuf:"varint,5,opt,name=endpoints"`
	// Routes counts the routes that refer to services of the backend. It is absent before they were first counted.
	// +optional
	// +k8s:optional
	Routes *RouteStatus `json:"routes,omitempty" protobuf:"bytes,6,opt,name=routes"`
	// LastSyncTime is when the copies were last in sync with a list of the backend.
	// +optional
	// +k8s:opaqueType
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty" protobuf:"bytes,7,opt,name=lastSyncTime"`
	// DiscovererRef is the Deployment of the discoverer.
	// +optional
	// +k8s:optional
	DiscovererRef *DiscovererReference `json:"discovererRef,omitempty" protobuf:"bytes,8,opt,name=discovererRef"`
	// EndpointsDrained is true in maintenance if copied endpoints of some services are not ready, regardless of their state in the backend:
	// there are routes without weights that could move traffic away.
	// +optional
	EndpointsDrained bool `json:"endpointsDrained,omitempty" protobuf:"varint,9,opt,name=endpointsDrained"`
	// Identity identifies the cluster whose services were copied. A discoverer whose credentials lead to another cluster
	// copies and deletes nothing until the annotation gimbal.heptio.com/confirmed-cluster has an id of that cluster. It is absent
	// before the first connection, and as long as the credentials do not permit to read it.
	// +optional
	// +k8s:optional
	// +listType=atomic
	Identity []ClusterIdentity `json:"identity,omitempty" protobuf:"bytes,10,rep,name=identity"`
	// Ramp is how far the traffic has been moved in steps, if cluster.drainDuration is set. It is absent while the backend gets its
	// whole share.
	// +optional
	// +k8s:optional
	Ramp *RampStatus `json:"ramp,omitempty" protobuf:"bytes,11,opt,name=ramp"`
}

// RampStatus is how far traffic has been moved in steps.
type RampStatus struct {
	// Percent is which part of its share of the traffic the backend gets, in percent.
	// +k8s:optional
	// +k8s:minimum=0
	Percent int32 `json:"percent" protobuf:"varint,1,opt,name=percent"`
	// From is the percentage at the start time.
	// +k8s:optional
	// +k8s:minimum=0
	From int32 `json:"from" protobuf:"varint,2,opt,name=from"`
	// To is the percentage at the end: 0 in maintenance, otherwise 100.
	// +k8s:optional
	// +k8s:minimum=0
	To int32 `json:"to" protobuf:"varint,3,opt,name=to"`
	// StartTime is when the traffic began to move from the one to the other.
	// +optional
	// +k8s:opaqueType
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,4,opt,name=startTime"`
}

// ClusterIdentity is one characteristic by which a backend cluster is recognized.
type ClusterIdentity struct {
	// Object is what has the id: Namespace kube-system or Service default/kubernetes of a Kubernetes cluster, or the project of
	// the credentials in a region of an OpenStack cloud.
	// +k8s:required
	Object string `json:"object" protobuf:"bytes,1,opt,name=object"`
	// ID is the uid of the object. For OpenStack it is the id of the project and the name of the region, separated by a slash.
	// +k8s:required
	ID string `json:"id" protobuf:"bytes,2,opt,name=id"`
}

// DiscoveryError is a current error.
type DiscoveryError struct {
	// StatusTime is when the error was last observed. While it lasts, the time is updated at most once a minute.
	// +optional
	// +k8s:opaqueType
	StatusTime *metav1.Time `json:"statusTime,omitempty" protobuf:"bytes,1,opt,name=statusTime"`
	// Type is the reason as one word, for instance AuthenticationError.
	// +k8s:required
	Type string `json:"type" protobuf:"bytes,2,opt,name=type"`
	// Message describes the error, the affected object and the remedy.
	// +k8s:required
	Message string `json:"message" protobuf:"bytes,3,opt,name=message"`
}

// RouteStatus counts the routes that refer to services of a backend.
type RouteStatus struct {
	// Matching is the number of routes that refer to a service of the backend.
	// +k8s:optional
	// +k8s:minimum=0
	Matching int32 `json:"matching" protobuf:"varint,1,opt,name=matching"`
	// Drained is the number of those that send no traffic to the backend because of maintenance.
	// +k8s:optional
	// +k8s:minimum=0
	Drained int32 `json:"drained" protobuf:"varint,2,opt,name=drained"`
	// WithoutAlternative are the routes without another backend.
	// +optional
	// +k8s:optional
	WithoutAlternative *RouteNames `json:"withoutAlternative,omitempty" protobuf:"bytes,3,opt,name=withoutAlternative"`
	// DrainedTime is when the last of the routes was changed for maintenance. The drain grace period starts then.
	// +optional
	// +k8s:opaqueType
	DrainedTime *metav1.Time `json:"drainedTime,omitempty" protobuf:"bytes,4,opt,name=drainedTime"`
	// Recorded is the number of routes that have a record of the weights that their users specified for the backend. It is absent
	// unless the backend is in maintenance.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	Recorded *int32 `json:"recorded,omitempty" protobuf:"varint,5,opt,name=recorded"`
	// WithoutEndpoints are the routes that send requests to a service of the backend without a ready endpoint, so that these requests
	// fail. While maintenance withholds the endpoints it is absent.
	// +optional
	// +k8s:optional
	WithoutEndpoints *RouteNames `json:"withoutEndpoints,omitempty" protobuf:"bytes,6,opt,name=withoutEndpoints"`
}

// RouteNames names some routes and counts all of them.
type RouteNames struct {
	// Names are the first 20 of the routes, in order, each as Kind namespace/name.
	// +optional
	// +k8s:optional
	// +listType=atomic
	// +k8s:maxItems=20
	Names []string `json:"names,omitempty" protobuf:"bytes,1,rep,name=names"`
	// Count is the number of all of the routes.
	// +k8s:optional
	// +k8s:minimum=0
	Count int32 `json:"count" protobuf:"varint,2,opt,name=count"`
}

// DiscovererReference names the object that runs a discoverer, in the namespace of the DiscoveryBackend.
type DiscovererReference struct {
	// APIVersion is the API version of the object, for instance apps/v1.
	// +k8s:required
	APIVersion string `json:"apiVersion" protobuf:"bytes,1,opt,name=apiVersion"`
	// Kind is the kind of the object, for instance Deployment.
	// +k8s:required
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	// Name is the name of the object.
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,3,opt,name=name"`
	// UID is the uid of the object.
	// +optional
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,4,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
}
