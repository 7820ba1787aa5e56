// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KlusterPhase summarizes the state of a Kluster. A deletion is not a phase: check metadata.deletionTimestamp.
// +enum
// +k8s:enum
type KlusterPhase string

// Phases of a Kluster.
const (
	// KlusterPending means that the cluster has not been reached yet.
	KlusterPending KlusterPhase = "Pending"
	// KlusterCreating means that the cluster is being built.
	KlusterCreating KlusterPhase = "Creating"
	// KlusterRunning means that the API server of the cluster responds.
	KlusterRunning KlusterPhase = "Running"
	// KlusterUpgrading means that the version of the cluster is not the desired one.
	KlusterUpgrading KlusterPhase = "Upgrading"
	// KlusterTerminating means that the cluster is being deorbited.
	KlusterTerminating KlusterPhase = "Terminating"
)

// KlusterStatus is the observed state of a Kluster. The first fields are those of Kubernikus.
type KlusterStatus struct {
	// Phase summarizes the state: Pending, Creating, Running, Upgrading or Terminating.
	// +optional
	// +k8s:optional
	Phase KlusterPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase,casttype=KlusterPhase"`
	// MigrationsPending reports that Kubernikus has to migrate the object before any operation on the cluster.
	// +optional
	MigrationsPending bool `json:"migrationsPending,omitempty" protobuf:"varint,2,opt,name=migrationsPending"`
	// NodePools are the counts of nodes in each pool.
	// +optional
	// +k8s:optional
	// +listType=map
	// +listMapKey=name
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:maxItems=256
	NodePools []NodePoolInfo `json:"nodePools,omitempty" protobuf:"bytes,3,rep,name=nodePools"`
	// Apiserver is the URL of the API server of the cluster.
	// +optional
	Apiserver string `json:"apiserver,omitempty" protobuf:"bytes,4,opt,name=apiserver"`
	// ApiserverVersion is the version that the API server of the cluster reports.
	// +optional
	ApiserverVersion string `json:"apiserverVersion,omitempty" protobuf:"bytes,5,opt,name=apiserverVersion"`
	// Dashboard is the URL of the dashboard of the cluster.
	// +optional
	Dashboard string `json:"dashboard,omitempty" protobuf:"bytes,6,opt,name=dashboard"`
	// Wormhole is the URL of the tunnel between the API server and the nodes.
	// +optional
	Wormhole string `json:"wormhole,omitempty" protobuf:"bytes,7,opt,name=wormhole"`
	// ChartName is the name of the Helm chart that the control plane was installed from.
	// +optional
	ChartName string `json:"chartName,omitempty" protobuf:"bytes,8,opt,name=chartName"`
	// ChartVersion is the version of the Helm chart that the control plane was installed from.
	// +optional
	ChartVersion string `json:"chartVersion,omitempty" protobuf:"bytes,9,opt,name=chartVersion"`
	// Version is the version of the provisioner that last worked on the cluster.
	// +optional
	Version string `json:"version,omitempty" protobuf:"bytes,10,opt,name=version"`
	// SpecVersion is the number of the last migration by Kubernikus that the object went through.
	// +optional
	SpecVersion int64 `json:"specVersion,omitempty" protobuf:"varint,11,opt,name=specVersion"`

	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,12,opt,name=observedGeneration"`
	// Conditions are the details of the phase, one of each type: APIServerReachable, OpenStackReachable, RoutesClean, Deorbited,
	// Paused; and their summary, which the API server writes: Ready, Reconciling while the Kluster becomes ready on its own, and
	// Stalled when a user has to act.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,13,rep,name=conditions"`
	// Openstack is the discovered state of OpenStack.
	// +optional
	// +k8s:optional
	Openstack *OpenstackStatus `json:"openstack,omitempty" protobuf:"bytes,14,opt,name=openstack"`
	// Deorbit is the progress of Deorbit.
	// +optional
	// +k8s:optional
	Deorbit *DeorbitStatus `json:"deorbit,omitempty" protobuf:"bytes,15,opt,name=deorbit"`
	// RouteGC lists the orphaned routes that the last check of the router found. It is absent if there are none, or Route GC is
	// not running for the Kluster.
	// +optional
	// +k8s:optional
	RouteGC *RouteGCStatus `json:"routeGC,omitempty" protobuf:"bytes,16,opt,name=routeGC"`
	// Identity identifies the cluster that the Secret leads to. It is absent until the Secret was read for the first time.
	// +optional
	// +k8s:optional
	Identity *KlusterIdentity `json:"identity,omitempty" protobuf:"bytes,17,opt,name=identity"`
}

// KlusterIdentity identifies the cluster that the Secret of a Kluster leads to, by what the cluster reports itself.
type KlusterIdentity struct {
	// ClusterID is the UID of the namespace kube-system of the cluster: Klusters with the same one lead to the same cluster. It is
	// empty while unknown, and becomes empty when the Secret leads to another API server, until that has responded.
	// +optional
	ClusterID string `json:"clusterID,omitempty" protobuf:"bytes,1,opt,name=clusterID"`
	// Server is the address of the API server that the Secret leads to.
	// +optional
	Server string `json:"server,omitempty" protobuf:"bytes,2,opt,name=server"`
	// Connection is a hash of the address, the CA bundle, and the other settings that the API server is found by. No credential is
	// part of it. ClusterID is valid for this connection only.
	// +optional
	Connection string `json:"connection,omitempty" protobuf:"bytes,3,opt,name=connection"`
	// Reason is why ClusterID is empty: Pending before the first check, or a reason of condition APIServerReachable.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
}

// RouteGCStatus lists routes of the cluster that lead to no server.
type RouteGCStatus struct {
	// OrphanCount is the number of orphaned routes.
	// +optional
	OrphanCount int32 `json:"orphanCount,omitempty" protobuf:"varint,1,opt,name=orphanCount"`
	// Orphans are the first 50 orphaned routes.
	// +optional
	// +k8s:optional
	// +listType=atomic
	Orphans []OrphanedRoute `json:"orphans,omitempty" protobuf:"bytes,2,rep,name=orphans"`
}

// OrphanReason is why a route is orphaned.
// +enum
// +k8s:enum
type OrphanReason string

// Reasons of orphaned routes.
const (
	// OrphanNoPort means that no server and no port in Neutron has the address of the next hop.
	OrphanNoPort OrphanReason = "NoPort"
	// OrphanServerDeleted means that the server of the port with the address of the next hop has been deleted.
	OrphanServerDeleted OrphanReason = "ServerDeleted"
)

// OrphanedRoute is a route of the cluster that leads to no server.
type OrphanedRoute struct {
	// Destination is the destination of the route.
	// +k8s:required
	Destination string `json:"destination" protobuf:"bytes,1,opt,name=destination"`
	// NextHop is the address of the next hop of the route.
	// +k8s:required
	NextHop string `json:"nextHop" protobuf:"bytes,2,opt,name=nextHop"`
	// Reason is why the route is orphaned: NoPort or ServerDeleted.
	// +optional
	// +k8s:optional
	Reason OrphanReason `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason,casttype=OrphanReason"`
	// Since is when the controller first observed that the route is orphaned.
	// +optional
	// +k8s:opaqueType
	Since *metav1.Time `json:"since,omitempty" protobuf:"bytes,4,opt,name=since"`
	// RemovalDue is when the route is removed if it is still orphaned. It is absent with dryRun.
	// +optional
	// +k8s:opaqueType
	RemovalDue *metav1.Time `json:"removalDue,omitempty" protobuf:"bytes,5,opt,name=removalDue"`
}

// NodePoolInfo counts the nodes of a pool.
type NodePoolInfo struct {
	// Name of the pool.
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// NodeCount is the desired number of nodes.
	// +optional
	NodeCount int32 `json:"size" protobuf:"varint,2,opt,name=size"`
	// Running is the number of nodes whose server is running.
	// +optional
	Running int32 `json:"running" protobuf:"varint,3,opt,name=running"`
	// Healthy is the number of nodes that are ready.
	// +optional
	Healthy int32 `json:"healthy" protobuf:"varint,4,opt,name=healthy"`
	// Schedulable is the number of nodes that accept new pods.
	// +optional
	Schedulable int32 `json:"schedulable" protobuf:"varint,5,opt,name=schedulable"`
}

// OpenstackStatus is the discovered state of OpenStack: ids that the spec does not set, and the project of the credentials.
type OpenstackStatus struct {
	// ProjectID is the id of the OpenStack project that the credentials belong to.
	// +optional
	ProjectID string `json:"projectID,omitempty" protobuf:"bytes,1,opt,name=projectID"`
	// Region is the OpenStack region of all services.
	// +optional
	Region string `json:"region,omitempty" protobuf:"bytes,2,opt,name=region"`
	// RouterID is the UUID of the router that has the routes of the pods.
	// +optional
	RouterID string `json:"routerID,omitempty" protobuf:"bytes,3,opt,name=routerID"`
	// NetworkID is the UUID of the network of the nodes.
	// +optional
	NetworkID string `json:"networkID,omitempty" protobuf:"bytes,4,opt,name=networkID"`
	// LBSubnetID is the UUID of the subnet of the load balancers.
	// +optional
	LBSubnetID string `json:"lbSubnetID,omitempty" protobuf:"bytes,5,opt,name=lbSubnetID"`
	// LBFloatingNetworkID is the UUID of the network that floating IPs of load balancers are taken from.
	// +optional
	LBFloatingNetworkID string `json:"lbFloatingNetworkID,omitempty" protobuf:"bytes,6,opt,name=lbFloatingNetworkID"`
	// AuthHost is the host and port of Keystone. With the region and the project it identifies the cloud of the cluster: when the
	// Secret points to another cloud, nothing is deleted until the annotation groundskeeper.io/accept-cloud allows it.
	// +optional
	AuthHost string `json:"authHost,omitempty" protobuf:"bytes,7,opt,name=authHost"`
}
