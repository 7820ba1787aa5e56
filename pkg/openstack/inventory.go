// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/url"
	"slices"
)

// RouterIDs lists the ids of the project's routers.
func (n Network) RouterIDs(ctx context.Context) ([]string, error) {
	found, err := read[struct {
		ID string `json:"id"`
	}](ctx, n.api, "list the routers of the project", "routers", n.inProject(), "routers")
	var ids []string
	for _, r := range found {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids, err
}

// NetworkIDs lists the ids of the project's networks, except for those that lead to the outside.
func (n Network) NetworkIDs(ctx context.Context) ([]string, error) {
	found, err := read[struct {
		ID       string `json:"id"`
		External bool   `json:"router:external"`
	}](ctx, n.api, "list the networks of the project", "networks", n.inProject(), "networks")
	var ids []string
	for _, network := range found {
		if !network.External {
			ids = append(ids, network.ID)
		}
	}
	slices.Sort(ids)
	return ids, err
}

// SubnetIDs lists the ids of the IPv4 subnets of a network.
func (n Network) SubnetIDs(ctx context.Context, networkID string) ([]string, error) {
	found, err := read[struct {
		ID      string `json:"id"`
		Version int    `json:"ip_version"`
	}](ctx, n.api, "list the subnets of network "+networkID, "subnets", url.Values{"network_id": {networkID}}, "subnets")
	var ids []string
	for _, subnet := range found {
		if subnet.Version == 4 {
			ids = append(ids, subnet.ID)
		}
	}
	slices.Sort(ids)
	return ids, err
}

// Host returns the host and port of the cloud's Keystone: what all Secrets of one cloud have in common.
func (c Credentials) Host() string { return hostOf(c.AuthURL) }
