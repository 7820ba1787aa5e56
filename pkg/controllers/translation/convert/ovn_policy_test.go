// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func testPolicy(edits ...func(*networkingv1.NetworkPolicySpec)) *networkingv1.NetworkPolicy {
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "np", UID: "u"}}
	policy.Spec.PodSelector.MatchLabels = map[string]string{"app": "web"}
	policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	for _, edit := range edits {
		edit(&policy.Spec)
	}
	return policy
}

func labelled(value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}
}

// from and to are a policy's only rule of that direction.
func from(ports []networkingv1.NetworkPolicyPort, peers ...networkingv1.NetworkPolicyPeer) func(*networkingv1.NetworkPolicySpec) {
	return func(s *networkingv1.NetworkPolicySpec) {
		s.Ingress = append(s.Ingress, networkingv1.NetworkPolicyIngressRule{Ports: ports, From: peers})
	}
}

func to(ports []networkingv1.NetworkPolicyPort, peers ...networkingv1.NetworkPolicyPeer) func(*networkingv1.NetworkPolicySpec) {
	return func(s *networkingv1.NetworkPolicySpec) {
		s.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
		s.Egress = append(s.Egress, networkingv1.NetworkPolicyEgressRule{Ports: ports, To: peers})
	}
}

func block(cidr string, except ...string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}
}

func port(protocol corev1.Protocol, number any, last ...int32) networkingv1.NetworkPolicyPort {
	made := networkingv1.NetworkPolicyPort{Protocol: &protocol}
	switch number := number.(type) {
	case int:
		made.Port = new(intstr.FromInt(number))
	case string:
		made.Port = new(intstr.FromString(number))
	}
	if len(last) > 0 {
		made.EndPort = &last[0]
	}
	return made
}

func testNamespaces() []*corev1.Namespace {
	var all []*corev1.Namespace
	for _, name := range []string{"default", "other", "third"} {
		all = append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name, "two": map[bool]string{true: "yes"}[name != "default"]}}})
	}
	return all
}

// member returns a Pod with the label app and ports as name=number.
func member(namespace, name, app string, ports ...corev1.ContainerPort) *corev1.Pod {
	return ovnPod(func(p *corev1.Pod) {
		p.Namespace, p.Name, p.Labels = namespace, name, map[string]string{"app": app}
		p.Spec.Containers = []corev1.Container{{Ports: ports}}
	})
}

// The ACLs of a policy, as "direction: match", with the names of groups instead of their ids: WEB are the subjects.
func TestOVNNetworkPolicy(t *testing.T) {
	tcp := corev1.ProtocolTCP
	third := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "third"}}}
	everywhere := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}}
	for name, tc := range map[string]struct {
		edits    []func(*networkingv1.NetworkPolicySpec)
		acls     []string
		groups   []string // other than those of the subjects
		problems []string
	}{
		"deny all":  {},
		"allow all": {[]func(*networkingv1.NetworkPolicySpec){from(nil)}, []string{"to-lport: outport == @WEB && ip"}, nil, nil},
		"port and range": {[]func(*networkingv1.NetworkPolicySpec){from([]networkingv1.NetworkPolicyPort{port(tcp, 80), port(corev1.ProtocolSCTP, 90, 99), port(corev1.ProtocolUDP, nil)})},
			[]string{"to-lport: outport == @WEB && (tcp.dst == 80 || 90 <= sctp.dst <= 99 || udp)"}, nil, nil},
		"own namespace": {[]func(*networkingv1.NetworkPolicySpec){from(nil, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}})},
			[]string{"to-lport: outport == @WEB && (ip4.src == {$NS-default_ip4} || ip6.src == {$NS-default_ip6})"}, nil, nil},
		"namespaces": {[]func(*networkingv1.NetworkPolicySpec){from(nil, third, networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"two": "yes"}}})},
			[]string{"to-lport: outport == @WEB && (ip4.src == {$NS-other_ip4, $NS-third_ip4} || ip6.src == {$NS-other_ip6, $NS-third_ip6})"}, nil, nil},
		"all namespaces": {[]func(*networkingv1.NetworkPolicySpec){to(nil, everywhere)}, []string{"from-lport: inport == @WEB && (ip4.dst == {$ALL_ip4} || ip6.dst == {$ALL_ip6})"}, nil, nil},
		"no namespace":   {[]func(*networkingv1.NetworkPolicySpec){from(nil, networkingv1.NetworkPolicyPeer{NamespaceSelector: labelled("x")})}, nil, nil, nil},
		"pods": {[]func(*networkingv1.NetworkPolicySpec){from([]networkingv1.NetworkPolicyPort{port(tcp, 80)}, networkingv1.NetworkPolicyPeer{PodSelector: labelled("client")})},
			[]string{"to-lport: outport == @WEB && (ip4.src == {$G(ingress/0/0)_ip4} || ip6.src == {$G(ingress/0/0)_ip6}) && (tcp.dst == 80)"}, []string{"ingress/0/0"}, nil},
		"pods of namespaces": {[]func(*networkingv1.NetworkPolicySpec){to(nil, networkingv1.NetworkPolicyPeer{PodSelector: labelled("db"), NamespaceSelector: third.NamespaceSelector})},
			[]string{"from-lport: inport == @WEB && (ip4.dst == {$G(egress/0/0)_ip4} || ip6.dst == {$G(egress/0/0)_ip6})"}, []string{"egress/0/0"}, nil},
		"blocks": {[]func(*networkingv1.NetworkPolicySpec){to(nil, block("10.9.8.7/8", "10.1.0.0/16", "10.2.0.0/16"), block("192.0.2.1/32"), block("2001:db8::/32"), block("0.0.0.0/0"), block("::/0", "fd00::/8"))},
			[]string{"from-lport: inport == @WEB && (ip4.dst == {192.0.2.1} || (ip4.dst == 10.0.0.0/8 && ip4.dst != {10.1.0.0/16, 10.2.0.0/16}) || ip4 || ip6.dst == {2001:db8::/32} || (ip6 && ip6.dst != {fd00::/8}))"}, nil, nil},
		"block that is none": {[]func(*networkingv1.NetworkPolicySpec){from(nil, block("x"), block("10.0.0.0/8", "y"))}, nil, nil, []string{ReasonInvalidAddress, ReasonInvalidAddress}},
		"selector that is none": {[]func(*networkingv1.NetworkPolicySpec){from(nil, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "x"}}}})},
			[]string{"to-lport: outport == @WEB && (ip4.src == {$G(ingress/0/0)_ip4} || ip6.src == {$G(ingress/0/0)_ip6})"}, []string{"ingress/0/0"}, []string{ReasonInvalidSelector}},
		"named port": {[]func(*networkingv1.NetworkPolicySpec){from([]networkingv1.NetworkPolicyPort{port(tcp, "http"), port(tcp, 443)}, block("192.0.2.0/24"))}, []string{
			"to-lport: outport == @WEB && (ip4.src == {192.0.2.0/24}) && (tcp.dst == 443)",
			"to-lport: outport == @G(tcp/http/80) && (ip4.src == {192.0.2.0/24}) && tcp.dst == 80", "to-lport: outport == @G(tcp/http/8080) && (ip4.src == {192.0.2.0/24}) && tcp.dst == 8080",
		}, []string{"tcp/http/80", "tcp/http/8080"}, nil},
		"named port of peers": {[]func(*networkingv1.NetworkPolicySpec){to([]networkingv1.NetworkPolicyPort{port(tcp, "http")}, networkingv1.NetworkPolicyPeer{PodSelector: labelled("web")}, block("10.0.0.0/8"))}, []string{
			"from-lport: inport == @WEB && (ip4.dst == {$G(egress/0/0/tcp/http/80)_ip4} || ip6.dst == {$G(egress/0/0/tcp/http/80)_ip6}) && tcp.dst == 80",
			"from-lport: inport == @WEB && (ip4.dst == {$G(egress/0/0/tcp/http/8080)_ip4} || ip6.dst == {$G(egress/0/0/tcp/http/8080)_ip6}) && tcp.dst == 8080",
		}, []string{"egress/0/0/tcp/http/80", "egress/0/0/tcp/http/8080"}, nil},
		"named port of any": {[]func(*networkingv1.NetworkPolicySpec){to([]networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, "dns")})},
			[]string{"from-lport: inport == @WEB && (ip4.dst == {$G(egress/0/udp/dns/53)_ip4} || ip6.dst == {$G(egress/0/udp/dns/53)_ip6}) && udp.dst == 53"}, []string{"egress/0/udp/dns/53"}, nil},
		"named port of none": {[]func(*networkingv1.NetworkPolicySpec){from([]networkingv1.NetworkPolicyPort{port(tcp, "x")})}, nil, nil, nil},
		"egress that is not enabled": {[]func(*networkingv1.NetworkPolicySpec){to(nil), func(s *networkingv1.NetworkPolicySpec) {
			s.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		}}, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o, p := ovnEmitter(), ReadPolicy(testPolicy(tc.edits...))
			pods := []*corev1.Pod{
				member("default", "a", "web", corev1.ContainerPort{Name: "http", ContainerPort: 80}, corev1.ContainerPort{Name: "http", ContainerPort: 80, Protocol: corev1.ProtocolUDP}),
				member("default", "b", "web", corev1.ContainerPort{Name: "http", ContainerPort: 8080}), member("default", "c", "other", corev1.ContainerPort{Name: "http", ContainerPort: 1}),
				member("other", "d", "web", corev1.ContainerPort{Name: "http", ContainerPort: 2}, corev1.ContainerPort{Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}),
			}
			result := o.NetworkPolicy(p, testNamespaces(), pods, Logging{})
			names := map[string]string{groupName(o.policyGroup(p, "")): "WEB", groupName(o.allPods()): "ALL"}
			for _, namespace := range testNamespaces() {
				names[groupName(o.namespaceGroup(namespace.Name))] = "NS-" + namespace.Name
			}
			for _, key := range tc.groups {
				names[groupName(o.policyGroup(p, key))] = "G(" + key + ")"
			}
			var acls, groups []string
			for _, line := range bodies(t, result, names) {
				switch {
				case strings.Contains(line, `"name":"G(`):
					_, rest, _ := strings.Cut(line, `"name":"G(`)
					key, _, _ := strings.Cut(rest, ")")
					groups = append(groups, key)
				case strings.Contains(line, "ACL in"):
					body := fields(t, resources(t, result, "networkpolicy.4.np")[len(acls)+1])
					if (body["options"] != nil) != (body["direction"] == fromPort) || body["action"] != "allow-related" {
						t.Errorf("ACL = %v", body)
					}
					match := body["match"].(string)
					for id, name := range names {
						match = strings.ReplaceAll(match, id, name)
					}
					acls = append(acls, body["direction"].(string)+": "+match)
				}
			}
			// The order within a set is that of ids.
			for i := range acls {
				acls[i] = sortedSets(acls[i])
			}
			expect(t, acls, tc.acls)
			slices.Sort(groups)
			expect(t, groups, tc.groups)
			expect(t, problems(result), tc.problems)
			expect(t, result.Translations[0].OwnerReferences[0].APIVersion, "networking.k8s.io/v1")
			slices.Reverse(pods)
			expect(t, o.NetworkPolicy(p, testNamespaces(), pods, Logging{}), result)
		})
	}
}

// sortedSets has the elements of each set in the order of their names.
func sortedSets(match string) string {
	parts := strings.Split(match, "{")
	for i := 1; i < len(parts); i++ {
		set, rest, _ := strings.Cut(parts[i], "}")
		elements := strings.Split(set, ", ")
		slices.Sort(elements)
		parts[i] = strings.Join(elements, ", ") + "}" + rest
	}
	return strings.Join(parts, "{")
}

// TestOVNGroupsOfPods checks the groups of the port of a Pod.
func TestOVNGroupsOfPods(t *testing.T) {
	web := testPolicy(from(nil, networkingv1.NetworkPolicyPeer{PodSelector: labelled("client")}))
	egress := testPolicy(to([]networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, "http")}, networkingv1.NetworkPolicyPeer{PodSelector: labelled("db"), NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "other"}}}))
	egress.Name = "egress"
	legacy := testPolicy(func(s *networkingv1.NetworkPolicySpec) { s.PolicyTypes, s.PodSelector = nil, metav1.LabelSelector{} }, func(s *networkingv1.NetworkPolicySpec) {
		s.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
	})
	legacy.Name = "legacy"
	for name, tc := range map[string]struct {
		pod          *corev1.Pod
		policies     []*networkingv1.NetworkPolicy
		untranslated bool
		want         []string
	}{
		"no policy":         {member("default", "a", "web"), nil, false, nil},
		"subject":           {member("default", "a", "web"), []*networkingv1.NetworkPolicy{web}, false, []string{"ISOLATED-ingress", "np"}},
		"not translated":    {member("default", "a", "web"), []*networkingv1.NetworkPolicy{web}, true, []string{"ISOLATED-ingress"}},
		"peer":              {member("default", "a", "client"), []*networkingv1.NetworkPolicy{web}, false, []string{"np ingress/0/0"}},
		"neither":           {member("default", "a", "x"), []*networkingv1.NetworkPolicy{web, egress}, false, nil},
		"another namespace": {member("other", "a", "web"), []*networkingv1.NetworkPolicy{web}, false, nil},
		"of egress":         {member("default", "a", "web"), []*networkingv1.NetworkPolicy{egress}, false, []string{"ISOLATED-egress", "egress"}},
		"named port":        {member("other", "a", "db", corev1.ContainerPort{Name: "http", ContainerPort: 80}), []*networkingv1.NetworkPolicy{egress}, false, []string{"egress egress/0/0/tcp/http/80"}},
		"other named port":  {member("other", "a", "db", corev1.ContainerPort{Name: "https", ContainerPort: 80}), []*networkingv1.NetworkPolicy{egress}, false, nil},
		"without types":     {member("default", "a", "x"), []*networkingv1.NetworkPolicy{legacy}, false, []string{"ISOLATED-egress", "ISOLATED-ingress", "legacy"}},
		"two policies":      {member("default", "a", "web"), []*networkingv1.NetworkPolicy{web, egress}, false, []string{"ISOLATED-egress", "ISOLATED-ingress", "egress", "np"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := ovnEmitter()
			scope := Scope{Namespace: labels.Set{"name": tc.pod.Namespace}, Translated: func(*Policy, string) bool { return !tc.untranslated }}
			names := map[string]string{o.isolated(false).String(): "ISOLATED-ingress", o.isolated(true).String(): "ISOLATED-egress"}
			for _, policy := range tc.policies {
				p := ReadPolicy(policy)
				scope.Policies = append(scope.Policies, p)
				for _, key := range []string{"", "ingress/0/0", "egress/0/0/tcp/http/80"} {
					names[o.policyGroup(p, key).String()] = strings.TrimSpace(p.Name + " " + key)
				}
			}
			result := o.Pod(tc.pod, ovnNode(), scope)
			var got []string
			always := 0
			for _, id := range fields(t, result.Translations[0].Resources[0])["port_groups"].([]any) {
				switch name := names[id.(string)]; {
				case name != "":
					got = append(got, name)
				case id == o.allPods().String(), id == o.namespaceGroup(tc.pod.Namespace).String():
					always++
				default:
					t.Errorf("unknown group %s", id)
				}
			}
			slices.Sort(got)
			expect(t, got, tc.want)
			expect(t, always, 2)
		})
	}
}

func TestOVNNamespace(t *testing.T) {
	o := ovnEmitter()
	result := o.Namespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "u"}})
	id := o.namespaceGroup("default")
	expect(t, bodies(t, result, map[string]string{id.String(): "ID", groupName(id): "NAME"}), []string{
		`namespace.4.default: PortGroup in : {"external_ids":{"owner":"Namespace default"},"id":"ID","name":"NAME"}`,
	})
	expect(t, result.Translations[0].Namespace, metav1.NamespaceDefault)
}
