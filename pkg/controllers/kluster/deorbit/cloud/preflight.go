// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Obstacle is a service of OpenStack that Deorbit could not clean up.
type Obstacle struct {
	// Reason is ReasonForbidden or ReasonServiceMissing.
	Reason openstack.Reason
	// Message names what could not be listed, and the remedy.
	Message string
}

// Preflight lists once what Verify and Routes list, and reports the services that the user is not allowed to list, or that the
// catalog does not have. The first failure of a service stands for all of it. An error means that a service could not be checked,
// for instance because it did not respond.
func (p Project) Preflight(ctx context.Context, absent []kubernikusv1.CloudService) ([]Obstacle, error) {
	var obstacles []Obstacle
	for _, service := range []struct {
		name  kubernikusv1.CloudService
		lists []func(context.Context) error
	}{
		{kubernikusv1.ServiceLoadBalancer, []func(context.Context) error{
			discarding(p.LoadBalancers.LoadBalancers), discarding(p.LoadBalancers.Listeners), discarding(p.LoadBalancers.Pools),
		}},
		{"", []func(context.Context) error{discarding(p.Network.ProjectFloatingIPs), p.listGroups, discarding(p.Network.RouterIDs)}},
		{kubernikusv1.ServiceBlockStorage, []func(context.Context) error{discarding(p.Volumes.Volumes), discarding(p.Volumes.Snapshots)}},
	} {
		var err error
		for i := 0; i < len(service.lists) && err == nil; i++ {
			err = service.lists[i](ctx)
		}
		switch reason := openstack.ReasonOf(err); {
		case err == nil, reason == openstack.ReasonServiceMissing && slices.Contains(absent, service.name):
		case reason == openstack.ReasonServiceMissing && service.name != "":
			obstacles = append(obstacles, Obstacle{reason, err.Error() + ", and name it in spec.openstack.absentServices if it does not"})
		case reason == openstack.ReasonServiceMissing, reason == openstack.ReasonForbidden:
			obstacles = append(obstacles, Obstacle{reason, err.Error()})
		default:
			return nil, err
		}
	}
	return obstacles, nil
}

// listGroups lists the security groups, and the ports of one of them: every project has its default group.
func (p Project) listGroups(ctx context.Context) error {
	groups, err := p.Network.SecurityGroups(ctx)
	if err != nil || len(groups) == 0 {
		return err
	}
	_, err = p.Network.PortsOfSecurityGroup(ctx, groups[0].ID)
	return err
}

// discarding makes a function that only reports whether a list can be read.
func discarding[T any](list func(context.Context) ([]T, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := list(ctx)
		return err
	}
}
