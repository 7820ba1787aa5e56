// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"context"
	"errors"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// errNoProject means that a check does not know which project it is in.
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
	// shares and their snapshots are listed only if the cluster may have any.
	shares         []openstack.Share
	shareSnapshots []openstack.ShareSnapshot
	unseen         unseenKinds
	// deletedServers are those that have volumes of the cluster, and that Nova does not have; liveServers those that it has.
	deletedServers, liveServers map[string]bool
}

// unseenKinds has the reasons why kinds of objects could not be listed, or "". Objects that were not listed are neither deleted nor treated
// as absent.
type unseenKinds struct{ balancers, network, volumes, snapshots, shares string }

func (u unseenKinds) listed() (kinds []string) {
	for _, service := range []struct {
		unseen string
		kinds  []string
	}{
		{u.balancers, []string{kindLoadBalancer}}, {u.network, []string{kindFloatingIP, kindSecurityGroup}},
		{u.volumes, []string{kindVolume}}, {u.snapshots, []string{kindSnapshot}},
	} {
		if service.unseen == "" {
			kinds = append(kinds, service.kinds...)
		}
	}
	return kinds
}

// list reads everything that a plan for a cluster is made from; mine selects its security groups. It is whole, or there is an
// error, except for what a whole service does not show: because the user may not, or because the catalog does not have it. The
// order matters: an address of a load balancer that is deleted meanwhile is then seen free, not at something unknown, and a
// snapshot that comes meanwhile is seen.
func (p Project) list(ctx context.Context, w stage.Work, mine func(openstack.SecurityGroup) bool) (inventory, error) {
	if p.ID == "" {
		return inventory{}, errNoProject
	}
	var all inventory
	absent := w.Kluster.Spec.Openstack.AbsentServices
	noBalancers := slices.Contains(absent, kubernikusv1.ServiceLoadBalancer) &&
		!slices.ContainsFunc(w.Recorded.Services, func(s kubernikusv1.SeenService) bool { return s.LoadBalancerID != "" })
	shares, others := sharesIn(w)
	noVolumes := slices.Contains(absent, kubernikusv1.ServiceBlockStorage) && others == 0
	for _, service := range []struct {
		list   func() error
		absent bool
		reason *string
	}{
		{func() error { return p.listBalancers(ctx, &all) }, noBalancers, &all.unseen.balancers},
		{func() error { return p.listNetwork(ctx, &all, mine) }, false, &all.unseen.network},
		{func() (err error) {
			all.volumes, err = listed(ctx, p.Volumes.Volumes, func(v openstack.Volume) string { return v.ID })
			return err
		}, noVolumes, &all.unseen.volumes},
		{func() (err error) {
			all.snapshots, err = listed(ctx, p.Volumes.Snapshots, func(s openstack.VolumeSnapshot) string { return s.ID })
			return err
		}, noVolumes, &all.unseen.snapshots},
		{func() error { return p.listShares(ctx, w, &all) }, shares == 0, &all.unseen.shares},
	} {
		err := service.list()
		switch reason := openstack.ReasonOf(err); {
		case err == nil, reason == openstack.ReasonServiceMissing && service.absent:
		case reason == openstack.ReasonServiceMissing:
			*service.reason = err.Error() + "; a service that the cloud does not have is named in spec.openstack.absentServices"
		case reason == openstack.ReasonForbidden:
			*service.reason = err.Error()
		default:
			return inventory{}, err
		}
	}
	all.deletedServers, all.liveServers = p.servers(ctx, w, all.volumes)
	return all, nil
}

// maxServers is how many servers a check queries Nova for.
const maxServers = 20

// servers returns those that recorded volumes are attached to, by whether Nova has them. A server that could not be queried is in
// neither: nothing is concluded from it.
func (p Project) servers(ctx context.Context, w stage.Work, volumes []openstack.Volume) (deleted, live map[string]bool) {
	recorded, requested := map[string]bool{}, map[string]bool{}
	deleted, live = map[string]bool{}, map[string]bool{}
	for _, v := range w.Recorded.Volumes {
		recorded[v.ID] = true
	}
	for _, v := range volumes {
		for _, server := range v.AttachedTo {
			if !recorded[v.ID] || requested[server] || len(requested) == maxServers {
				continue
			}
			requested[server] = true
			if exists, err := p.Compute.ServerExists(ctx, server); err == nil {
				deleted[server], live[server] = !exists, exists
			}
		}
	}
	return deleted, live
}

func (p Project) listBalancers(ctx context.Context, all *inventory) (err error) {
	balancers, err := listed(ctx, p.LoadBalancers.LoadBalancers, func(b openstack.LoadBalancer) string { return b.ID })
	if err != nil || len(balancers) == 0 {
		return err
	}
	listeners, err := listed(ctx, p.LoadBalancers.Listeners, func(l openstack.Listener) string { return l.ID })
	if err != nil {
		return err
	}
	pools, err := listed(ctx, p.LoadBalancers.Pools, func(l openstack.Pool) string { return l.ID })
	if err != nil {
		return err
	}
	all.loadBalancers, all.listeners, all.pools = balancers, listeners, pools
	return nil
}

func (p Project) listNetwork(ctx context.Context, all *inventory, mine func(openstack.SecurityGroup) bool) error {
	addresses, err := listed(ctx, p.Network.ProjectFloatingIPs, func(f openstack.FloatingIP) string { return f.ID })
	if err != nil {
		return err
	}
	groups, err := listed(ctx, p.Network.SecurityGroups, func(g openstack.SecurityGroup) string { return g.ID })
	if err != nil {
		return err
	}
	ports := map[string][]openstack.Port{}
	for _, g := range groups {
		if g.ProjectID != p.ID || !mine(g) {
			continue
		}
		if ports[g.ID], err = p.Network.PortsOfSecurityGroup(ctx, g.ID); err != nil {
			return err
		}
	}
	all.floatingIPs, all.securityGroups, all.ports = addresses, groups, ports
	return nil
}

// listed reads a list and sorts it, so that two checks of the same things have the same report.
func listed[T any](ctx context.Context, list func(context.Context) ([]T, error), id func(T) string) ([]T, error) {
	all, err := list(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	return all, nil
}
