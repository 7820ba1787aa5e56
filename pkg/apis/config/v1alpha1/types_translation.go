// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TranslationConfiguration configures the controllers of Translations.
type TranslationConfiguration struct {
	// Tenant owns the backend resources. It is part of their ids, so that another tenant is another network.
	Tenant string `json:"tenant"`
	// TunnelZoneName is the name of the default tunnel zone. It is unique in one MidoNet.
	TunnelZoneName string `json:"tunnelZoneName"`
	// ServiceTypes are the types of Services whose cluster IP is translated: ClusterIP, NodePort, LoadBalancer.
	ServiceTypes []corev1.ServiceType `json:"serviceTypes"`
	// NodeGracePeriod is how long the resources of a Node stay that lost its host-id.
	NodeGracePeriod *metav1.Duration `json:"nodeGracePeriod"`
	// Push configures how Translations are written to the backend.
	Push PushConfiguration `json:"push"`
	// Backend is midonet or ovn. Empty: the one that is configured. The controllers of Translations do not run if none is.
	Backend TranslationBackend `json:"backend"`
	// MidoNet is a backend. It is configured if it has a URL.
	MidoNet MidoNetConfiguration `json:"midonet"`
	// OVN is a backend. It is configured if it has endpoints.
	OVN OVNConfiguration `json:"ovn"`
}

// TranslationBackend is a network that Translations are written to.
type TranslationBackend string

// The backends.
const (
	// BackendMidoNet is MidoNet.
	BackendMidoNet TranslationBackend = "midonet"
	// BackendOVN is OVN.
	BackendOVN TranslationBackend = "ovn"
)

// Configured returns the backend that is configured, empty if none is.
func (c *TranslationConfiguration) Configured() TranslationBackend {
	switch {
	case c.MidoNet.URL != "":
		return BackendMidoNet
	case len(c.OVN.Endpoints) > 0:
		return BackendOVN
	default:
		return ""
	}
}

// PushMode is what the pusher does about differences.
type PushMode string

// The modes, from most to least.
const (
	// PushModeRepair pushes Translations and reverts what other clients changed in the backend.
	PushModeRepair PushMode = "repair"
	// PushModeObserve pushes Translations and reports what other clients changed.
	PushModeObserve PushMode = "observe"
	// PushModePlan writes nothing to the backend and reports what it would.
	PushModePlan PushMode = "plan"
)

// OrphanPolicy is what happens to backend resources of the tenant that no Translation lists.
type OrphanPolicy string

// The policies.
const (
	// OrphanPolicyReport counts them and logs them.
	OrphanPolicyReport OrphanPolicy = "report"
	// OrphanPolicyDelete deletes them.
	OrphanPolicyDelete OrphanPolicy = "delete"
)

// PushConfiguration configures how Translations are written to the backend.
type PushConfiguration struct {
	// Mode is repair, observe (report what others changed) or plan (write nothing at all).
	Mode PushMode `json:"mode"`
	// Concurrency is how many Translations are pushed at the same time.
	Concurrency *int32 `json:"concurrency"`
	// DriftInterval is the pause between two comparisons of the whole backend with the Translations. It is twice as long
	// while Translations that were there at the start are still being pushed.
	DriftInterval *metav1.Duration `json:"driftInterval"`
	// Orphans is what happens to resources of the tenant that no Translation lists: report or delete.
	Orphans OrphanPolicy `json:"orphans"`
}

// MidoNetConfiguration configures the client of MidoNet's API.
type MidoNetConfiguration struct {
	// URL is the root of the API and ends in /midonet-api. Empty: MidoNet is not the backend.
	URL string `json:"url"`
	// Username is the user to log in as. Empty: no login.
	Username string `json:"username"`
	// PasswordFile holds the password. It is read again when it changes.
	PasswordFile string `json:"passwordFile"`
	// Project is the project to log in to. Empty: the server's default.
	Project string `json:"project"`
	// Timeout ends a write. It is shorter than what a Lease lasts on after the leader gave up renewing it
	// (leaseDuration less renewDeadline), so that no write of a former leader lands late.
	Timeout *metav1.Duration `json:"timeout"`
}

// OVNConfiguration configures the client of OVN's Northbound database.
type OVNConfiguration struct {
	// Endpoints are those of the database: tcp:HOST:PORT, ssl:HOST:PORT or unix:PATH, one, or one for each member of a cluster.
	// Empty: OVN is not the backend.
	Endpoints []string `json:"endpoints"`
	// SouthboundEndpoints are those of the Southbound database, in the same form. It is only read: Nodes are annotated with the names of
	// their chassis. Empty: a Node's chassis has the name of the Node, its hostname, or is annotated by others.
	SouthboundEndpoints []string `json:"southboundEndpoints"`
	// CAFile holds the certificates of the CA that signs those of the servers. Endpoints with ssl require it.
	CAFile string `json:"caFile"`
	// CertFile holds the client's certificate. The files are read again for each connection.
	CertFile string `json:"certFile"`
	// KeyFile holds the key of the client's certificate.
	KeyFile string `json:"keyFile"`
	// VerifyHost requires that a server's certificate has the name of its endpoint. Certificates of ovs-pki do not have it.
	VerifyHost *bool `json:"verifyHost"`
	// PodMACAddresses lets the annotation midonet.org/mac-address of a Pod set the MAC address of its port. Users who can annotate Pods can
	// then take the packets of another Pod on the same Node that has the annotation, too.
	PodMACAddresses bool `json:"podMACAddresses"`
	// NodeAddressTypes are the types of the addresses in the status of a Node that are routed to it and that may always connect to its Pods:
	// InternalIP, ExternalIP. A kubelet writes them.
	NodeAddressTypes []corev1.NodeAddressType `json:"nodeAddressTypes"`
	// AffinityByHash has a hash of a client's IPv4 address choose its endpoint of a Service with sessionAffinity, from its first connection
	// on and at node ports, too. Endpoints that are added or removed move clients that OVN does not remember.
	AffinityByHash bool `json:"affinityByHash"`
	// TenantInNames has the names of ports begin with the tenant, so that two clusters in one database may have Nodes, and Pods in
	// namespaces, of the same names. For new installations only: interfaces are connected by these names.
	TenantInNames bool `json:"tenantInNames"`
	// Timeout ends a request. It is shorter than what a Lease lasts on after the leader gave up renewing it.
	Timeout *metav1.Duration `json:"timeout"`
}
