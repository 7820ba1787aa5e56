// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// removePortAttempts is how often a port that another client changes at the same time is read again.
const removePortAttempts = 3

// errPortChanged means that a port is not what it was when it was decided to change it.
var errPortChanged = errors.New("the port changed in the meantime")

// RemovePortSecurityGroup removes one security group from a port, on the condition that the port, read again, still meets a
// requirement, and that no other client changes it at the same time: Neutron replaces the whole list. A port that is not in
// the group, or has been deleted, is fine. ReasonConflict: the port changed.
func (n Network) RemovePortSecurityGroup(ctx context.Context, portID, groupID string, still func(Port) bool) error {
	op := fmt.Sprintf("remove security group %s from port %s", groupID, portID)
	if portID == "" {
		return &Error{Op: op, Reason: ReasonRefused, Err: errNoID}
	}
	for range removePortAttempts {
		p, err := n.port(ctx, op, portID)
		if IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		rest := slices.DeleteFunc(slices.Clone(p.SecurityGroupIDs), func(id string) bool { return strings.EqualFold(id, groupID) })
		switch {
		case len(rest) == len(p.SecurityGroupIDs):
			return nil
		case !still(p):
			return &Error{Op: op, Reason: ReasonConflict, Err: errPortChanged}
		case p.Revision == nil:
			return &Error{Op: op, Reason: ReasonRefused, Err: errors.New("this Neutron has no revision numbers, so that a change " +
				"of another client could be lost: enable the extension standard-attr-revisions")}
		}
		if rest == nil {
			rest = []string{} // null would mean the default group
		}
		opts := ports.UpdateOpts{SecurityGroups: &rest, RevisionNumber: p.Revision}
		err = n.call(ctx, op, func(ctx context.Context, neutron *gophercloud.ServiceClient) error {
			return ports.Update(ctx, neutron, url.PathEscape(portID), opts).Err
		})
		if ReasonOf(err) != ReasonConflict {
			return err
		}
	}
	return &Error{Op: op, Reason: ReasonConflict, Err: errPortChanged}
}

// RemovePortTag removes a tag from a port. A tag or a port that has been removed already is fine.
func (n Network) RemovePortTag(ctx context.Context, portID, tag string) error {
	op := fmt.Sprintf("remove tag %s from port %s", tag, portID)
	if portID == "" {
		return &Error{Op: op, Reason: ReasonRefused, Err: errNoID}
	}
	return n.remove(ctx, op, "", tag, "ports", url.PathEscape(portID), "tags")
}

func (n Network) port(ctx context.Context, op, id string) (Port, error) {
	var response struct {
		Port port `json:"port"`
	}
	err := n.call(ctx, op, func(ctx context.Context, neutron *gophercloud.ServiceClient) error {
		return ports.Get(ctx, neutron, url.PathEscape(id)).ExtractInto(&response.Port)
	})
	if err != nil {
		return Port{}, err
	}
	if response.Port.ID != id {
		return Port{}, incomplete(op, "the response is not this port")
	}
	read, err := response.Port.convert()
	if err != nil {
		return Port{}, incomplete(op, "%w", err)
	}
	return read, nil
}

// SecurityGroup is a set of rules for the traffic of ports.
type SecurityGroup struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	ProjectID   string `json:"project_id"`
}

// SecurityGroups lists all security groups of the project. The list is whole, or there is an error.
func (n Network) SecurityGroups(ctx context.Context) (all []SecurityGroup, err error) {
	all, err = objects(ctx, n.api, "list the security groups of the project", "security_groups", n.inProject(),
		func(g SecurityGroup) (SecurityGroup, error) {
			if g.ID == "" {
				return g, errors.New("one has no id")
			}
			return g, nil
		}, "security-groups")
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
	return n.remove(ctx, "delete security group "+id, "", id, "security-groups")
}
