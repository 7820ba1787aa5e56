// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// The cases are those of the conformance tests of NetworkPolicies: which of the Pods a and b in the namespaces x, y and z may connect
// to x/a, and where x/a may connect to. What is right is decided by permits, what OVN does by ovn-trace.

type (
	spec  = networkingv1.NetworkPolicySpec
	peer  = networkingv1.NetworkPolicyPeer
	ports = []networkingv1.NetworkPolicyPort
)

func labelled(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func expression(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func ingress(selector *metav1.LabelSelector, rules ...networkingv1.NetworkPolicyIngressRule) spec {
	return spec{PodSelector: *selector, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, Ingress: rules}
}

func egress(selector *metav1.LabelSelector, rules ...networkingv1.NetworkPolicyEgressRule) spec {
	return spec{PodSelector: *selector, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}, Egress: rules}
}

func from(ports ports, peers ...peer) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{From: peers, Ports: ports}
}

func to(ports ports, peers ...peer) networkingv1.NetworkPolicyEgressRule {
	return networkingv1.NetworkPolicyEgressRule{To: peers, Ports: ports}
}

func at(protocol corev1.Protocol, port any, last ...int32) networkingv1.NetworkPolicyPort {
	made := networkingv1.NetworkPolicyPort{Protocol: &protocol}
	switch port := port.(type) {
	case int:
		made.Port = new(intstr.FromInt(port))
	case string:
		made.Port = new(intstr.FromString(port))
	}
	if len(last) > 0 {
		made.EndPort = &last[0]
	}
	return made
}

func block(cidr string, except ...string) peer {
	return peer{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}
}

// conformance returns the policies of each case.
func conformance() map[string][]spec {
	all, a := &metav1.LabelSelector{}, labelled("pod", "a")
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	inY := peer{NamespaceSelector: labelled("ns", "y")}
	return map[string][]spec{
		"no policy":                          nil,
		"deny all ingress":                   {ingress(all)},
		"deny all egress":                    {egress(all)},
		"deny all":                           {ingress(all), egress(all)},
		"allow all over deny all":            {ingress(all), ingress(all, from(nil))},
		"allow all egress over deny all":     {egress(all), egress(all, to(nil))},
		"peers by pod selector":              {ingress(a, from(nil, peer{PodSelector: labelled("pod", "b")}))},
		"peers by expression":                {ingress(a, from(nil, peer{PodSelector: expression("pod", metav1.LabelSelectorOpNotIn, "a"), NamespaceSelector: all}))},
		"peers by namespace":                 {ingress(a, from(nil, inY))},
		"peers by expression of namespaces":  {ingress(a, from(nil, peer{NamespaceSelector: expression("ns", metav1.LabelSelectorOpIn, "y", "z")}))},
		"peers by pod and namespace":         {ingress(a, from(nil, peer{PodSelector: labelled("pod", "b"), NamespaceSelector: labelled("ns", "y")}))},
		"peers by pod or namespace":          {ingress(a, from(nil, peer{PodSelector: labelled("pod", "b")}, inY))},
		"peers in the own namespace":         {ingress(a, from(nil, peer{PodSelector: all}))},
		"peers in all namespaces":            {ingress(a, from(nil, peer{NamespaceSelector: all}))},
		"peers in no namespace":              {ingress(a, from(nil, peer{NamespaceSelector: labelled("ns", "w")}))},
		"port":                               {ingress(a, from(ports{at(tcp, 80)}))},
		"port of peers":                      {ingress(a, from(ports{at(tcp, 81)}, inY))},
		"ports of two rules":                 {ingress(a, from(ports{at(tcp, 80)}, inY), from(ports{at(tcp, 81)}, peer{PodSelector: all}))},
		"two policies":                       {ingress(a, from(ports{at(tcp, 80)}, inY)), ingress(all, from(ports{at(tcp, 81)}))},
		"UDP":                                {ingress(a, from(ports{at(udp, 80)}))},
		"protocol without a port":            {ingress(a, from(ports{at(tcp, nil)}))},
		"range of ports":                     {ingress(a, from(ports{at(tcp, 81, 90)}))},
		"named port":                         {ingress(a, from(ports{at(tcp, "serve-81-tcp")}))},
		"named port of peers":                {ingress(a, from(ports{at(tcp, "serve-80-tcp")}, inY))},
		"named port that does not exist":     {ingress(a, from(ports{at(tcp, "other")}))},
		"egress to a pod":                    {egress(a, to(nil, peer{PodSelector: labelled("pod", "b")}))},
		"egress to a namespace":              {egress(a, to(nil, inY))},
		"egress to a port":                   {egress(a, to(ports{at(tcp, 80)}))},
		"egress to a range of ports":         {egress(a, to(ports{at(tcp, 79, 80), at(udp, 80)}, inY))},
		"egress to a named port":             {egress(a, to(ports{at(tcp, "serve-81-tcp")}))},
		"egress to a named port of peers":    {egress(a, to(ports{at(tcp, "serve-80-tcp")}, peer{PodSelector: labelled("pod", "b"), NamespaceSelector: all}))},
		"egress of one and ingress of all":   {egress(a, to(nil, inY)), ingress(all, from(ports{at(tcp, 80)}))},
		"both directions of one policy":      {{PodSelector: *a, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, Ingress: []networkingv1.NetworkPolicyIngressRule{from(nil, inY)}, Egress: []networkingv1.NetworkPolicyEgressRule{to(ports{at(tcp, 81)})}}},
		"block":                              {egress(a, to(nil, block("10.1.1.0/24"), block("fd01:0:0:1::/64")))},
		"block with an exception":            {egress(a, to(nil, block("10.1.0.0/16", "10.1.1.0/28"), block("fd01::/16", "fd01:0:0:1::/64")))},
		"blocks that overlap":                {egress(a, to(nil, block("10.1.0.0/16", "10.1.1.0/24")), to(nil, block("10.1.1.16/28")))},
		"block of ingress":                   {ingress(a, from(nil, block("10.1.0.0/25"), block("::/0", "fd01:0:0:1::/64")))},
		"any address of one family":          {ingress(a, from(nil, block("0.0.0.0/0")))},
		"selector of pods that matches none": {ingress(labelled("pod", "other"))},
	}
}

// TestNetworkPolicies compares what OVN does with what the policies allow.
func TestNetworkPolicies(t *testing.T) {
	w := newWorld(t)
	objects := cluster{nodes: []*corev1.Node{node("node-a", "0"), node("node-b", "1")}}
	for i, name := range []string{"x", "y", "z"} {
		objects.namespaces = append(objects.namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"ns": name}}})
		for k, pod := range []*corev1.Pod{pod("a", "node-a", "0", fmt.Sprint(10+i)), pod("b", "node-b", "1", fmt.Sprint(10+i*10))} {
			pod.Namespace, pod.UID, pod.Labels = name, types.UID(name+pod.Name), map[string]string{"pod": pod.Name}
			pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "serve-80-tcp", ContainerPort: 80}, {Name: "serve-81-tcp", ContainerPort: 81}, {Name: "serve-80-udp", ContainerPort: 80, Protocol: corev1.ProtocolUDP}}}}
			if name == "z" && k == 1 {
				pod.Spec.Containers[0].Ports[1].ContainerPort = 82 // its port 81 has no name
			}
			objects.pods = append(objects.pods, pod)
		}
	}
	cases := conformance()
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			objects.policies = nil
			// What is logged decides nothing.
			objects.namespaces[0].Annotations = map[string]string{midonetv1.AnnotationACLLogging: []string{"", `{"allow":"info","deny":"alert"}`}[i%2]}
			for i, spec := range cases[name] {
				objects.policies = append(objects.policies, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: fmt.Sprintf("policy-%d", i), UID: types.UID(fmt.Sprint(name, i))}, Spec: spec})
			}
			w.apply(objects)
			w.compare(t, objects)
		})
	}

	// A label decides from the next moment.
	objects.policies = []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "policy-0", UID: "label"}, Spec: ingress(labelled("pod", "a"), from(nil, peer{PodSelector: labelled("pod", "c"), NamespaceSelector: labelled("ns", "w")}))}}
	w.apply(objects)
	objects.pods[3].Labels["pod"] = "c"
	w.apply(objects)
	t.Run("label of a pod", func(t *testing.T) { w.compare(t, objects) })
	objects.namespaces[1].Labels["ns"] = "w"
	w.apply(objects)
	t.Run("label of a namespace", func(t *testing.T) { w.compare(t, objects) })
	objects.pods[0].Labels["pod"] = "c"
	w.apply(objects)
	t.Run("label of a subject", func(t *testing.T) { w.compare(t, objects) })

	objects.policies = nil
	w.apply(objects)
	if rest := w.server.Nbctl(t, "--bare", "--columns=match", "find", "ACL", "priority=1001", "direction=to-lport", `action=allow-related`); strings.Count(rest, "outport == @") != 1 {
		t.Errorf("ACLs = %q, want that of connections to themselves only", rest)
	}
}

// compare traces connections from and to x/a.
func (w *world) compare(t *testing.T, c cluster) {
	t.Helper()
	subject := c.pods[0]
	for i, other := range c.pods[1:] {
		for egress, pair := range [][2]*corev1.Pod{{other, subject}, {subject, other}} {
			if i > 0 && !c.decide(egress == 1) {
				continue // one is enough to see that nothing is decided about this direction
			}
			for _, p := range []packet{{port: 80}, {port: 81}, {port: 80, protocol: "UDP"}} {
				for family, ip := range pair[1].Status.PodIPs {
					if family == 1 && (p.port == 81 || p.protocol != "") {
						continue
					}
					p.pod, p.destination, p.via = pair[0], ip.IP, strings.Repeat("--ct=new ", 6)
					protocol := corev1.ProtocolTCP
					if p.protocol != "" {
						protocol = corev1.ProtocolUDP
					}
					want := permits(c, pair[0], pair[1], family, protocol, int32(p.port))
					if got := w.trace(p); strings.Contains(got, `output("`+pair[1].Namespace+"_"+pair[1].Name+`")`) != want {
						t.Errorf("%s/%s to %s/%s, %s, %s %d: %q, want it allowed: %v", pair[0].Namespace, pair[0].Name, pair[1].Namespace, pair[1].Name, ip.IP, protocol, p.port, got, want)
					}
				}
			}
		}
	}
}

// decide reports whether policies are about a direction.
func (c cluster) decide(egress bool) bool {
	return slices.ContainsFunc(c.policies, func(p *networkingv1.NetworkPolicy) bool {
		return slices.Contains(p.Spec.PolicyTypes, map[bool]networkingv1.PolicyType{false: networkingv1.PolicyTypeIngress, true: networkingv1.PolicyTypeEgress}[egress])
	})
}

// permits reports whether the policies of a cluster allow a connection.
func permits(c cluster, source, destination *corev1.Pod, family int, protocol corev1.Protocol, port int32) bool {
	into, out := map[bool]bool{}, map[bool]bool{} // whether a policy applies, by whether it allows
	for _, policy := range c.policies {
		spec := policy.Spec
		selector, _ := metav1.LabelSelectorAsSelector(&spec.PodSelector)
		applies := func(pod *corev1.Pod) bool {
			return pod.Namespace == policy.Namespace && selector.Matches(labels.Set(pod.Labels))
		}
		if slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeIngress) && applies(destination) {
			into[slices.ContainsFunc(spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
				return c.peers(policy.Namespace, rule.From, source, family) && matches(rule.Ports, destination, protocol, port)
			})] = true
		}
		if slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeEgress) && applies(source) {
			out[slices.ContainsFunc(spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
				return c.peers(policy.Namespace, rule.To, destination, family) && matches(rule.Ports, destination, protocol, port)
			})] = true
		}
	}
	return (len(into) == 0 || into[true]) && (len(out) == 0 || out[true])
}

// peers reports whether a Pod is one of the peers.
func (c cluster) peers(namespace string, listed []peer, pod *corev1.Pod, family int) bool {
	for _, p := range listed {
		if p.IPBlock != nil {
			address := netip.MustParseAddr(pod.Status.PodIPs[family].IP)
			within := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(address) }
			if within(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, within) {
				return true
			}
			continue
		}
		in := pod.Namespace == namespace
		if p.NamespaceSelector != nil {
			selector, _ := metav1.LabelSelectorAsSelector(p.NamespaceSelector)
			in = slices.ContainsFunc(c.namespaces, func(n *corev1.Namespace) bool {
				return n.Name == pod.Namespace && selector.Matches(labels.Set(n.Labels))
			})
		}
		if p.PodSelector != nil {
			selector, _ := metav1.LabelSelectorAsSelector(p.PodSelector)
			in = in && selector.Matches(labels.Set(pod.Labels))
		}
		if in {
			return true
		}
	}
	return len(listed) == 0
}

// matches reports whether a port of a Pod is one of the ports.
func matches(listed ports, pod *corev1.Pod, protocol corev1.Protocol, port int32) bool {
	for _, p := range listed {
		switch {
		case *p.Protocol != protocol:
		case p.Port == nil:
			return true
		case p.EndPort != nil:
			if p.Port.IntVal <= port && port <= *p.EndPort {
				return true
			}
		case p.Port.Type == intstr.Int:
			if p.Port.IntVal == port {
				return true
			}
		default:
			for _, named := range pod.Spec.Containers[0].Ports {
				if named.Name == p.Port.StrVal && named.ContainerPort == port {
					return true
				}
			}
		}
	}
	return len(listed) == 0
}
