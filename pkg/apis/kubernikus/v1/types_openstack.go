// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

// OpenstackSpec names the OpenStack resources that a cluster uses. An id that is not set is discovered if the project has
// exactly one such resource, and then written to status.openstack. An id that is set is immutable.
type OpenstackSpec struct {
	// RouterID is the UUID of the router that has the routes of the pods.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-uuid
	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	RouterID string `json:"routerID,omitempty" protobuf:"bytes,1,opt,name=routerID"`
	// NetworkID is the UUID of the network of the nodes.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-uuid
	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	NetworkID string `json:"networkID,omitempty" protobuf:"bytes,2,opt,name=networkID"`
	// LBSubnetID is the UUID of the subnet of the load balancers.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-uuid
	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	LBSubnetID string `json:"lbSubnetID,omitempty" protobuf:"bytes,3,opt,name=lbSubnetID"`
	// LBFloatingNetworkID is the UUID of the network from which floating IPs of load balancers are allocated.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-uuid
	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	LBFloatingNetworkID string `json:"lbFloatingNetworkID,omitempty" protobuf:"bytes,4,opt,name=lbFloatingNetworkID"`
	// SecurityGroupName is the security group of the nodes. Defaults to "default".
	// +optional
	SecurityGroupName string `json:"securityGroupName,omitempty" protobuf:"bytes,5,opt,name=securityGroupName"`
	// AbsentServices are the services that the cloud does not have: block-storage, load-balancer. A service that is neither in the
	// catalog nor here cannot be checked, so that the resources of the cluster there are leftovers.
	// +optional
	// +k8s:optional
	// +listType=set
	// +k8s:listType=set
	// +k8s:maxItems=2
	AbsentServices []CloudService `json:"absentServices,omitempty" protobuf:"bytes,6,rep,name=absentServices,casttype=CloudService"`
}

// CloudService is a service of OpenStack that not every cloud has, by its type in the catalog.
// +enum
// +k8s:enum
type CloudService string

// Services that a cloud may lack.
const (
	// ServiceBlockStorage is Cinder.
	ServiceBlockStorage CloudService = "block-storage"
	// ServiceLoadBalancer is Octavia.
	ServiceLoadBalancer CloudService = "load-balancer"
)

// OIDC is an OpenID Connect issuer whose tokens are accepted. Both fields are set, or none.
type OIDC struct {
	// IssuerURL is the https URL of the issuer.
	// +optional
	IssuerURL string `json:"issuerURL,omitempty" protobuf:"bytes,1,opt,name=issuerURL"`
	// ClientID is the audience that the tokens must have.
	// +optional
	ClientID string `json:"clientID,omitempty" protobuf:"bytes,2,opt,name=clientID"`
}

// NodePool is a group of equal nodes.
type NodePool struct {
	// Name of the pool, unique in the cluster: lower case letters, digits, dashes and dots, at most 20 characters.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// NodeCount is the number of nodes, 0 to 127. Defaults to 0.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	// +k8s:maximum=127
	NodeCount int32 `json:"size" protobuf:"varint,2,opt,name=size"`
	// Flavor is the OpenStack flavor of the nodes. It cannot be changed.
	// +k8s:required
	// +k8s:update=NoModify
	Flavor string `json:"flavor" protobuf:"bytes,3,opt,name=flavor"`
	// Image is the image of the nodes. Defaults to flatcar-stable-amd64. It cannot be changed.
	// +optional
	// +k8s:optional
	// +k8s:update=NoModify
	Image string `json:"image,omitempty" protobuf:"bytes,4,opt,name=image"`
	// AvailabilityZone is where the nodes run. It cannot be changed.
	// +k8s:required
	// +k8s:update=NoModify
	AvailabilityZone string `json:"availabilityZone" protobuf:"bytes,5,opt,name=availabilityZone"`
	// CustomRootDiskSize is the size of the root disk in GiB, 64 to 1024, when the flavor's own is not used.
	// +optional
	// +k8s:optional
	// +k8s:minimum=64
	// +k8s:maximum=1024
	CustomRootDiskSize int32 `json:"customRootDiskSize,omitempty" protobuf:"varint,6,opt,name=customRootDiskSize"`
	// Taints are set on a node when it registers, each written as key=value:effect.
	// +optional
	// +listType=atomic
	Taints []string `json:"taints,omitempty" protobuf:"bytes,7,rep,name=taints"`
	// Labels are set on a node when it registers, each written as key=value.
	// +optional
	// +listType=atomic
	Labels []string `json:"labels,omitempty" protobuf:"bytes,8,rep,name=labels"`
	// Config specifies which operations on the nodes are allowed without confirmation.
	// +optional
	Config NodePoolConfig `json:"config,omitempty" protobuf:"bytes,9,opt,name=config"`
}

// NodePoolConfig specifies which operations on the nodes of a pool are allowed without confirmation.
type NodePoolConfig struct {
	// AllowReboot allows to drain and reboot nodes, for updates of the operating system. Defaults to true.
	// +optional
	AllowReboot *bool `json:"allowReboot,omitempty" protobuf:"varint,1,opt,name=allowReboot"`
	// AllowReplace allows to drain and replace nodes, for upgrades of Kubernetes. Defaults to true.
	// +optional
	AllowReplace *bool `json:"allowReplace,omitempty" protobuf:"varint,2,opt,name=allowReplace"`
}
