// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"strings"
)

// Names that cloud-provider-openstack uses.
// Source: https://github.com/kubernetes/cloud-provider-openstack/blob/master/pkg/openstack/loadbalancer.go and
// loadbalancer_sg.go, and pkg/ingress for load balancers of an Ingress.
const (
	servicePrefix = "kube_service_"
	ingressPrefix = "kube_ingress_"
	// groupPrefix begins the name of a security group, which continues <uid>-<namespace>-<name> of the Service.
	groupPrefix = "lb-sg-"
	// nameLimit is how many bytes a name has at most. Longer ones are cut.
	nameLimit = 255

	clusterMark      = " from cluster "
	groupClusterMark = " LoadBalancer in cluster "
	groupHead        = "Security Group for "
	groupTail        = " Service"
	serviceIPHead    = "Floating IP for Kubernetes external service "
	ingressIPHead    = "Floating IP for Kubernetes ingress "
	ingressGroupHead = "Security group created for Ingress "
	namespaceMark    = " in namespace "
	versionMark      = ", version: "
)

// origin is what a name or a tag reveals about the cluster that owns something.
type origin int

const (
	// nobodys: it is no name that a cloud controller gives.
	nobodys origin = iota
	// own: it names this cluster, and can name no other.
	own
	// another: it names another cluster.
	another
	// unclear: it is cut, or is not complete, so that it may name this cluster or another.
	unclear
)

// originOf reads the name of a load balancer, or a tag that is one: kube_service_<cluster>_<namespace>_<name>. Neither
// namespaces nor names of Services have underscores, but clusters may: kube_service_a_b_c_d is not of cluster a.
func originOf(name, cluster string) origin {
	rest, isService := strings.CutPrefix(name, servicePrefix)
	if !isService {
		var isIngress bool
		if rest, isIngress = strings.CutPrefix(name, ingressPrefix); !isIngress {
			return nobodys
		}
	}
	if !strings.HasPrefix(rest, cluster+"_") {
		// Even a cut name has as much of the cluster as there is room for.
		if len(name) >= nameLimit && strings.HasPrefix(cluster+"_", rest) {
			return unclear
		}
		return another
	}
	if len(name) >= nameLimit {
		return unclear
	}
	namespace, service, complete := strings.Cut(rest[len(cluster)+1:], "_")
	switch {
	case !complete || namespace == "" || service == "":
		return unclear
	case strings.Contains(service, "_"):
		return another
	default:
		return own
	}
}

// childOriginOf reads the name of a listener or a pool of a load balancer: listener_<number>_<name of load balancer>.
func childOriginOf(name, kind, cluster string) origin {
	rest, found := strings.CutPrefix(name, kind+"_")
	if !found {
		return nobodys
	}
	number, parent, found := strings.Cut(rest, "_")
	if !found || !digits(number) {
		return nobodys
	}
	if len(name) >= nameLimit && originOf(parent, cluster) != another {
		return unclear
	}
	return originOf(parent, cluster)
}

// describes reports whether the description of a load balancer ends with this cluster. That of an Ingress may continue with a
// version. Neither kinds nor names before the cluster have spaces around "from cluster", so the first one counts.
func describes(description, cluster string, ingress bool) bool {
	_, end, found := strings.Cut(description, clusterMark)
	if !found {
		return false
	}
	if end == cluster {
		return true
	}
	version, found := strings.CutPrefix(end, cluster+versionMark)
	return ingress && found && digits(version)
}

// holder is the Service or the Ingress that a floating IP was made for.
type holder struct {
	namespace, name string
	ingress         bool
}

// holderOf reads the description of a floating IP. It is exact, so that no address of anybody else is taken for one.
func holderOf(description, cluster string) (holder, bool) {
	head, end, found := strings.Cut(description, clusterMark)
	if !found || end != cluster {
		return holder{}, false
	}
	if text, is := strings.CutPrefix(head, serviceIPHead); is {
		namespace, name, found := strings.Cut(text, "/")
		return holder{namespace: namespace, name: name}, found && word(namespace) && word(name)
	}
	if text, is := strings.CutPrefix(head, ingressIPHead); is {
		name, namespace, found := strings.Cut(text, namespaceMark)
		return holder{namespace: namespace, name: name, ingress: true}, found && word(namespace) && word(name)
	}
	return holder{}, false
}

// clusterIn returns the cluster that the name of a load balancer of a Service names.
func clusterIn(balancer, namespace, service string) (cluster string, found bool) {
	rest, isService := strings.CutPrefix(balancer, servicePrefix)
	cluster, isIts := strings.CutSuffix(rest, "_"+namespace+"_"+service)
	return cluster, isService && isIts && cluster != "" && len(balancer) < nameLimit
}

// ingressOf returns the name that the Octavia ingress controller of a cluster gives to the load balancer and to the security group
// of an Ingress.
func ingressOf(cluster, namespace, name string) string {
	return ingressPrefix + cluster + "_" + namespace + "_" + name
}

// ingressGroupOf reads the name and the description of a security group of the Octavia ingress controller, which both name its
// Ingress and the cluster.
func ingressGroupOf(name, description string) (by holder, cluster string, found bool) {
	head, cluster, found := strings.Cut(description, clusterMark)
	text, isGroup := strings.CutPrefix(head, ingressGroupHead)
	namespace, ingress, isIngress := strings.Cut(text, "/")
	if !found || !isGroup || !isIngress || !word(namespace) || !word(ingress) || name != ingressOf(cluster, namespace, ingress) {
		return holder{}, "", false
	}
	return holder{namespace: namespace, name: ingress, ingress: true}, cluster, true
}

// balancerOf returns the name that the cloud controller of a cluster gives to the load balancer of a Service.
func balancerOf(cluster, namespace, service string) string {
	name := servicePrefix + cluster + "_" + namespace + "_" + service
	return name[:min(len(name), nameLimit)]
}

// groupOf reads the name and the description of a security group, which both name its Service. It returns the uid of the
// Service and the cluster.
func groupOf(name, description string) (uid, cluster string, found bool) {
	head, cluster, found := strings.Cut(description, groupClusterMark)
	if !found {
		return "", "", false
	}
	head, isGroup := strings.CutPrefix(head, groupHead)
	service, isService := strings.CutSuffix(head, groupTail)
	namespace, service, found := strings.Cut(service, "/")
	if !isGroup || !isService || !found || !word(namespace) || !word(service) {
		return "", "", false
	}
	uid, isPrefixed := strings.CutPrefix(name, groupPrefix)
	uid, isItsName := strings.CutSuffix(uid, "-"+namespace+"-"+service)
	return uid, cluster, isPrefixed && isItsName && uid != ""
}

// word reports whether a text can be the name of an object of Kubernetes, as far as it matters here.
func word(text string) bool { return text != "" && !strings.ContainsAny(text, " /_") }

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
