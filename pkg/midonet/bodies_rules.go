// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

// Types of a Route.
const (
	// NormalRoute forwards to a port.
	NormalRoute = "Normal"
	// LocalRoute ends at the router. The server makes one for each port of a router; it is deleted with the port.
	LocalRoute = "Local"
)

// Route is an entry of a router's table; the router is its parent (models.Route). It is IPv4 only.
type Route struct {
	// ID is a UUID.
	ID string `json:"id"`
	// DstNetworkAddr is the IPv4 address of the network to reach.
	DstNetworkAddr string `json:"dstNetworkAddr"`
	// DstNetworkLength is the length of that network's prefix in bits, 0 to 32.
	DstNetworkLength int `json:"dstNetworkLength"`
	// NextHopGateway is the IPv4 address to forward to; empty: the destination itself.
	NextHopGateway string `json:"nextHopGateway,omitempty"`
	// NextHopPort is the UUID of a port of the same router.
	NextHopPort string `json:"nextHopPort,omitempty"`
	// SrcNetworkAddr is the IPv4 address of the network that packets come from; 0.0.0.0 with length 0 is any.
	SrcNetworkAddr string `json:"srcNetworkAddr"`
	// SrcNetworkLength is the length of that network's prefix in bits, 0 to 32.
	SrcNetworkLength int `json:"srcNetworkLength"`
	// Type is Normal, Local, Reject or BlackHole.
	Type string `json:"type"`
	// Weight orders routes to the same network, the least first.
	Weight int `json:"weight,omitempty"`
}

// Chain is a list of rules (models.Chain).
type Chain struct {
	// ID is a UUID.
	ID string `json:"id"`
	// TenantID is the name of the owner.
	TenantID string `json:"tenantId,omitempty"`
	// Name is for users.
	Name string `json:"name,omitempty"`
}

// Types of a Rule that Groundskeeper uses.
const (
	JumpRule        = "jump"
	DNATRule        = "dnat"
	SNATRule        = "snat"
	ReverseDNATRule = "rev_dnat"
	ReverseSNATRule = "rev_snat"
)

// Flow actions: what happens after a rule has changed a packet.
const (
	AcceptFlow   = "accept"
	ContinueFlow = "continue"
)

// EtherTypeIPv4 is the dlType of IPv4 packets, 0x0800.
const EtherTypeIPv4 = 2048

// Rule is a condition and what to do with packets that meet it; its chain is its parent (models.Rule, Condition,
// NatRule, JumpRule). A condition that is absent is met by all packets.
type Rule struct {
	// ID is a UUID.
	ID string `json:"id"`
	// Type is the action of the rule: jump, dnat, snat, rev_dnat, rev_snat, accept, drop, reject or return.
	Type string `json:"type"`
	// DLType is the EtherType of the packet, 1536 to 65535.
	DLType int `json:"dlType,omitempty"`
	// NWSrcAddress is the IPv4 address of the network that the packet comes from.
	NWSrcAddress string `json:"nwSrcAddress,omitempty"`
	// NWSrcLength is the length of that network's prefix in bits.
	NWSrcLength int `json:"nwSrcLength,omitempty"`
	// NWDstAddress is the IPv4 address of the network that the packet is sent to.
	NWDstAddress string `json:"nwDstAddress,omitempty"`
	// NWDstLength is the length of that network's prefix in bits.
	NWDstLength int `json:"nwDstLength,omitempty"`
	// NWProto is the number of the protocol over IP: 6 is TCP, 17 is UDP.
	NWProto int `json:"nwProto,omitempty"`
	// TPDst is the range of ports that the packet is sent to.
	TPDst *PortRange `json:"tpDst,omitempty"`
	// JumpChainID is the UUID of the chain that a rule of type jump leads to.
	JumpChainID string `json:"jumpChainId,omitempty"`
	// FlowAction is what follows a NAT rule: accept, continue or return.
	FlowAction string `json:"flowAction,omitempty"`
	// NATTargets are the addresses and ports that a rule of type dnat or snat chooses from.
	NATTargets []NATTarget `json:"natTargets,omitempty"`
	// Position is the rule's place in the chain, 1 is the head. Without it the rule is sent to the head; beyond the end plus one it
	// is rejected.
	Position int `json:"position,omitempty"`
}

// PortRange is a range of TCP or UDP ports, both ends included.
type PortRange struct {
	// Start is the first port, 1 to 65535.
	Start int `json:"start"`
	// End is the last port, not below Start.
	End int `json:"end"`
}

// NATTarget is a range of addresses and ports, both ends included.
type NATTarget struct {
	// AddressFrom is the first IPv4 address.
	AddressFrom string `json:"addressFrom"`
	// AddressTo is the last IPv4 address.
	AddressTo string `json:"addressTo"`
	// PortFrom is the first port.
	PortFrom int `json:"portFrom"`
	// PortTo is the last port.
	PortTo int `json:"portTo"`
}

// Key returns the id.
func (b *Route) Key() string { return b.ID }

// Key returns the id.
func (b *Chain) Key() string { return b.ID }

// Key returns the id.
func (b *Rule) Key() string { return b.ID }

func (b *Route) check() error { return checkUUID("id", b.ID) }
func (b *Chain) check() error { return checkUUID("id", b.ID) }
func (b *Rule) check() error  { return checkUUID("id", b.ID) }
