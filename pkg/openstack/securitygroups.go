// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
)

// SecurityGroup is a set of rules for the traffic of ports.
type SecurityGroup struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	ProjectID   string `json:"project_id"`
}

// SecurityGroups lists all security groups of the project. The list is whole, or there is an error.
func (n Network) SecurityGroups(ctx context.Context) (all []SecurityGroup, err error) {
	const op = "list the security groups of the project"
	err = n.call(ctx, op, func(ctx context.Context, neutron *gophercloud.ServiceClient) error {
		all, err = list[SecurityGroup](ctx, neutron, "security_groups", neutron.ServiceURL("security-groups")+"?"+n.inProject().Encode())
		return err
	})
	for _, g := range all {
		if g.ID == "" {
			return nil, incomplete(op, "one has no id")
		}
	}
	return slices.DeleteFunc(all, func(g SecurityGroup) bool { return g.ProjectID != n.client.project }), err
}

// extensionPortsOfGroup is the extension by which Neutron filters ports by security group. A Neutron without it ignores the filter
// or rejects it.
const extensionPortsOfGroup = "port-security-groups-filtering"

// PortsOfSecurityGroup lists the ports that are in a security group. Only ports that the user may see are in it: those of
// its project, and all on its project's networks.
func (n Network) PortsOfSecurityGroup(ctx context.Context, id string) ([]Port, error) {
	filters, err := n.HasExtension(ctx, extensionPortsOfGroup)
	if err != nil {
		return nil, err
	}
	var query url.Values
	if filters {
		query = url.Values{"security_groups": {id}}
	}
	found, err := n.ports(ctx, "list the ports of security group "+id, query)
	return slices.DeleteFunc(found, func(p Port) bool {
		return !slices.ContainsFunc(p.SecurityGroupIDs, func(group string) bool { return strings.EqualFold(group, id) })
	}), err
}

// DeleteSecurityGroup deletes a security group with its rules. One that has already been deleted is fine. ReasonConflict: a port is
// in it, or it is the default of its project.
func (n Network) DeleteSecurityGroup(ctx context.Context, id string) error {
	return n.remove(ctx, "delete security group "+id, "security-groups", id)
}
