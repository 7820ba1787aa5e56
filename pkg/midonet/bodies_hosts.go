// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/google/uuid"
)

// Host is a machine that runs MidoNet's agent (models.Host). The agent makes it; Groundskeeper only reads it.
type Host struct {
	// ID is a UUID.
	ID string `json:"id"`
	// Name is the host name of the machine.
	Name string `json:"name"`
	// Alive reports that the agent runs.
	Alive bool `json:"alive"`
}

// HostInterfacePort binds a port to an interface of a host, its parent (models.HostInterfacePort).
type HostInterfacePort struct {
	// HostID is the UUID of the host.
	HostID string `json:"hostId"`
	// PortID is the UUID of the port, and the id of this resource within the host.
	PortID string `json:"portId"`
	// InterfaceName is the interface on the host, at most 15 bytes.
	InterfaceName string `json:"interfaceName"`
}

// MACPort specifies behind which port of a bridge a MAC address is; the bridge is its parent (models.MacPort).
type MACPort struct {
	// MACAddr is six bytes in hexadecimal with colons.
	MACAddr string `json:"macAddr"`
	// PortID is the UUID of a port of the same bridge.
	PortID string `json:"portId"`
}

// IPv4MACPair is a response that a bridge, its parent, gives to ARP (models.Ip4MacPair).
type IPv4MACPair struct {
	// IP is an IPv4 address.
	IP string `json:"ip"`
	// MAC is six bytes in hexadecimal with colons.
	MAC string `json:"mac"`
}

// Key returns the id.
func (b *Host) Key() string { return b.ID }

// Key returns the id of the port.
func (b *HostInterfacePort) Key() string { return b.PortID }

// Key returns the address with dashes and the port's id: 0a-58-0a-01-00-05_<uuid>.
func (b *MACPort) Key() string { return dashed(b.MACAddr) + "_" + b.PortID }

// Key returns the two addresses: 10.1.0.5_0a-58-0a-01-00-05.
func (b *IPv4MACPair) Key() string { return b.IP + "_" + dashed(b.MAC) }

func (b *Host) check() error              { return checkUUID("id", b.ID) }
func (b *HostInterfacePort) check() error { return checkUUID("portId", b.PortID) }

func (b *MACPort) check() error {
	if err := checkMAC("macAddr", b.MACAddr); err != nil {
		return err
	}
	return checkUUID("portId", b.PortID)
}

func (b *IPv4MACPair) check() error {
	if a, err := netip.ParseAddr(b.IP); err != nil || !a.Is4() {
		return fmt.Errorf("ip: %q is not an IPv4 address", b.IP)
	}
	return checkMAC("mac", b.MAC)
}

func dashed(mac string) string { return strings.ReplaceAll(strings.ToLower(mac), ":", "-") }

func checkMAC(field, mac string) error {
	if a, err := net.ParseMAC(mac); err != nil || a.String() != strings.ToLower(mac) || len(a) != 6 {
		return fmt.Errorf("%s: %q is not a MAC address like 0a:58:0a:01:00:05", field, mac)
	}
	return nil
}

// checkUUID wants the canonical spelling, because two spellings of one id would be two resources to Groundskeeper.
func checkUUID(field, id string) error {
	if err := uuid.Validate(id); err != nil || len(id) != 36 || strings.ToLower(id) != id {
		return fmt.Errorf("%s: %q is not a lower-case UUID", field, id)
	}
	return nil
}
