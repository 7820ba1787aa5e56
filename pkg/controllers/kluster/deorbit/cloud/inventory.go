// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// errNoProject means that a look does not know which project it is in.
var errNoProject = errors.New("the project of the credentials is not known")

// inventory is what was found in a project, each kind in the order of its ids.
type inventory struct {
	loadBalancers  []openstack.LoadBalancer
	listeners      []openstack.Listener
	pools          []openstack.Pool
	floatingIPs    []openstack.FloatingIP
	securityGroups []openstack.SecurityGroup
	// ports are those in each security group of the cluster.
	ports     map[string][]openstack.Port
	volumes   []openstack.Volume
	snapshots []openstack.VolumeSnapshot
}

// list reads everything that a plan for a cluster is made from. It is whole, or there is an error. A service that the
// cloud does not have has nothing. The order matters: an address of a load balancer that goes meanwhile is then seen
// free, not at something unknown, and a snapshot that comes meanwhile is seen.
func (p Project) list(ctx context.Context, cluster string) (inventory, error) {
	if p.ID == "" {
		return inventory{}, errNoProject
	}
	var all inventory
	var err error
	if all.loadBalancers, err = listed(ctx, p.LoadBalancers.LoadBalancers, func(b openstack.LoadBalancer) string { return b.ID }); err != nil {
		return inventory{}, err
	}
	if len(all.loadBalancers) > 0 {
		if all.listeners, err = listed(ctx, p.LoadBalancers.Listeners, func(l openstack.Listener) string { return l.ID }); err != nil {
			return inventory{}, err
		}
		if all.pools, err = listed(ctx, p.LoadBalancers.Pools, func(l openstack.Pool) string { return l.ID }); err != nil {
			return inventory{}, err
		}
	}
	if all.floatingIPs, err = listed(ctx, p.Network.ProjectFloatingIPs, func(f openstack.FloatingIP) string { return f.ID }); err != nil {
		return inventory{}, err
	}
	if all.securityGroups, err = listed(ctx, p.Network.SecurityGroups, func(g openstack.SecurityGroup) string { return g.ID }); err != nil {
		return inventory{}, err
	}
	all.ports = map[string][]openstack.Port{}
	for _, g := range all.securityGroups {
		if _, is := groupOf(g.Name, g.Description, cluster); !is || g.ProjectID != p.ID || !usable(cluster) {
			continue
		}
		if all.ports[g.ID], err = p.Network.PortsOfSecurityGroup(ctx, g.ID); err != nil {
			return inventory{}, err
		}
	}
	if all.volumes, err = listed(ctx, p.Volumes.Volumes, func(v openstack.Volume) string { return v.ID }); err != nil {
		return inventory{}, err
	}
	if all.snapshots, err = listed(ctx, p.Volumes.Snapshots, func(s openstack.VolumeSnapshot) string { return s.ID }); err != nil {
		return inventory{}, err
	}
	return all, nil
}

// listed reads a list and sorts it, so that reports of looks at the same things are the same.
func listed[T any](ctx context.Context, list func(context.Context) ([]T, error), id func(T) string) ([]T, error) {
	all, err := list(ctx)
	if err != nil && openstack.ReasonOf(err) == openstack.ReasonServiceMissing {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	return all, nil
}
