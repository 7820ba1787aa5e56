// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"slices"
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// rejectByName reports what may be the cluster's when its name cannot be used. That is what carries the
// name by which nothing is deleted, the default of all clusters, or the name of the Kluster; and whatever a cluster without a
// Kluster made, when the cluster could not be checked. Then it is left over, because nothing else knows what the cluster made.
func (d *decision) rejectByName() {
	report, reason := d.doubtful(d.whyNot(d.cluster, "clusterName"))
	doubted := []string{d.cluster, d.Kluster.Spec.Name, d.Kluster.ClusterName(), d.Recorded.ClusterName}
	owned := func(name string) bool { return d.conflicts.clusterOf(name, d.project) != "" }
	suspects := func(name string) bool { return d.suspect(name, doubted) && !owned(name) }
	of := func(name string) bool {
		clusters := clustersIn(name)
		return !slices.ContainsFunc(clusters, owned) && slices.ContainsFunc(clusters, suspects)
	}
	handled := d.handled()
	reject := func(kind, project, name, id string, is bool) {
		object := kubernikusv1.DeorbitObject{Kind: kind, Name: name, ID: id}
		switch {
		case !is || project != d.project || handled[id]:
		case kind == kindFloatingIP && !deletes(d.Policies.FloatingIPs):
			d.retain(object, isRetain("floatingIPs"))
		case kind != kindFloatingIP && !deletes(d.Policies.LoadBalancers):
			d.retain(object, isRetain("loadBalancers"))
		default:
			report(object, reason)
		}
	}
	for _, b := range d.loadBalancers {
		reject(kindLoadBalancer, b.ProjectID, b.Name, b.ID, of(b.Name) || slices.ContainsFunc(b.Tags, of))
	}
	for _, f := range d.floatingIPs {
		_, cluster, found := strings.Cut(f.Description, clusterMark)
		_, exact := holderOf(f.Description, cluster)
		reject(kindFloatingIP, f.ProjectID, "", f.ID, found && exact && suspects(cluster))
	}
	for _, g := range d.securityGroups {
		_, cluster, found := groupOf(g.Name, g.Description)
		if _, named, isIngress := ingressGroupOf(g.Name, g.Description); isIngress {
			cluster, found = named, true
		}
		reject(kindSecurityGroup, g.ProjectID, g.Name, g.ID, found && suspects(cluster))
	}
}

// handled returns the ids of what the decision has found already.
func (d *decision) handled() map[string]bool {
	ids := map[string]bool{}
	for _, r := range d.removals {
		ids[r.object.ID] = true
	}
	for _, o := range slices.Concat(d.remaining, d.retained, d.undecided) {
		ids[o.ID] = true
	}
	return ids
}

// clustersIn returns the clusters that the name of a load balancer may name: names have no end that can be distinguished from the
// namespace, so that each underscore may be it.
func clustersIn(name string) (clusters []string) {
	rest, found := strings.CutPrefix(name, servicePrefix)
	if !found {
		if rest, found = strings.CutPrefix(name, ingressPrefix); !found {
			return nil
		}
	}
	for i := range rest {
		if rest[i] == '_' && i > 0 {
			clusters = append(clusters, rest[:i])
		}
	}
	return clusters
}

// suspect reports whether a name that cannot be used may be that of the cluster: any, when the cluster could not be checked, else
// one that is doubted.
func (d *decision) suspect(name string, doubted []string) bool {
	return name != "" && (d.ClusterLost != "" || name == kubernikusv1.SharedCloudProviderName || slices.Contains(doubted, name))
}

func (d *decision) whyNot(name, field string) string {
	switch {
	case d.contradiction != "":
		return d.contradiction
	case strings.TrimSpace(name) == "":
		return field + " is neither set in spec.cloudProvider nor seen in the cluster: nothing is deleted by it"
	default:
		return field + " is " + name + ", which many clusters share: nothing is deleted by it"
	}
}

// doubtful is how to report what may be the cluster's, and that no field retains. When the cluster was checked, all that it has is known, and
// nothing waits for the rest, which users have to look at. When it was given up, the rest is left over.
func (d *decision) doubtful(reason string) (report func(kubernikusv1.DeorbitObject, string), why string) {
	if d.ClusterLost != "" {
		return d.stick, reason + ", and " + unchecked
	}
	if d.contradiction != "" {
		return d.stick, reason
	}
	return d.undecide, reason
}
