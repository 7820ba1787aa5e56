// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Hold is why nothing of a cluster may be deleted in a project; "" when it may.
func (c Conflicts) Hold(w stage.Work, projectID string) string {
	if why := c.Why(projectID); why != "" {
		return why
	}
	if w.ClusterRejected != "" {
		return kubernikusv1.ReasonClusterRefused + ": " + w.ClusterRejected
	}
	return ""
}

// groupsOf selects the security groups of a cluster: those of Services that were seen in it, by their uids, and those
// that name it.
func groupsOf(w stage.Work) func(openstack.SecurityGroup) bool {
	own := identityOf(w)
	return func(g openstack.SecurityGroup) bool {
		if by, cluster, found := ingressGroupOf(g.Name, g.Description); found {
			if clusterid.Usable(own.cluster) {
				return cluster == own.cluster // another cluster may have an Ingress of the same name
			}
			return seenIngress(w, by) != nil // only to be reported
		}
		uid, cluster, found := groupOf(g.Name, g.Description)
		return found && (clusterid.Usable(own.cluster) && cluster == own.cluster || seenService(w, uid) != nil)
	}
}

func seenIngress(w stage.Work, by holder) *kubernikusv1.SeenService {
	for i := range w.Recorded.Services {
		if s := &w.Recorded.Services[i]; s.Ingress && s.Namespace == by.namespace && s.Name == by.name {
			return s
		}
	}
	return nil
}

func seenService(w stage.Work, uid string) *kubernikusv1.SeenService {
	for i := range w.Recorded.Services {
		if w.Recorded.Services[i].UID == uid {
			return &w.Recorded.Services[i]
		}
	}
	return nil
}

// cleanedUp reports whether a Service has been deleted such that nothing is left: behind the finalizer that the cloud controller
// removes when the load balancer has been deleted, or without ever having been served.
func cleanedUp(s kubernikusv1.SeenService) bool {
	if !s.Ingress && !s.Finalized && s.Address == "" && s.LoadBalancerID == "" {
		return true
	}
	return s.Finalized && s.Gone
}

// stands is why nothing of an object is deleted; "" when nothing blocks it.
func (d *decision) stands(what string, standing kubernikusv1.Standing) string {
	still := " still exists in the cluster"
	if d.dismantled() {
		still = " existed in the cluster when its machines were deleted"
	}
	switch standing {
	case "":
		return ""
	case kubernikusv1.StandingRefused:
		return what + still + ", which rejected its deletion"
	case kubernikusv1.StandingFinalizer:
		return what + still + ", where a finalizer holds it"
	default:
		return what + still + " and is not deleted"
	}
}

func (d *decision) serviceStands(s kubernikusv1.SeenService) string {
	kind := kindService
	if s.Ingress {
		kind = kindIngress
	}
	return d.stands(kind+" "+s.Namespace+"/"+s.Name, s.Standing)
}

// services reports the observed Services that stand, and the load balancers of which nothing shows whether they are those of the others.
func (d *decision) services() {
	if !deletes(d.Policies.LoadBalancers) {
		return
	}
	handled := d.handled()
	for _, s := range d.Recorded.Services {
		object := kubernikusv1.DeorbitObject{Kind: kindService, Namespace: s.Namespace, Name: s.Name, ID: s.LoadBalancerID}
		missing := "it has no annotation with an id, and "
		if s.Ingress {
			object.Kind, missing = kindIngress, ""
		}
		switch why := d.serviceStands(s); {
		case why != "" && s.Ingress && !deletes(d.Policies.FloatingIPs):
			// It was not to be deleted, and neither is its load balancer.
		case why != "" && !d.dismantled():
			d.stick(object, why)
		case cleanedUp(s), s.LoadBalancerID != "", clusterid.Usable(d.cluster):
		default:
			// Regardless of the name of the cluster: one that is not here has been deleted.
			for _, b := range d.loadBalancers {
				if b.ProjectID == d.project && !handled[b.ID] && d.mayBeOf(b, s) {
					handled[b.ID] = true
					d.stick(kubernikusv1.DeorbitObject{Kind: kindLoadBalancer, Name: b.Name, ID: b.ID},
						fmt.Sprintf("it may be of %s %s/%s: %s%s", object.Kind, s.Namespace, s.Name, missing, d.whyNot(d.cluster, "clusterName")))
				}
			}
		}
	}
}

// mayBeNew is why an object that names the cluster stays, if it was not seen there: a cluster that is not frozen may have made it since.
func (d *decision) mayBeNew(seen bool) string {
	if seen || !d.Unfrozen || d.dismantled() {
		return ""
	}
	return "never seen in the cluster, which is not frozen and may have made it since"
}

// balancerStands is why a load balancer stays: a Service that it is for stands in the cluster, or may.
func (d *decision) balancerStands(b openstack.LoadBalancer) string {
	seen := map[string]bool{}
	for _, s := range d.Recorded.Services {
		name := balancerOf(d.cluster, s.Namespace, s.Name)
		if s.Ingress {
			name = ingressOf(d.cluster, s.Namespace, s.Name)
		}
		seen[name] = true
		its := s.LoadBalancerID == b.ID || clusterid.Usable(d.cluster) && (b.Name == name || slices.Contains(b.Tags, name))
		if why := d.serviceStands(s); its && why != "" {
			return why
		}
	}
	strange := func(name string) bool {
		whose := originOf(name, d.cluster)
		return (whose == own || whose == unclear) && !seen[name]
	}
	return d.mayBeNew(!clusterid.Usable(d.cluster) || !slices.ContainsFunc(append([]string{b.Name}, b.Tags...), strange))
}

// mayBeOf reports whether a load balancer may be that of a Service or an Ingress, whatever its cluster is called: by its address, or by a
// name that is not that of another Kluster.
func (d *decision) mayBeOf(b openstack.LoadBalancer, s kubernikusv1.SeenService) bool {
	prefix, suffix := servicePrefix, "_"+s.Namespace+"_"+s.Name
	if s.Ingress {
		prefix = ingressPrefix
	}
	if address, err := netip.ParseAddr(s.Address); err == nil && d.hasAddress(b, address.Unmap()) {
		return true
	}
	return slices.ContainsFunc(append([]string{b.Name}, b.Tags...), func(name string) bool {
		rest, isOne := strings.CutPrefix(name, prefix)
		cluster, its := strings.CutSuffix(rest, suffix)
		return isOne && (its && d.conflicts.clusterOf(cluster, d.project) == "" || len(name) >= nameLimit)
	})
}

// byID is what becomes of a load balancer whose id Services of the cluster name in their annotation, where the name of the cluster
// reports nothing. Anybody may write such an annotation. So it counts only when the load balancer was made for one of these
// Services, by its name and its description, has the address that the cloud controller wrote to the status of that Service, and
// serves no other.
type byID struct {
	// cluster is the name that the cloud controller used.
	cluster string
	claim   claim
	doubt   string
	another bool
	// settled reports that all the Services have been deleted as they should be, so that a doubt is no reason to wait.
	settled bool
}

func (d *decision) claimByID(b openstack.LoadBalancer) byID {
	var services []kubernikusv1.SeenService
	for _, s := range d.Recorded.Services {
		if s.LoadBalancerID == b.ID {
			services = append(services, s)
		}
	}
	if len(services) == 0 {
		return byID{}
	}
	found := byID{claim: claimDoubt, settled: !slices.ContainsFunc(services, func(s kubernikusv1.SeenService) bool { return !cleanedUp(s) })}
	maker := slices.IndexFunc(services, func(s kubernikusv1.SeenService) bool {
		cluster, its := clusterIn(b.Name, s.Namespace, s.Name)
		return its && describes(b.Description, cluster, false) && strings.Contains(b.Description, " "+s.Namespace+"/"+s.Name+clusterMark)
	})
	s := services[max(maker, 0)]
	names := "Service " + s.Namespace + "/" + s.Name + " names it in its annotation, but "
	if maker < 0 {
		found.doubt = names + "name and description are not those of a load balancer of this Service"
		return found
	}
	found.cluster, _ = clusterIn(b.Name, s.Namespace, s.Name)
	address, err := netip.ParseAddr(s.Address)
	other, stranger := d.conflicts.clusterOf(found.cluster, d.project), d.stranger(b, found.cluster, services)
	switch {
	case other != "":
		found.another = true
		found.doubt = "it is of cluster " + found.cluster + ", as Kluster " + other + " is"
	case err != nil:
		found.doubt = names + "its status has no IP"
	case !d.hasAddress(b, address.Unmap()):
		found.doubt = names + "has another address"
	case stranger != "":
		found.doubt = "others use it: " + stranger
	default:
		found.claim = claimAll
	}
	return found
}

func (d *decision) hasAddress(b openstack.LoadBalancer, address netip.Addr) bool {
	return b.VIP == address || slices.ContainsFunc(d.floatingIPs, func(f openstack.FloatingIP) bool {
		return b.VIPPortID != "" && f.PortID == b.VIPPortID && f.Address == address
	})
}

// stranger returns a tag or a listener of a load balancer that is of none of its Services; "" when there is none.
func (d *decision) stranger(b openstack.LoadBalancer, cluster string, services []kubernikusv1.SeenService) string {
	known := map[string]bool{}
	for _, s := range services {
		known[balancerOf(cluster, s.Namespace, s.Name)] = true
	}
	strange := func(name string) bool { return originOf(name, cluster) != nobodys && !known[name] }
	tags := slices.Clone(b.Tags)
	for _, l := range d.listeners {
		if slices.Contains(l.LoadBalancerIDs, b.ID) {
			tags = append(tags, l.Tags...)
			if _, name, found := strings.Cut(strings.TrimPrefix(l.Name, "listener_"), "_"); found {
				tags = append(tags, name)
			}
		}
	}
	if i := slices.IndexFunc(tags, strange); i >= 0 {
		return tags[i]
	}
	return ""
}
