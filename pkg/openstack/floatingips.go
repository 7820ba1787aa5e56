// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
)

// FloatingIP is a floating address.
type FloatingIP struct {
	ID          string     `json:"id"`
	ProjectID   string     `json:"project_id"`
	Description string     `json:"description"`
	Address     netip.Addr `json:"-"`
	// PortID is the port that it leads to; "": nowhere.
	PortID string `json:"port_id"`
}

// floatingIP is a FloatingIP as Neutron writes it.
type floatingIP struct {
	FloatingIP
	Address string `json:"floating_ip_address"`
}

// FloatingIPs lists those of the addresses that are floating ones that the user may see: of its project, for an
// administrator of all.
func (n Network) FloatingIPs(ctx context.Context, addresses []netip.Addr) ([]FloatingIP, error) {
	var all []FloatingIP
	for some := range slices.Chunk(addresses, addressesPerRequest) {
		query := url.Values{}
		for _, address := range some {
			query.Add("floating_ip_address", address.String())
		}
		found, err := n.floatingIPs(ctx, fmt.Sprintf("list the floating IPs among %d addresses", len(some)), query)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// ProjectFloatingIPs lists all floating IPs of the project. The list is whole, or there is an error.
func (n Network) ProjectFloatingIPs(ctx context.Context) ([]FloatingIP, error) {
	all, err := n.floatingIPs(ctx, "list the floating IPs of the project", n.inProject())
	return slices.DeleteFunc(all, func(f FloatingIP) bool { return f.ProjectID != n.client.project }), err
}

// DeleteFloatingIP gives a floating address back, though a port uses it. One that has already been deleted is fine.
func (n Network) DeleteFloatingIP(ctx context.Context, id string) error {
	return n.remove(ctx, "delete floating IP "+id, "", id, "floatingips")
}

// floatingIPs lists floating IPs by a query of Neutron.
func (n Network) floatingIPs(ctx context.Context, op string, query url.Values) ([]FloatingIP, error) {
	return objects(ctx, n.api, op, "floatingips", query, func(f floatingIP) (FloatingIP, error) {
		address, err := netip.ParseAddr(f.Address)
		if err != nil || f.ID == "" {
			return FloatingIP{}, fmt.Errorf("floating IP %q has no address that can be read", f.ID)
		}
		f.FloatingIP.Address = address.Unmap()
		return f.FloatingIP, nil
	}, "floatingips")
}
