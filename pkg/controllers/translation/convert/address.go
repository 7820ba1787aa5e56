// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/hex"
	"net"
	"net/netip"

	"github.com/google/uuid"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// parseIPv4 reads an IPv4 address. The problem names the field it is from.
func parseIPv4(field, text string) (netip.Addr, *Problem) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, problem(ReasonInvalidAddress, "%s is %.80q: set an IPv4 address", field, text)
	}
	if address = address.Unmap(); !address.Is4() {
		return netip.Addr{}, problem(ReasonIPv6NotSupported, "%s is %.80q: MidoNet takes IPv4 addresses only", field, text)
	}
	return address, nil
}

// parseAddress reads an address of either family. The problem names the field it is from.
func parseAddress(field, text string) (netip.Addr, *Problem) {
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, problem(ReasonInvalidAddress, "%s is %.80q: set an IP address", field, text)
	}
	return address.Unmap(), nil
}

// firstIPv4 reads the one address that an object with several of them is known by: of two families, the one that the
// backend has. The first text is the field of old, which the others repeat.
func firstIPv4(field, text string, others []string) (netip.Addr, *Problem) {
	address, failed := parseIPv4(field, text)
	if failed == nil {
		return address, nil
	}
	for _, other := range others {
		if address, problem := parseIPv4(field, other); problem == nil {
			return address, nil
		}
	}
	return netip.Addr{}, failed
}

// mac is a MAC address of 48 bits.
type mac [6]byte

// macOf reads the annotation with an object's MAC address. It is absent when neither an address nor a problem is
// returned.
func macOf(annotations map[string]string) (*mac, *Problem) {
	text, found := annotations[midonetv1.AnnotationMACAddress]
	if !found {
		return nil, nil
	}
	address, err := net.ParseMAC(text)
	if err != nil || len(address) != len(mac{}) {
		return nil, problem(ReasonInvalidAddress, "annotation %s is %.80q: set a MAC address such as 0a:58:0a:01:00:05",
			midonetv1.AnnotationMACAddress, text)
	}
	return new(mac(address)), nil
}

func (m mac) String() string { return net.HardwareAddr(m[:]).String() }

// key returns the address as part of a name, where colons cannot be.
func (m mac) key() string { return hex.EncodeToString(m[:]) }

// parseID reads a UUID in any of its spellings; ids are written in lower case, with dashes.
func parseID(text string) (uuid.UUID, bool) {
	if uuid.Validate(text) != nil { // stricter than Parse about what stands around the digits
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil && id != uuid.Nil
}

// subnet is the range of addresses of a Node's Pods.
type subnet struct {
	netip.Prefix
	// gateway is the address of the cluster router in it, node that of the Node: the first and the second after the address of the
	// range as written.
	gateway, node netip.Addr
}

// parseSubnet reads a range of IPv4 addresses that has room for the two.
func parseSubnet(text string) (subnet, bool) {
	read, ok := parseAnySubnet(text)
	return read, ok && read.Addr().Is4()
}

// parseAnySubnet reads a range of addresses of either family that has room for the two.
func parseAnySubnet(text string) (subnet, bool) {
	written, err := netip.ParsePrefix(text)
	if err != nil || written.Addr().Is4In6() {
		return subnet{}, false
	}
	gateway := written.Addr().Next()
	read := subnet{Prefix: written.Masked(), gateway: gateway, node: gateway.Next()}
	return read, read.Contains(read.gateway) && read.Contains(read.node)
}
