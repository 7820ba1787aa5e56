// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"slices"
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Provisioning statuses of load balancers in which they can be deleted. In all others they are on their way.
// Source: https://docs.openstack.org/api-ref/load-balancer/v2/#provisioning-status-codes
const (
	statusActive = "ACTIVE"
	statusError  = "ERROR"
)

// claim returns the parts of a load balancer that belong to the cluster.
type claim int

const (
	// claimNothing: it is another client's.
	claimNothing claim = iota
	// claimAll: it is deleted with all that depends on it.
	claimAll
	// claimPart: others use it, or made it, so that only the cluster's listeners and tags go.
	claimPart
	// claimDoubt: what it reports about itself does not agree. It stays.
	claimDoubt
)

// tagged has the tags of something, by their content.
type tagged struct{ own, others []string }

func (d *decision) tagsOf(tags []string) tagged {
	var t tagged
	for _, tag := range tags {
		switch originOf(tag, d.cluster) {
		case own:
			t.own = append(t.own, tag)
		case another, unclear:
			t.others = append(t.others, tag)
		case nobodys:
		}
	}
	return t
}

// claimOn decides about a load balancer by its name, its description, its tags and those of its listeners. A load
// balancer that was shared with other Services has their names as tags, and so have the listeners. One that was renamed
// with its cluster keeps the old description, so that name and description have to agree.
func (d *decision) claimOn(b openstack.LoadBalancer) (what claim, doubt string) {
	name, tags := originOf(b.Name, d.cluster), d.tagsOf(b.Tags)
	described := describes(b.Description, d.cluster, strings.HasPrefix(b.Name, ingressPrefix))
	shared := len(tags.others) > 0
	for _, l := range d.listeners {
		if slices.Contains(l.LoadBalancerIDs, b.ID) {
			shared = shared || d.listenerOrigin(l) == another
		}
	}
	switch {
	case described && (name == own || name == unclear || name == nobodys && len(tags.own) > 0):
		if shared {
			return claimPart, ""
		}
		return claimAll, ""
	case name == own:
		return claimDoubt, "its name is of this cluster, its description is not"
	case len(tags.own) > 0:
		return claimPart, ""
	case described:
		return claimDoubt, "its description is of this cluster, its name is not"
	default:
		return claimNothing, ""
	}
}

// vips are the ports of the addresses of load balancers.
type vips struct {
	going map[string]bool
	// staying are all others, each with the id of its load balancer.
	staying map[string]string
	// clusters are the names that the cloud controller used for those that go by their ids.
	clusters map[string]string
}

func (d *decision) balancers() vips {
	ports := vips{going: map[string]bool{}, staying: map[string]string{}, clusters: map[string]string{}}
	for _, b := range d.loadBalancers {
		object := kubernikusv1.DeorbitObject{Kind: kindLoadBalancer, Name: b.Name, ID: b.ID}
		what, doubt, recorded := claimNothing, "", byID{}
		if clusterid.Usable(d.cluster) {
			what, doubt = d.claimOn(b)
		} else if recorded = d.claimByID(b); recorded.claim != claimNothing {
			what, doubt = recorded.claim, recorded.doubt
		}
		if b.ProjectID != d.project {
			what = claimNothing
		}
		if what == claimAll && recorded.cluster != "" {
			ports.clusters[b.VIPPortID] = recorded.cluster
		}
		standing := d.balancerStands(b)
		if what != claimAll || standing != "" || !deletes(d.Policies.LoadBalancers) {
			ports.staying[b.VIPPortID] = b.ID
		} else {
			ports.going[b.VIPPortID] = true
		}
		switch {
		case what == claimNothing:
		case !deletes(d.Policies.LoadBalancers):
			d.retain(object, isRetain("loadBalancers"))
		case what == claimDoubt && recorded.claim == claimDoubt && !recorded.settled:
			d.stick(object, doubt)
		case what == claimDoubt && !recorded.another:
			d.undecide(object, doubt)
		case what == claimDoubt: // it is in use there
		case standing != "" && strings.HasPrefix(b.Name, ingressPrefix) && !deletes(d.Policies.FloatingIPs):
			d.retain(object, isRetain("floatingIPs")+", and its Ingress stays")
		case standing != "":
			d.stand(object, standing)
		case what == claimPart:
			d.strip(b, object)
		case b.ProvisioningStatus != statusActive && b.ProvisioningStatus != statusError:
			d.busy = true
			d.remain(object, "status "+b.ProvisioningStatus)
		default:
			d.busy = true
			d.remove(removal{object: object, do: func(ctx context.Context, p Project, id string) error {
				return p.LoadBalancers.DeleteLoadBalancer(ctx, id)
			}})
		}
	}
	delete(ports.going, "")
	delete(ports.staying, "")
	delete(ports.clusters, "")
	return ports
}

// listenerOrigin returns which cluster a listener belongs to: by its tags, one for each Service that uses it, and without those by
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
