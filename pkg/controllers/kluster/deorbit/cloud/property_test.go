// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// neighbours are names of two clusters that are easily taken for each other.
var neighbours = [][2]string{
	{"prod", "prod-2"}, {"prod-2", "prod"}, {"a", "a_b"}, {"a_b", "a"}, {"a", "b"}, {"a_b", "a_b_c"}, {"x", "x from cluster x"}, {"x from cluster y", "y"},
	{"größe", "gro\u0308ße"}, {"prod", "Prod"}, {"v", "v, version: 7"}, {"v, version: 7", "v"}, {"c", "kube_service_c"}, {"kube_service_c", "c"}, {"prod", "kubernetes"}, {"web", "shop_web"},
}

// plot is a project of two clusters and users, and what in it is whose.
type plot struct {
	inventory
	work stage.Work
	mine map[string]bool
	// visited are load balancers of others that Services of the cluster use: only their tags change.
	visited map[string]bool
	next    int
}

func (p *plot) id(kind string, mine bool) string {
	p.next++
	id := fmt.Sprintf("%s-%d", kind, p.next)
	p.mine[id] = mine
	return id
}

// grow adds what a cluster makes for a Service or an Ingress, and for volumes.
func (p *plot) grow(rt *rapid.T, mine bool, cluster, tag, otherCluster string) {
	word := rapid.SampledFrom([]string{"a", "b", "web", "shop", "prod", "x-1"})
	namespace, name, uid := word.Draw(rt, "namespace"), word.Draw(rt, "name"), fmt.Sprintf("uid-%d", p.next)
	m, status := madeBy(cluster, namespace, name, uid), rapid.SampledFrom([]string{"ACTIVE", "ACTIVE", "ERROR", "PENDING_UPDATE"}).Draw(rt, "status")
	b := openstack.LoadBalancer{ID: p.id("b", mine), ProjectID: "p", Name: m.service, Description: m.description, ProvisioningStatus: status}
	b.VIPPortID = "port-" + b.ID
	address := m.address
	ingress := rapid.Bool().Draw(rt, "ingress")
	if ingress {
		b.Name, b.Description, address = m.ingress, m.ingressDescription, m.ingressAddress
	} else if rapid.Bool().Draw(rt, "tags") {
		b.Tags = []string{b.Name}
		if rapid.Bool().Draw(rt, "shared") {
			guest := madeBy(otherCluster, "guest", name, "u").service
			b.Tags = append(b.Tags, guest)
			p.mine[b.ID], p.visited[b.ID] = false, true
			for owner, tag := range map[bool]string{mine: b.Name, !mine: guest} {
				l := openstack.Listener{ID: p.id("l", owner), ProjectID: "p", LoadBalancerIDs: []string{b.ID}, Tags: []string{tag}}
				pool := openstack.Pool{ID: p.id("l", owner), ProjectID: "p", LoadBalancerIDs: []string{b.ID}, ListenerIDs: []string{l.ID}}
				p.listeners, p.pools = append(p.listeners, l), append(p.pools, pool)
			}
		}
	}
	p.loadBalancers = append(p.loadBalancers, b)
	port := rapid.SampledFrom([]string{"", b.VIPPortID, "port-of-people"}).Draw(rt, "port")
	p.floatingIPs = append(p.floatingIPs, openstack.FloatingIP{ID: p.id("f", mine), ProjectID: "p", Description: address, PortID: port})
	group := openstack.SecurityGroup{ID: p.id("g", mine), ProjectID: "p", Name: m.group, Description: m.groupDescription}
	p.securityGroups = append(p.securityGroups, group)
	if rapid.Bool().Draw(rt, "used") {
		p.ports[group.ID] = []openstack.Port{{ID: "node"}}
	}
	state := rapid.SampledFrom([]string{"available", "in-use", "error", "deleting", "error_deleting"})
	v := openstack.Volume{ID: p.id("v", mine), ProjectID: "p", Status: state.Draw(rt, "volume"), Metadata: map[string]string{clusterKey: tag}}
	p.volumes = append(p.volumes, v)
	s := openstack.VolumeSnapshot{ID: p.id("s", mine), ProjectID: "p", VolumeID: v.ID, Status: state.Draw(rt, "snapshot"), Metadata: map[string]string{clusterKey: tag}}
	if rapid.Bool().Draw(rt, "has a snapshot") {
		p.snapshots = append(p.snapshots, s)
	}
	policy := rapid.SampledFrom([]string{"Delete", "Retain"})
	if mine && rapid.Bool().Draw(rt, "seen") {
		sawVolume(v.ID, policy.Draw(rt, "reclaim"))(&p.work)
		sawSnapshot(s.ID, policy.Draw(rt, "deletion"))(&p.work)
		sawService(uid, namespace, name, rapid.Bool().Draw(rt, "keeps"))(&p.work)
	}
}

func draw(rt *rapid.T) *plot {
	names := rapid.SampledFrom(neighbours).Draw(rt, "names")
	p := &plot{mine: map[string]bool{}, visited: map[string]bool{}, work: work(named(names[0], names[0]+"-id")), inventory: inventory{ports: map[string][]openstack.Port{}}}
	policy := rapid.SampledFrom([]kubernikusv1.DeletionPolicy{del, del, keep})
	p.work.Policies = stage.Policies{PersistentVolumes: policy.Draw(rt, "volumes"), LoadBalancers: policy.Draw(rt, "balancers"), FloatingIPs: policy.Draw(rt, "addresses"),
		Snapshots: policy.Draw(rt, "snapshots"), UnseenVolumes: policy.Draw(rt, "unseen")}
	for range rapid.IntRange(0, 4).Draw(rt, "ours") {
		p.grow(rt, true, names[0], names[0]+"-id", names[1])
	}
	for range rapid.IntRange(0, 4).Draw(rt, "theirs") {
		p.grow(rt, false, names[1], names[1]+"-id", names[0])
	}
	p.loadBalancers = append(p.loadBalancers, openstack.LoadBalancer{ID: p.id("b", false), ProjectID: "p", Name: "front", VIPPortID: "port-of-people", ProvisioningStatus: "ACTIVE"})
	p.volumes = append(p.volumes, openstack.Volume{ID: p.id("v", false), ProjectID: "p", Status: "available"})
	return p
}

// TestNothingOfOthersIsDeleted checks that, of two clusters with similar names in one project, nothing of the other one is changed,
// and nothing of this one is omitted.
func TestNothingOfOthersIsDeleted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := draw(rt)
		todo, reported := decide("p", p.work, Conflicts{}, p.inventory), map[string]int{}
		for _, r := range todo.removals {
			reported[r.object.ID]++
			if !p.mine[r.object.ID] && (!r.change || !p.visited[r.object.ID]) {
				rt.Fatalf("%s %s %q is deleted", r.object.Kind, r.object.ID, r.object.Name)
			}
		}
		for _, o := range slices.Concat(todo.remaining, todo.retained, todo.undecided) {
			reported[o.ID]++
			if !p.mine[o.ID] && !p.visited[o.ID] {
				rt.Fatalf("%s %s %q is reported", o.Kind, o.ID, o.Name)
			}
			if o.Reason == "" {
				rt.Fatalf("%s %s has no reason", o.Kind, o.ID)
			}
		}
		for id, mine := range p.mine {
			exists := id[0] != 's' || slices.ContainsFunc(p.snapshots, func(s openstack.VolumeSnapshot) bool { return s.ID == id })
			part := id[0] == 'l' && !deletes(p.work.Policies.LoadBalancers) // its load balancer is recorded
			if want := mine && exists && !part; want && reported[id] != 1 || reported[id] > 1 {
				rt.Fatalf("%s is notified of %d times", id, reported[id])
			}
		}
	})
}

// TestKeepingMoreDeletesNoMore checks that retaining more never deletes more, and that a conflict deletes nothing.
func TestKeepingMoreDeletesNoMore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := draw(rt)
		before := map[string]bool{}
		for _, r := range decide("p", p.work, Conflicts{}, p.inventory).removals {
			before[r.object.ID] = true
		}
		for _, keeps := range []func(*stage.Policies){
			func(s *stage.Policies) { s.PersistentVolumes = keep }, func(s *stage.Policies) { s.LoadBalancers = keep }, func(s *stage.Policies) { s.FloatingIPs = keep },
			func(s *stage.Policies) { s.Snapshots = keep }, func(s *stage.Policies) { s.UnseenVolumes = keep },
		} {
			w := p.work
			keeps(&w.Policies)
			for _, r := range decide("p", w, Conflicts{}, p.inventory).removals {
				// Security groups do not wait for load balancers that stay, but then they stay as well.
				if !before[r.object.ID] {
					rt.Fatalf("%s %s is deleted with %+v", r.object.Kind, r.object.ID, w.Policies)
				}
			}
		}
		rivals := Conflicts{rivals: []rival{{kluster: "ns/o", project: "p", text: "clusterName"}}}
		if todo := decide("p", p.work, rivals, p.inventory); len(todo.removals) > 0 || len(before) > len(todo.remaining) {
			rt.Fatalf("in a conflict %d go and %d of %d remain", len(todo.removals), len(todo.remaining), len(before))
		}
		for name := range map[string]bool{"kubernetes": true, "": true} {
			w := p.work
			w.Kluster = work(named(name, name)).Kluster // security groups go by the uids of Services
			for _, r := range decide("p", w, Conflicts{}, p.inventory).removals {
				if !slices.Contains([]string{kindVolume, kindSnapshot, kindSecurityGroup}, r.object.Kind) || !p.mine[r.object.ID] {
					rt.Fatalf("%s %s is deleted by the name %q", r.object.Kind, r.object.ID, name)
				}
			}
		}
	})
}
