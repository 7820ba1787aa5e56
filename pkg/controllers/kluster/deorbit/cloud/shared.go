// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// listenerOrigin reports about which cluster a listener is: by its tags, one for each Service that uses it, and without those by
// its name.
func (d *decision) listenerOrigin(l openstack.Listener) origin {
	switch tags := d.tagsOf(l.Tags); {
	case len(tags.others) > 0:
		return another
	case len(tags.own) > 0:
		return own
	default:
		return childOriginOf(l.Name, "listener", d.cluster)
	}
}

// deletesPool reports whether a pool of a load balancer is deleted with the deleted listeners: when all that use it do, or when it is
// left over of such a listener.
func (d *decision) deletesPool(p openstack.Pool, going map[string]bool) bool {
	if len(p.ListenerIDs) == 0 {
		tags := d.tagsOf(p.Tags)
		return len(tags.others) == 0 && (len(tags.own) > 0 || childOriginOf(p.Name, "pool", d.cluster) == own)
	}
	return !slices.ContainsFunc(p.ListenerIDs, func(id string) bool { return !going[id] })
}

// strip takes the cluster's part off a load balancer that stays. Octavia changes only ACTIVE ones, and each step makes the
// load balancer PENDING for a while, so that a check takes one: pools first, then their listeners, and the tags last, by
// which the rest is found.
func (d *decision) strip(b openstack.LoadBalancer, object kubernikusv1.DeorbitObject) {
	var steps []removal
	going := map[string]bool{}
	for _, l := range d.listeners {
		if l.ProjectID == d.project && slices.Contains(l.LoadBalancerIDs, b.ID) && d.listenerOrigin(l) == own {
			going[l.ID] = true
			steps = append(steps, removal{object: kubernikusv1.DeorbitObject{Kind: kindListener, Name: l.Name, ID: l.ID},
				do: func(ctx context.Context, p Project, id string) error { return p.LoadBalancers.DeleteListener(ctx, id) }})
		}
	}
	for _, pool := range d.pools {
		only := len(pool.LoadBalancerIDs) == 1 && pool.LoadBalancerIDs[0] == b.ID
		if pool.ProjectID == d.project && only && d.deletesPool(pool, going) {
			steps = slices.Insert(steps, 0, removal{object: kubernikusv1.DeorbitObject{Kind: kindPool, Name: pool.Name, ID: pool.ID},
				do: func(ctx context.Context, p Project, id string) error { return p.LoadBalancers.DeletePool(ctx, id) }})
		}
	}
	if mine := d.tagsOf(b.Tags).own; len(mine) > 0 {
		rest := slices.DeleteFunc(slices.Clone(b.Tags), func(tag string) bool { return slices.Contains(mine, tag) })
		steps = append(steps, removal{object: object, change: true,
			do: func(ctx context.Context, p Project, id string) error { return p.LoadBalancers.SetTags(ctx, id, rest) }})
	}
	d.busy = d.busy || len(steps) > 0
	switch {
	case len(steps) == 0:
		d.undecide(object, "other clusters use it")
	case b.ProvisioningStatus == statusActive:
		d.remove(steps[0])
		for _, later := range steps[1:] {
			d.remain(later.object, waiting+"its turn on load balancer "+b.ID)
		}
	default:
		for _, step := range steps {
			d.remain(step.object, "load balancer "+b.ID+" has status "+b.ProvisioningStatus)
		}
	}
}
