// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// addressesPerRequest, of addresses or of ids, keeps the address of a request within what servers accept.
const addressesPerRequest = 50

// Port is a port of a network.
type Port struct {
	ID        string `json:"id"`
	NetworkID string `json:"network_id"`
	// ProjectID is the owner.
	ProjectID string `json:"project_id"`
	// Revision is the number of the version of the port; nil: this Neutron has none.
	Revision *int `json:"revision_number"`
	// Tags are texts that clients added, as the cloud controller manager adds the id of a security group.
	Tags []string `json:"tags"`
	// DeviceOwner is the kind of user of the port, such as compute:nova, and DeviceID its ID.
	DeviceOwner string `json:"device_owner"`
	DeviceID    string `json:"device_id"`
	// Addresses are the fixed ones.
	Addresses []netip.Addr `json:"-"`
	// AddressPairs are the other addresses that the port may use: a virtual address, or a whole range.
	AddressPairs []netip.Prefix `json:"-"`
	// SecurityGroupIDs are the security groups that the port is in.
	SecurityGroupIDs []string `json:"security_groups"`
}

// port is a Port as Neutron writes it.
type port struct {
	Port
	FixedIPs []struct {
		Address string `json:"ip_address"`
	} `json:"fixed_ips"`
	AddressPairs []struct {
		Address string `json:"ip_address"`
	} `json:"allowed_address_pairs"`
}

// RouterNetworks lists the ids of the networks that a router has a port on, its gateway's included.
func (n Network) RouterNetworks(ctx context.Context, routerID string) ([]string, error) {
	found, err := n.ports(ctx, "list the ports of router "+routerID, url.Values{"device_id": {routerID}})
	var networks []string
	for _, p := range found {
		if strings.HasPrefix(p.DeviceOwner, "network:") {
			networks = append(networks, p.NetworkID)
		}
	}
	slices.Sort(networks)
	return slices.Compact(networks), err
}

// HiddenRanges lists the address ranges of those networks that are of other projects: on them, Neutron shows only ports of the own
// project, so that an address without a port may be used.
func (n Network) HiddenRanges(ctx context.Context, networks []string) ([]netip.Prefix, error) {
	const op = "find the networks of other projects"
	if len(networks) == 0 {
		return nil, nil
	}
	visible, err := read[struct {
		ID        string `json:"id"`
		ProjectID string `json:"project_id"`
	}](ctx, n.api, op, "networks", url.Values{"id": networks}, "networks")
	if err != nil {
		return nil, err
	}
	foreign := slices.Clone(networks)
	for _, network := range visible {
		if network.ProjectID == n.client.project {
			foreign = slices.DeleteFunc(foreign, func(id string) bool { return id == network.ID })
		}
	}
	if len(foreign) == 0 {
		return nil, nil
	}
	subnets, err := n.subnets(ctx, op, foreign)
	if err != nil {
		return nil, err
	}
	var ranges []netip.Prefix
	for _, id := range foreign {
		if len(subnets[id]) == 0 {
			return nil, incomplete(op, "the subnets of network %s, which is of another project, cannot be seen", id)
		}
		ranges = append(ranges, subnets[id]...)
	}
	return ranges, nil
}

// subnets reads the address ranges of networks, by their ids.
func (n Network) subnets(ctx context.Context, op string, networks []string) (map[string][]netip.Prefix, error) {
	found, err := read[struct {
		NetworkID string `json:"network_id"`
		CIDR      string `json:"cidr"`
	}](ctx, n.api, op, "subnets", url.Values{"network_id": networks}, "subnets")
	if err != nil {
		return nil, err
	}
	ranges := map[string][]netip.Prefix{}
	for _, s := range found {
		cidr, err := netip.ParsePrefix(s.CIDR)
		if err != nil {
			return nil, incomplete(op, "a subnet has an address range that cannot be read")
		}
		ranges[s.NetworkID] = append(ranges[s.NetworkID], cidr)
	}
	return ranges, nil
}

// PortsOn lists all ports on networks. Only ports that the user may see are in it: those of its project, and all on its
// project's networks. Neutron has no filter for allowed address pairs, so that all ports are read.
func (n Network) PortsOn(ctx context.Context, networks []string) ([]Port, error) {
	if len(networks) == 0 {
		return nil, nil
	}
	return n.ports(ctx, "list the ports on the networks of the router", url.Values{"network_id": networks})
}

// PortsByID lists those of some ports that the user may see.
func (n Network) PortsByID(ctx context.Context, ids []string) ([]Port, error) {
	var all []Port
	for some := range slices.Chunk(ids, addressesPerRequest) {
		found, err := n.ports(ctx, fmt.Sprintf("list %d ports", len(some)), url.Values{"id": some})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Trunk is a trunk, whose subports lead to the server of its parent port.
type Trunk struct {
	ID string `json:"id"`
	// PortID is the parent port.
	PortID string `json:"port_id"`
	// Subports are authoritative: the port of a subport has the trunk as its device only in some releases of Neutron, and its
	// device owner identifies it as a subport only when an agent has bound it.
	Subports []Subport `json:"sub_ports"`
}

// Subport is a port that is reached through the parent port of a trunk.
type Subport struct {
	PortID string `json:"port_id"`
}

// Trunks lists the trunks of the project; none, where Neutron has no trunks.
func (n Network) Trunks(ctx context.Context) ([]Trunk, error) {
	has, err := n.HasExtension(ctx, "trunk")
	if err != nil || !has {
		return nil, err
	}
	return read[Trunk](ctx, n.api, "list trunks", "trunks", n.inProject(), "trunks")
}

// ports lists ports by a query of Neutron.
func (n Network) ports(ctx context.Context, op string, query url.Values) ([]Port, error) {
	return objects(ctx, n.api, op, "ports", query, port.convert, "ports")
}

// convert returns the port that Neutron wrote.
func (p port) convert() (Port, error) {
	for _, fixed := range p.FixedIPs {
		address, err := netip.ParseAddr(fixed.Address)
		if err != nil {
			return Port{}, fmt.Errorf("port %s has an address that cannot be read", p.ID)
		}
		p.Addresses = append(p.Addresses, address.Unmap())
	}
	for _, pair := range p.AddressPairs {
		prefix, err := prefixOf(pair.Address)
		if err != nil {
			return Port{}, fmt.Errorf("port %s has an allowed address pair that cannot be read", p.ID)
		}
		p.Port.AddressPairs = append(p.Port.AddressPairs, prefix)
	}
	return p.Port, nil
}

// prefixOf reads an address, or a range of them.
func prefixOf(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// HasExtension reports whether Neutron has an extension, by its alias. The list of them is requested once an hour.
func (n Network) HasExtension(ctx context.Context, alias string) (bool, error) {
	c := n.client
	c.mu.Lock()
	known := c.extensions
	if c.options.Clock.Since(c.extensionsAt) >= extensionsAge {
		known = nil
	}
	c.mu.Unlock()
	if known == nil {
		read, err := read[struct {
			Alias string `json:"alias"`
		}](ctx, n.api, "list the extensions of Neutron", "extensions", nil, "extensions")
		if err != nil {
			return false, err
		}
		known = make(map[string]bool, len(read))
		for _, extension := range read {
			known[extension.Alias] = true
		}
		c.mu.Lock()
		c.extensions, c.extensionsAt = known, c.options.Clock.Now()
		c.mu.Unlock()
	}
	return known[alias], nil
}
