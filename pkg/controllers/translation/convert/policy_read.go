// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ReasonInvalidSelector is the reason for a selector of a NetworkPolicy that cannot be read and selects nothing.
const ReasonInvalidSelector = "InvalidSelector"

// ReadPolicy reads a NetworkPolicy. What it cannot read selects nothing, so that nothing is allowed by it.
func ReadPolicy(policy *networkingv1.NetworkPolicy) *Policy {
	spec := policy.Spec
	p := &Policy{Namespace: policy.Namespace, Name: policy.Name, owner: OwnerOf(KindNetworkPolicy, policy)}
	// A policy of before policyTypes is one of ingress, and of egress if it has such rules.
	p.Ingress = len(spec.PolicyTypes) == 0 || slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeIngress)
	p.Egress = slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeEgress) || len(spec.PolicyTypes) == 0 && len(spec.Egress) > 0
	p.subjects = Selection{namespace: policy.Namespace, pods: p.selector("spec.podSelector", &spec.PodSelector)}
	p.selections = []Selection{p.subjects}
	if p.Ingress {
		for i, rule := range spec.Ingress {
			p.read(policyRule{number: i}, "spec.ingress", rule.From, rule.Ports)
		}
	}
	if p.Egress {
		for i, rule := range spec.Egress {
			p.read(policyRule{egress: true, number: i}, "spec.egress", rule.To, rule.Ports)
		}
	}
	return p
}

// selector reads a selector. One that is not set selects everything.
func (p *Policy) selector(field string, selector *metav1.LabelSelector) labels.Selector {
	if selector == nil {
		return labels.Everything()
	}
	read, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		p.skipped = append(p.skipped, *problem(ReasonInvalidSelector, "%s: %.200s", field, err))
		return labels.Nothing()
	}
	return read
}

func (p *Policy) read(rule policyRule, list string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) {
	field := fmt.Sprintf("%s[%d]", list, rule.number)
	rule.any, rule.anyPort = len(peers) == 0, len(ports) == 0
	for _, port := range ports {
		rule.addPort(port)
	}
	for i, peer := range peers {
		at := fmt.Sprintf("%s.%s[%d]", field, map[bool]string{false: "from", true: "to"}[rule.egress], i)
		if peer.IPBlock != nil {
			p.addBlock(&rule, at+".ipBlock", *peer.IPBlock)
			continue
		}
		s := Selection{key: fmt.Sprintf("%s/%d/%d", direction(rule.egress), rule.number, i), namespace: p.Namespace, pods: p.selector(at+".podSelector", peer.PodSelector)}
		if peer.NamespaceSelector != nil {
			s.namespaces = p.selector(at+".namespaceSelector", peer.NamespaceSelector)
		}
		rule.peers = append(rule.peers, s)
	}
	p.rules = append(p.rules, rule)
	p.selections = append(p.selections, rule.selections(p.subjects)...)
}

func direction(egress bool) string {
	if egress {
		return "egress"
	}
	return "ingress"
}

func (r *policyRule) addPort(listed networkingv1.NetworkPolicyPort) {
	protocol := corev1.ProtocolTCP
	if listed.Protocol != nil {
		protocol = *listed.Protocol
	}
	switch {
	case listed.Port == nil:
		r.ranges = append(r.ranges, portRange{protocol: protocol})
	case listed.Port.Type == intstr.String:
		r.named = append(r.named, namedPort{protocol, listed.Port.StrVal})
	default:
		first := listed.Port.IntVal
		last := first
		if listed.EndPort != nil {
			last = *listed.EndPort
		}
		r.ranges = append(r.ranges, portRange{protocol, first, last})
	}
}

// addBlock adds a range of addresses. With an exception that cannot be read, it would allow too much.
func (p *Policy) addBlock(r *policyRule, field string, listed networkingv1.IPBlock) {
	var read []netip.Prefix
	for i, text := range append([]string{listed.CIDR}, listed.Except...) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix.Addr().Is4In6() {
			name := field + ".cidr"
			if i > 0 {
				name = fmt.Sprintf("%s.except[%d]", field, i-1)
			}
			p.skipped = append(p.skipped, *problem(ReasonInvalidAddress, "%s is %.80q: set a range of addresses such as 10.0.0.0/8", name, text))
			return
		}
		read = append(read, prefix.Masked())
	}
	// Those of the other family exclude nothing.
	except := slices.DeleteFunc(read[1:], func(e netip.Prefix) bool { return e.Addr().Is4() != read[0].Addr().Is4() })
	r.blocks = append(r.blocks, addressBlock{read[0], except})
}
