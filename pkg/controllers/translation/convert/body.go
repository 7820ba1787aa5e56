// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"net/netip"

	"github.com/google/uuid"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// hostBits is the length of the prefix of a single IPv4 address.
const hostBits = 32

// anyAddress is the network of length 0.
const anyAddress = "0.0.0.0"

// resource returns a backend resource below a parent, or on its own with uuid.Nil. The order of a body's fields is that
// of midonet-kube-controllers, so that a Translation it wrote needs no change.
func resource(kind string, parent uuid.UUID, body midonet.Body) midonetv1.BackendResource {
	encoded, _ := json.Marshal(body) // the bodies hold strings and numbers: they cannot fail
	made := midonetv1.BackendResource{Kind: kind, Body: string(encoded)}
	if parent != uuid.Nil {
		made.Parent = parent.String()
	}
	return made
}

func (c Config) chain(id uuid.UUID, name string) midonetv1.BackendResource {
	return resource("Chain", uuid.Nil, &midonet.Chain{ID: id.String(), TenantID: c.Tenant, Name: name})
}

// jump returns a rule of one chain that sends every packet through another.
func jump(parent, id, destination uuid.UUID) midonetv1.BackendResource {
	return resource("Rule", parent, &midonet.Rule{ID: id.String(), Type: midonet.JumpRule, JumpChainID: destination.String()})
}

// snat returns a rule of a chain that has packets from one address come from another. The rest of the chain follows.
func snat(parent, id uuid.UUID, source, replacement netip.Addr) midonetv1.BackendResource {
	return resource("Rule", parent, &midonet.Rule{
		ID: id.String(), Type: midonet.SNATRule, DLType: midonet.EtherTypeIPv4,
		NWSrcAddress: source.String(), NWSrcLength: hostBits, FlowAction: midonet.ContinueFlow,
		NATTargets: natTargets(replacement, 30000, 60000),
	})
}

// natTargets returns the ports of one address, first to last.
func natTargets(address netip.Addr, first, last int) []midonet.NATTarget {
	return []midonet.NATTarget{{AddressFrom: address.String(), AddressTo: address.String(), PortFrom: first, PortTo: last}}
}

// macPort returns the entry of a bridge's MAC table for what is behind a port.
func macPort(parent uuid.UUID, address mac, behind uuid.UUID) midonetv1.BackendResource {
	return resource("MACPort", parent, &midonet.MACPort{MACAddr: address.String(), PortID: behind.String()})
}

// arpEntry returns the response of a bridge to who requests an address.
func arpEntry(parent uuid.UUID, ip netip.Addr, address mac) midonetv1.BackendResource {
	return resource("IPv4MACPair", parent, &midonet.IPv4MACPair{IP: ip.String(), MAC: address.String()})
}

// binding returns the binding of a port to an interface of a host.
func binding(host, bound uuid.UUID, name string) midonetv1.BackendResource {
	return resource("HostInterfacePort", host, &midonet.HostInterfacePort{HostID: host.String(), PortID: bound.String(), InterfaceName: name})
}
