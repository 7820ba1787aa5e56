// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Policy is a NetworkPolicy, read once: everything of it that does not depend on other objects. It is not changed any more.
type Policy struct {
	// Namespace and Name are those of the NetworkPolicy.
	Namespace, Name string
	// Ingress and Egress report in which directions the Pods that it applies to are isolated.
	Ingress, Egress bool

	owner    Owner
	subjects Selection
	rules    []policyRule
	// selections are the sets of Pods that the rules name: the subjects first.
	selections []Selection
	skipped    []Problem
}

// policyRule allows connections to the subjects, or from them with egress, if the peer and the port match.
type policyRule struct {
	egress bool
	// number is the place in the list of the NetworkPolicy.
	number int
	// any reports that the peer may be anything.
	any    bool
	blocks []addressBlock
	peers  []Selection
	// anyPort reports that the port may be any. Otherwise it has to be in ranges, or to have the name.
	anyPort bool
	ranges  []portRange
	named   []namedPort
}

// addressBlock is a range of addresses, less some.
type addressBlock struct {
	netip.Prefix
	except []netip.Prefix
}

// portRange are the ports from first to last, or with 0 all of a protocol.
type portRange struct {
	protocol    corev1.Protocol
	first, last int32
}

// namedPort is a port of a Pod by its name. Its number is another one in each Pod.
type namedPort struct {
	protocol corev1.Protocol
	name     string
}

// Selection is a set of Pods.
type Selection struct {
	// key names the selection within its policy. That of the subjects is empty.
	key string
	// namespace is the one that the Pods are in, unless namespaces selects them.
	namespace  string
	namespaces labels.Selector
	pods       labels.Selector
	// port, if it has a name, is one that the Pods have.
	port namedPort
}

// selections returns the sets of Pods whose members the rule has to know: peers by their labels, and the Pods with a named port,
// which are the subjects of ingress and the peers of egress. Those of whole namespaces are known without it.
func (r policyRule) selections(subjects Selection) []Selection {
	var all []Selection
	if len(r.ranges) > 0 || r.anyPort || !r.egress {
		for _, peer := range r.peers {
			if !peer.pods.Empty() {
				all = append(all, peer)
			}
		}
	}
	return append(all, r.targets(subjects)...)
}

// targets returns the Pods with each named port that the rule allows connections to.
func (r policyRule) targets(subjects Selection) []Selection {
	at := []Selection{subjects}
	switch {
	case r.egress && r.any:
		at = []Selection{{key: fmt.Sprintf("egress/%d", r.number), namespaces: labels.Everything(), pods: labels.Everything()}}
	case r.egress:
		at = r.peers
	}
	var all []Selection
	for _, port := range r.named {
		for _, s := range at {
			all = append(all, s.with(port))
		}
	}
	return all
}

// with returns those of the Pods that have a named port.
func (s Selection) with(port namedPort) Selection {
	s.port, s.key = port, strings.TrimPrefix(s.key+"/"+strings.ToLower(string(port.protocol))+"/"+port.name, "/")
	return s
}

// keyAt returns the key of those Pods of a selection whose named port has a number.
func (s Selection) keyAt(number int32) string { return fmt.Sprintf("%s/%d", s.key, number) }

// has reports whether a Pod is selected, whatever its ports are.
func (s Selection) has(pod *corev1.Pod, namespace labels.Set) bool {
	if s.namespaces == nil {
		return pod.Namespace == s.namespace && s.pods.Matches(labels.Set(pod.Labels))
	}
	return s.namespaces.Matches(namespace) && s.pods.Matches(labels.Set(pod.Labels))
}

// numbers returns the numbers that a Pod's port of that name and protocol has, each once.
func (n namedPort) numbers(pod *corev1.Pod) []int32 {
	var found []int32
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, port := range container.Ports {
			protocol := port.Protocol
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			if port.Name == n.name && protocol == n.protocol && !slices.Contains(found, port.ContainerPort) {
				found = append(found, port.ContainerPort)
			}
		}
	}
	return found
}

// Owner returns the NetworkPolicy.
func (p *Policy) Owner() Owner { return p.owner }

// Isolates reports whether a policy applies to a Pod.
func (p *Policy) Isolates(pod *corev1.Pod) bool { return p.subjects.has(pod, nil) }

// groups returns the keys of the groups of a policy that a Pod in a namespace with the given labels is in, each once.
func (p *Policy) groups(pod *corev1.Pod, namespace labels.Set) []string {
	var keys []string
	for _, s := range p.selections {
		switch {
		case !s.has(pod, namespace):
		case s.port.name == "":
			keys = append(keys, s.key)
		default:
			for _, number := range s.port.numbers(pod) {
				keys = append(keys, s.keyAt(number))
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Concerns reports whether what a Pod becomes depends on the policy.
func (p *Policy) Concerns(pod *corev1.Pod, namespace labels.Set) bool {
	return slices.ContainsFunc(p.selections, func(s Selection) bool { return s.has(pod, namespace) })
}

// Across reports whether the policy selects Pods by the labels of their namespaces, so that it may concern those of other namespaces.
func (p *Policy) Across() bool {
	return slices.ContainsFunc(p.selections, func(s Selection) bool { return s.namespaces != nil })
}

// SelectsNamespaces reports whether what the policy becomes depends on the labels of namespaces.
func (p *Policy) SelectsNamespaces() bool {
	return slices.ContainsFunc(p.rules, func(r policyRule) bool {
		return slices.ContainsFunc(r.peers, func(s Selection) bool { return s.namespaces != nil })
	})
}

// NamesPorts reports whether what the policy becomes depends on the ports of a Pod.
func (p *Policy) NamesPorts(pod *corev1.Pod, namespace labels.Set) bool {
	return slices.ContainsFunc(p.selections, func(s Selection) bool { return s.port.name != "" && s.has(pod, namespace) })
}

// NamedPorts reports whether the policy has named ports: of Pods in its own namespace, and of those in all namespaces.
func (p *Policy) NamedPorts() (own, all bool) {
	for _, s := range p.selections {
		if s.port.name != "" {
			own, all = true, all || s.namespaces != nil
		}
	}
	return own, all
}
