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

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
)

// Network are the calls to Neutron.
type Network struct{ client *Client }

// Network is Neutron as the client may use it.
func (c *Client) Network() Network { return Network{client: c} }

// addressesPerRequest keeps the address of a request within what servers accept.
const addressesPerRequest = 50

// Port is a port of a network.
type Port struct {
	ID, NetworkID string
	// DeviceOwner says what uses the port, as compute:nova, and DeviceID which one.
	DeviceOwner, DeviceID string
	// Addresses are the fixed ones.
	Addresses []netip.Addr
	// SecurityGroupIDs are the security groups that the port is in.
	SecurityGroupIDs []string
}

// port is a Port as Neutron writes it.
type port struct {
	ID          string `json:"id"`
	NetworkID   string `json:"network_id"`
	DeviceOwner string `json:"device_owner"`
	DeviceID    string `json:"device_id"`
	FixedIPs    []struct {
		Address string `json:"ip_address"`
	} `json:"fixed_ips"`
	SecurityGroupIDs []string `json:"security_groups"`
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

// PortsByFixedIP lists the ports on the networks that have one of the addresses. Only ports that the user may see are
// in it: those of its project, and all on its project's networks.
func (n Network) PortsByFixedIP(ctx context.Context, networks []string, addresses []netip.Addr) ([]Port, error) {
	var all []Port
	if len(networks) == 0 {
		return nil, nil
	}
	for some := range slices.Chunk(addresses, addressesPerRequest) {
		query := url.Values{"network_id": networks}
		for _, address := range some {
			query.Add("fixed_ips", "ip_address="+address.String())
		}
		found, err := n.ports(ctx, fmt.Sprintf("list the ports with %d addresses", len(some)), query)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// ports lists ports by a query of Neutron.
func (n Network) ports(ctx context.Context, op string, query url.Values) ([]Port, error) {
	read, err := neutronList[port](ctx, n, op, "ports", query)
	if err != nil {
		return nil, err
	}
	all := make([]Port, len(read))
	for i, p := range read {
		all[i] = Port{ID: p.ID, NetworkID: p.NetworkID, DeviceOwner: p.DeviceOwner, DeviceID: p.DeviceID, SecurityGroupIDs: p.SecurityGroupIDs}
		for _, fixed := range p.FixedIPs {
			address, err := netip.ParseAddr(fixed.Address)
			if err != nil {
				return nil, incomplete(op, "port %s has an address that cannot be read", p.ID)
			}
			all[i].Addresses = append(all[i].Addresses, address.Unmap())
		}
	}
	return all, nil
}

// HasExtension says whether Neutron has an extension, by its alias. The list of them is asked for once an hour.
func (n Network) HasExtension(ctx context.Context, alias string) (bool, error) {
	c := n.client
	c.mu.Lock()
	known := c.extensions
	if c.options.Clock.Since(c.extensionsAt) >= extensionsAge {
		known = nil
	}
	c.mu.Unlock()
	if known == nil {
		read, err := neutronList[struct {
			Alias string `json:"alias"`
		}](ctx, n, "list the extensions of Neutron", "extensions", nil)
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

// neutronList reads a collection of Neutron.
func neutronList[T any](ctx context.Context, n Network, op, collection string, query url.Values) (all []T, err error) {
	err = n.call(ctx, op, func(ctx context.Context, neutron *gophercloud.ServiceClient) error {
		address := neutron.ServiceURL(collection)
		if len(query) > 0 {
			address += "?" + query.Encode()
		}
		all, err = list[T](ctx, neutron, collection, address)
		return err
	})
	return all, err
}

func (n Network) call(ctx context.Context, op string, do func(context.Context, *gophercloud.ServiceClient) error) error {
	return n.client.call(ctx, serviceOf{name: "network", construct: openstack.NewNetworkV2}, op, do)
}
