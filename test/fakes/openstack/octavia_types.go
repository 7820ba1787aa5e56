// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

// Provisioning statuses of Octavia.
const (
	active        = "ACTIVE"
	pendingCreate = "PENDING_CREATE"
	pendingUpdate = "PENDING_UPDATE"
	pendingDelete = "PENDING_DELETE"
	failed        = "ERROR"
)

// LoadBalancer is a load balancer of Octavia.
type LoadBalancer struct {
	ID, Name, Description string
	// ProvisioningStatus is ACTIVE and OperatingStatus ONLINE unless they specify otherwise.
	ProvisioningStatus, OperatingStatus string
	// VIP is its address. Without a VIPPortID a port with it is made, on the network of VIPSubnetID if there is one.
	VIP, VIPPortID, VIPSubnetID, VIPNetworkID string
	AdminDown                                 bool
	Tags                                      []string
	// Provider is amphora unless it specifies otherwise. The port of a load balancer of ovn has neither a device nor an owner.
	Provider string
}

// Listener is a port that a load balancer listens on.
type Listener struct {
	ID, Name, Description, Protocol     string
	ProvisioningStatus, OperatingStatus string
	Port                                int
	DefaultPoolID                       string
	AdminDown                           bool
	Tags                                []string
}

// Pool is a set of members.
type Pool struct {
	ID, Name, Description, Protocol, Algorithm string
	ProvisioningStatus, OperatingStatus        string
	AdminDown                                  bool
	Tags                                       []string
}

// Member is an address that a pool sends traffic to. Its OperatingStatus is NO_MONITOR unless it specifies otherwise.
type Member struct {
	ID, Name, Address, SubnetID         string
	ProvisioningStatus, OperatingStatus string
	Port, Weight                        int
	AdminDown, Backup                   bool
	Tags                                []string
}

type loadBalancer struct {
	LoadBalancer
	project string
	// owned reports that the port is Octavia's and is deleted with the load balancer.
	owned bool
}

type listener struct {
	Listener
	project, balancer string
}

type pool struct {
	Pool
	project, balancer string
}

type member struct {
	Member
	project, pool string
}

func (b *loadBalancer) id() string { return b.ID }
func (l *listener) id() string     { return l.ID }
func (p *pool) id() string         { return p.ID }
func (m *member) id() string       { return m.ID }
