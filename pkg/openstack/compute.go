// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

const (
	// downCellMicroversion is the first of Nova's that lists the servers of a cell that is down, with little more than
	// their ids, instead of leaving them out.
	// Source: https://docs.openstack.org/nova/latest/reference/api-microversion-history.html, 2.69
	downCellMicroversion = "2.69"
	// statusUnknown is the status of a server whose cell is down.
	statusUnknown = "UNKNOWN"
)

// Server is a virtual machine.
type Server struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	// Addresses are all it has, fixed and floating.
	Addresses []netip.Addr `json:"-"`
}

// server is a Server as Nova writes it.
type server struct {
	Server
	ProjectID string `json:"tenant_id"`
	Addresses map[string][]struct {
		Address string `json:"addr"`
	} `json:"addresses"`
}

// Servers lists all servers of the project. The list is whole: a page that cannot be read, or a server whose cell is down, is an
// error, whose message says which. No filter, limit or order is asked for, because with any of them Nova
// leaves out servers of a cell that is down.
func (c Compute) Servers(ctx context.Context) ([]Server, error) {
	return objects(ctx, c.api, "list the servers", "servers", nil, func(s server) (Server, error) {
		if s.ID == "" || s.Status == "" || s.Status == statusUnknown {
			return Server{}, fmt.Errorf("the status of server %q is unknown: its cell is down", s.ID)
		}
		if s.ProjectID != c.client.project {
			return Server{}, fmt.Errorf("server %s is of project %q, not of that of the credentials: the list is not that of the project",
				s.ID, s.ProjectID)
		}
		for _, network := range s.Addresses {
			for _, a := range network {
				address, err := netip.ParseAddr(a.Address)
				if err != nil {
					return Server{}, fmt.Errorf("server %s has an address that cannot be read", s.ID)
				}
				s.Server.Addresses = append(s.Server.Addresses, address.Unmap())
			}
		}
		return s.Server, nil
	}, "servers", "detail")
}

// ServerExists reports whether Nova knows a server, whatever its status.
func (c Compute) ServerExists(ctx context.Context, id string) (bool, error) {
	var found server
	op := "read server " + id
	err := c.call(ctx, op, func(ctx context.Context, nova *gophercloud.ServiceClient) error {
		return servers.Get(ctx, nova, url.PathEscape(id)).ExtractInto(&found)
	})
	if IsNotFound(err) {
		return false, nil
	}
	if err == nil && found.ID != id {
		return false, incomplete(op, "the response is not this server")
	}
	return err == nil, err
}

// DetachVolume has Nova detach a volume from a server, which continues for a while. A volume that is not attached to it any
// more, or a server that has been deleted, is fine. Source:
// https://docs.openstack.org/api-ref/compute/#detach-a-volume-from-an-instance
func (c Compute) DetachVolume(ctx context.Context, serverID, volumeID string) error {
	op := "detach volume " + volumeID + " from server " + serverID
	if serverID == "" {
		return &Error{Op: op, Reason: ReasonRefused, Err: errNoID}
	}
	return c.remove(ctx, op, "", volumeID, "servers", url.PathEscape(serverID), "os-volume_attachments")
}

// newCompute is Nova with the microversion that reports cells that are down.
func newCompute(provider *gophercloud.ProviderClient, opts gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error) {
	nova, err := openstack.NewComputeV2(provider, opts)
	if err != nil {
		return nil, err
	}
	nova.Microversion = downCellMicroversion
	return nova, nil
}
