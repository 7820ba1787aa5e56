// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

// TunnelZone is a set of hosts that have tunnels to each other.
// Source of the names: org.midonet.cluster.rest_api.models.TunnelZone.
type TunnelZone struct {
	// ID is a UUID.
	ID string `json:"id"`
	// Name is unique among all zones of a MidoNet, whatever their tenant.
	Name string `json:"name"`
	// Type is the tunnels' protocol: gre, vxlan or vtep.
	Type string `json:"type"`
}

// TunnelZoneHost is a host's place in a tunnel zone, its parent (models.TunnelZoneHost).
type TunnelZoneHost struct {
	// HostID is the UUID of the host, and the id of this resource within the zone.
	HostID string `json:"hostId"`
	// IPAddress is the IPv4 address that the host's tunnels end at.
	IPAddress string `json:"ipAddress"`
}

// Router is a virtual router (models.Router).
type Router struct {
	// ID is a UUID.
	ID string `json:"id"`
	// TenantID is the name of the owner.
	TenantID string `json:"tenantId,omitempty"`
	// Name is for users.
	Name string `json:"name,omitempty"`
	// InboundFilterID is the UUID of the chain that packets pass when they come in; empty: none.
	InboundFilterID string `json:"inboundFilterId,omitempty"`
	// OutboundFilterID is the UUID of the chain that packets pass when they go out; empty: none.
	OutboundFilterID string `json:"outboundFilterId,omitempty"`
}

// Bridge is a virtual switch (models.Bridge).
type Bridge struct {
	// ID is a UUID.
	ID string `json:"id"`
	// TenantID is the name of the owner.
	TenantID string `json:"tenantId,omitempty"`
	// Name is for users.
	Name string `json:"name,omitempty"`
	// InboundFilterID is the UUID of the chain that packets pass when they come in; empty: none.
	InboundFilterID string `json:"inboundFilterId,omitempty"`
	// OutboundFilterID is the UUID of the chain that packets pass when they go out; empty: none.
	OutboundFilterID string `json:"outboundFilterId,omitempty"`
}

// Types of a Port. The type also determines the kind of its parent.
const (
	BridgePort = "Bridge"
	RouterPort = "Router"
)

// Port is a port of a bridge or of a router, its parent (models.Port, BridgePort, RouterPort).
type Port struct {
	// ID is a UUID.
	ID string `json:"id"`
	// Type is Bridge or Router.
	Type string `json:"type"`
	// InboundFilterID is the UUID of the chain that packets pass when they come in; empty: none.
	InboundFilterID string `json:"inboundFilterId,omitempty"`
	// OutboundFilterID is the UUID of the chain that packets pass when they go out; empty: none.
	OutboundFilterID string `json:"outboundFilterId,omitempty"`
	// PortSubnet is the addresses of a router's port, each with the length of its network, for instance 10.1.0.1/24.
	PortSubnet []string `json:"portSubnet,omitempty"`
	// PortMAC is the MAC address of a router's port. An update without it clears it.
	PortMAC string `json:"portMac,omitempty"`
	// HostID is the UUID of the host that the port is bound to. The server fills it in.
	HostID string `json:"hostId,omitempty"`
	// InterfaceName is the interface of the host that the port is bound to. The server fills it in.
	InterfaceName string `json:"interfaceName,omitempty"`
	// PeerID is the UUID of the port at the other end of the link. The server fills it in.
	PeerID string `json:"peerId,omitempty"`
}

// PortLink joins two ports, of which one is its parent (models.Link).
type PortLink struct {
	// PortID is always nil in a request: the path names the port.
	PortID *string `json:"portId"`
	// PeerID is the UUID of the other port.
	PeerID string `json:"peerId"`
}

// Key returns the id.
func (b *TunnelZone) Key() string { return b.ID }

// Key returns the id of the host.
func (b *TunnelZoneHost) Key() string { return b.HostID }

// Key returns the id.
func (b *Router) Key() string { return b.ID }

// Key returns the id.
func (b *Bridge) Key() string { return b.ID }

// Key returns the id.
func (b *Port) Key() string { return b.ID }

// Key is empty: a port has one link.
func (b *PortLink) Key() string { return "" }

func (b *TunnelZone) check() error     { return checkUUID("id", b.ID) }
func (b *TunnelZoneHost) check() error { return checkUUID("hostId", b.HostID) }
func (b *Router) check() error         { return checkUUID("id", b.ID) }
func (b *Bridge) check() error         { return checkUUID("id", b.ID) }
func (b *Port) check() error           { return checkUUID("id", b.ID) }
func (b *PortLink) check() error       { return checkUUID("peerId", b.PeerID) }

// parentKind is read off the type of the port.
func (b *Port) parentKind() string { return b.Type }
