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

// serverOwner begins the device owner of ports of servers.
const serverOwner = "compute:"

// addresses decides about the floating IPs that were made for the cluster's Services and Ingresses. One that leads to a
// port that does not belong to a load balancer of the cluster was assigned to another resource.
func (d *decision) addresses(ports vips) {
	for _, f := range d.floatingIPs {
		by, mine := holder{}, false
		if clusterid.Usable(d.cluster) {
			by, mine = holderOf(f.Description, d.cluster)
		} else if cluster := ports.clusters[f.PortID]; cluster != "" {
			by, mine = holderOf(f.Description, cluster)
		}
		if !mine || f.ProjectID != d.project {
			continue
		}
		object := kubernikusv1.DeorbitObject{Kind: kindFloatingIP, Namespace: by.namespace, Name: by.name, ID: f.ID}
		balancer, stays := ports.staying[f.PortID]
		switch {
		case !deletes(d.Policies.FloatingIPs):
			d.retain(object, isRetain("floatingIPs"))
		case d.keeps(by):
			d.retain(object, "the Service keeps it by annotation")
		case d.holderStands(by) != "":
			d.stand(object, d.holderStands(by))
		case d.unseen.balancers != "":
			d.remain(object, waiting+"the load balancers, which could not be checked")
		case stays && !deletes(d.Policies.LoadBalancers):
			d.retain(object, isRetain("loadBalancers")+", and it is attached to load balancer "+balancer)
		case stays:
			d.undecide(object, "attached to load balancer "+balancer+", which stays")
		case f.PortID != "" && !ports.going[f.PortID]:
			d.undecide(object, "attached to port "+f.PortID+", which is of no load balancer of the cluster")
		default:
			d.remove(removal{object: object, immediately: true,
				do: func(ctx context.Context, p Project, id string) error { return p.Network.DeleteFloatingIP(ctx, id) }})
		}
	}
}

// keeps reports whether a Service was seen with the annotation that keeps its floating IP.
func (d *decision) keeps(by holder) bool {
	return !by.ingress && slices.ContainsFunc(d.Recorded.Services, func(s kubernikusv1.SeenService) bool {
		return !s.Ingress && s.KeepFloatingIP && s.Namespace == by.namespace && s.Name == by.name
	})
}

// holderStands is why a floating IP stays: its Service stands in the cluster, or may.
func (d *decision) holderStands(by holder) string {
	seen := false
	for _, s := range d.Recorded.Services {
		if by.ingress != s.Ingress || s.Namespace != by.namespace || s.Name != by.name {
			continue
		}
		if why := d.serviceStands(s); why != "" {
			return why
		}
		seen = true
	}
	return d.mayBeNew(seen)
}

// groups decides about security groups, which the cloud controller makes for load balancers and puts the nodes into. They wait
// until the load balancers have been deleted.
func (d *decision) groups() {
	mine := groupsOf(d.Work)
	for _, g := range d.securityGroups {
		if g.ProjectID != d.project || !mine(g) {
			continue
		}
		uid, _, _ := groupOf(g.Name, g.Description)
		object := kubernikusv1.DeorbitObject{Kind: kindSecurityGroup, Name: g.Name, ID: g.ID}
		ports := portIDs(d.ports[g.ID])
		seen := seenService(d.Work, uid)
		by, _, ofIngress := ingressGroupOf(g.Name, g.Description)
		if ofIngress {
			seen = seenIngress(d.Work, by)
		}
		switch {
		case ofIngress && !clusterid.Usable(d.cluster):
			d.stick(object, "it may be of Ingress "+by.namespace+"/"+by.name+": "+d.whyNot(d.cluster, "clusterName"))
		case seen != nil && seen.Ingress && seen.Standing != "" && !deletes(d.Policies.FloatingIPs):
			d.retain(object, isRetain("floatingIPs")+", and its Ingress stays")
		case !deletes(d.Policies.LoadBalancers):
			d.retain(object, isRetain("loadBalancers"))
		case seen != nil && d.serviceStands(*seen) != "":
			d.stand(object, d.serviceStands(*seen))
		case d.mayBeNew(seen != nil) != "":
			d.stand(object, d.mayBeNew(seen != nil))
		case len(ports) > 0 && seen == nil && d.ClusterLost != "":
			d.remain(object, "used by port "+first(ports)+", and its Service was never seen: the cluster could not be checked")
		case len(ports) > 0 && seen == nil:
			d.undecide(object, "used by port "+first(ports)+", and its Service was never seen in the cluster")
		case d.unseen.balancers != "":
			d.remain(object, waiting+"the load balancers, which could not be checked")
		case d.busy:
			d.remain(object, waiting+"the load balancers")
		case len(d.strange(g)) > 0:
			d.remain(object, "used by port "+first(d.strange(g))+", to which the controller of the cluster is not known to have added it")
		default:
			d.remove(removal{object: object, immediately: true, before: d.releasePorts(g),
				do: func(ctx context.Context, p Project, id string) error { return p.Network.DeleteSecurityGroup(ctx, id) }})
		}
	}
}

// strange returns the ports in a security group that the cloud controller manager cannot have put into it.
func (d *decision) strange(g openstack.SecurityGroup) (ids []string) {
	for _, p := range d.ports[g.ID] {
		if !d.added(p, g) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// added reports whether a port is one that the cloud controller manager puts into the security group of a Service: that of a server of
// the project. The group is proven to be the Service's by the UID in its name. Nothing on the port proves more: only early
// versions tagged it with the ID of the group, and all remove the group from every port that has it. The group of an Ingress has only a
// name, so that its ports need the tag.
// Source: https://github.com/kubernetes/cloud-provider-openstack/blob/v1.36.0/pkg/openstack/loadbalancer_sg.go
func (d *decision) added(p openstack.Port, g openstack.SecurityGroup) bool {
	_, _, ofIngress := ingressGroupOf(g.Name, g.Description)
	return p.ProjectID == d.project && strings.HasPrefix(p.DeviceOwner, serverOwner) && (!ofIngress || slices.Contains(p.Tags, g.ID))
}

// releasePorts takes ports out of a security group as the cloud controller manager does: the group first, then the tag of earlier versions.
func (d *decision) releasePorts(g openstack.SecurityGroup) (changes []func(context.Context, Project) error) {
	still := func(p openstack.Port) bool { return d.added(p, g) }
	for _, port := range d.ports[g.ID] {
		changes = append(changes, func(ctx context.Context, p Project) error {
			return p.Network.RemovePortSecurityGroup(ctx, port.ID, g.ID, still)
		})
		if slices.Contains(port.Tags, g.ID) {
			changes = append(changes, func(ctx context.Context, p Project) error { return p.Network.RemovePortTag(ctx, port.ID, g.ID) })
		}
	}
	return changes
}

func portIDs(ports []openstack.Port) []string {
	ids := make([]string, len(ports))
	for i, p := range ports {
		ids[i] = p.ID
	}
	return ids
}
