// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// kindPolicyGroup is the kind of the Translation of the Pods that a NetworkPolicy names, other than those that it applies to.
const kindPolicyGroup = "NetworkPolicy-Group"

// Priorities of ACLs: what a policy allows, and what is always allowed, precedes what a policy logs that it denies, and that precedes
// isolation.
const (
	priorityIsolated = 999
	priorityDenied   = 1000
	priorityAllowed  = 1001
)

// Directions of ACLs: to a Pod, and from a Pod.
const (
	toPort   = "to-lport"
	fromPort = "from-lport"
)

// hairpin4 and hairpin6 are where the connections of a Pod to itself by way of a Service come from.
const (
	hairpin4 = "169.254.0.5"
	hairpin6 = "fd69::5"
)

// Scope is what is known of other objects for a Pod.
type Scope struct {
	// Taken are the addresses and MAC addresses of the Pod that an older Pod on its Node has, with the name of that Pod.
	Taken map[string]string
	// Namespace are the labels of the Pod's namespace.
	Namespace labels.Set
	// Policies are those that may concern the Pod: of its namespace, and those that are Across namespaces.
	Policies []*Policy
	// Translated reports whether a policy has the Translation with a name. A port is in groups of such only: a policy that cannot be written must not
	// keep Pods without network, which might be another tenant's.
	Translated func(policy *Policy, name string) bool
}

// isolated returns the group of the Pods that are isolated in a direction. It exists before any policy does, so that a port is
// isolated by the transaction that creates it.
func (o OVN) isolated(egress bool) uuid.UUID {
	return o.ids().ForKey(kindOVNGlobal, "isolated-"+direction(egress))
}

// allPods returns the group of all Pods, namespaceGroup that of a namespace.
func (o OVN) allPods() uuid.UUID { return o.ids().ForKey(kindOVNGlobal, "pods") }
func (o OVN) namespaceGroup(namespace string) uuid.UUID {
	return o.ids().ForKey(KindNamespace, namespace)
}

func (o OVN) policyGroup(p *Policy, key string) uuid.UUID {
	return SubID(o.ids().ForKey(KindNetworkPolicy, p.Namespace+"/"+p.Name), "Group "+key)
}

func policyTranslation(p *Policy, key string) string {
	if key == "" {
		return TranslationName(KindNetworkPolicy, p.Name)
	}
	return TranslationName(kindPolicyGroup, p.Name+"/"+key)
}

// groupName returns the name of a group. In the match of an ACL, a name has no dashes.
func groupName(id uuid.UUID) string { return "gk_" + strings.ReplaceAll(id.String(), "-", "") }

func group(id uuid.UUID, owner string) midonetv1.BackendResource {
	return row("PortGroup", uuid.Nil, id, columns{"name": groupName(id), "external_ids": map[string]string{"owner": owner}})
}

// acl returns a rule of a group. What is allowed includes replies. What a Pod sends is matched after the choice of an endpoint,
// because policies are about Pods and not about the addresses of Services.
func acl(group, id uuid.UUID, direction string, priority int, action, match string, more columns) midonetv1.BackendResource {
	body := columns{"direction": direction, "priority": priority, "action": action, "match": match}
	maps.Copy(body, more)
	if direction == fromPort {
		body["options"] = map[string]string{"apply-after-lb": "true"}
	}
	return row("ACL", group, id, body)
}

// isolation are the groups of isolated Pods. A Pod always reaches itself.
func (o OVN) isolation(c *collector) {
	to, from := o.isolated(false), o.isolated(true)
	c.add(kindOVNGlobal, "isolated-ingress", group(to, "isolated Pods"),
		acl(to, SubID(to, "Deny"), toPort, priorityIsolated, "drop", "outport == @"+groupName(to)+" && ip", nil),
		acl(to, SubID(to, "Hairpin"), toPort, priorityAllowed, "allow-related",
			fmt.Sprintf("outport == @%s && (ip4.src == %s || ip6.src == %s)", groupName(to), hairpin4, hairpin6), nil))
	c.add(kindOVNGlobal, "isolated-egress", group(from, "isolated Pods"),
		acl(from, SubID(from, "Deny"), fromPort, priorityIsolated, "drop", "inport == @"+groupName(from)+" && ip", nil))
}

// nodeAccess allows connections between a Node and the Pods on it, which no policy denies. The ACLs are on the Node's switch alone,
// because the only port of their group is the Node's.
func (o OVN) nodeAccess(id uuid.UUID, node *corev1.Node, own []netip.Addr, occupied map[netip.Addr]string) []midonetv1.BackendResource {
	addresses := slices.Clone(own)
	for _, listed := range node.Status.Addresses {
		if address, failed := parseAddress("", listed.Address); failed == nil && occupied[address] == "" &&
			slices.Contains(o.Config.NodeAddressTypes, listed.Type) {
			addresses = append(addresses, address)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	var blocks []addressBlock
	for _, address := range slices.Compact(addresses) {
		blocks = append(blocks, addressBlock{Prefix: netip.PrefixFrom(address, address.BitLen())})
	}
	return []midonetv1.BackendResource{
		group(id, "Node "+node.Name),
		acl(id, SubID(id, "From Node"), toPort, priorityAllowed, "allow-related", peersMatch("src", nil, blocks), nil),
		acl(id, SubID(id, "To Node"), fromPort, priorityAllowed, "allow-related", peersMatch("dst", nil, blocks), nil),
	}
}

// groupsOf returns the groups that the port of a Pod is in, sorted.
func (o OVN) groupsOf(pod *corev1.Pod, scope Scope) []string {
	groups := []string{o.allPods().String(), o.namespaceGroup(pod.Namespace).String()}
	for _, p := range scope.Policies {
		if p.Isolates(pod) {
			if p.Ingress {
				groups = append(groups, o.isolated(false).String())
			}
			if p.Egress {
				groups = append(groups, o.isolated(true).String())
			}
		}
		for _, key := range p.groups(pod, scope.Namespace) {
			if scope.Translated(p, policyTranslation(p, key)) {
				groups = append(groups, o.policyGroup(p, key).String())
			}
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// Namespace returns what a namespace becomes: the group of its Pods.
func (o OVN) Namespace(namespace *corev1.Namespace) Result {
	c := newCollector(OwnerOf(KindNamespace, namespace))
	if _, failed := LoggingOf(namespace); failed != nil {
		c.skip(*failed)
	}
	c.add(KindNamespace, namespace.Name, group(o.namespaceGroup(namespace.Name), "Namespace "+namespace.Name))
	return c.done()
}

// NetworkPolicy returns what a policy becomes: the groups of Pods that it names, and an ACL for each of its rules. It takes all
// namespaces if it SelectsNamespaces, and the Pods that may have its NamedPorts. Logging is that of its namespace.
func (o OVN) NetworkPolicy(p *Policy, namespaces []*corev1.Namespace, pods []*corev1.Pod, logging Logging) Result {
	c := newCollector(p.owner)
	for _, skipped := range p.skipped {
		c.skip(skipped)
	}
	byName := map[string]labels.Set{}
	for _, namespace := range namespaces {
		byName[namespace.Name] = namespace.Labels
	}
	owner := "NetworkPolicy " + p.Namespace + "/" + p.Name
	numbers := map[string][]int32{}
	for _, s := range p.selections {
		if s.port.name != "" {
			numbers[s.key] = numbersOf(s, pods, byName)
		}
		for _, key := range keysOf(s, numbers) {
			if key != "" {
				c.add(kindPolicyGroup, p.Name+"/"+key, group(o.policyGroup(p, key), owner))
			}
		}
	}
	subjects := o.policyGroup(p, "")
	rows := []midonetv1.BackendResource{group(subjects, owner)}
	for _, rule := range p.rules {
		direction := toPort
		if rule.egress {
			direction = fromPort
		}
		for i, match := range o.matches(p, rule, byName, numbers) {
			id := SubID(subjects, rulePart(direction, rule.number, i))
			rows = append(rows, acl(subjects, id, direction, priorityAllowed, "allow-related", match, logged(aclName(p, strconv.Itoa(rule.number)), logging.Allow)))
		}
	}
	rows = append(rows, o.denials(p, logging)...)
	c.add(KindNetworkPolicy, p.Name, rows...)
	return c.done()
}

// numbersOf returns the numbers of a named port among Pods, sorted.
func numbersOf(s Selection, pods []*corev1.Pod, namespaces map[string]labels.Set) []int32 {
	var numbers []int32
	for _, pod := range pods {
		if hasOwnNetwork(pod) && s.has(pod, namespaces[pod.Namespace]) {
			numbers = append(numbers, s.port.numbers(pod)...)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// keysOf returns the keys of the groups of a selection: one, or one for each number of a named port.
func keysOf(s Selection, numbers map[string][]int32) []string {
	if s.port.name == "" {
		return []string{s.key}
	}
	var keys []string
	for _, number := range numbers[s.key] {
		keys = append(keys, s.keyAt(number))
	}
	return keys
}

// matches returns the matches of the ACLs of a rule: one for its numbered ports, and one for each number of a named one.
func (o OVN) matches(p *Policy, rule policyRule, namespaces map[string]labels.Set, numbers map[string][]int32) []string {
	subjects := o.policyGroup(p, "")
	own, other := "outport", "src"
	if rule.egress {
		own, other = "inport", "dst"
	}
	var found []string
	add := func(at uuid.UUID, parts ...string) {
		match := own + " == @" + groupName(at)
		for _, part := range parts {
			if part != "" {
				match += " && " + part
			}
		}
		found = append(found, match)
	}
	peers := peersMatch(other, o.peerGroups(p, rule, namespaces), rule.blocks)
	if peers != "" || rule.any {
		if rule.anyPort {
			// With any peer and any port, all of IP.
			add(subjects, inParentheses(peers), map[bool]string{true: "ip"}[peers == ""])
		} else if len(rule.ranges) > 0 {
			add(subjects, inParentheses(peers), inParentheses(portsMatch(rule.ranges)))
		}
	}
	for _, target := range rule.targets(p.subjects) {
		for _, number := range numbers[target.key] {
			at := o.policyGroup(p, target.keyAt(number))
			port := portsMatch([]portRange{{target.port.protocol, number, number}})
			switch {
			case rule.egress:
				add(subjects, inParentheses(peersMatch(other, []uuid.UUID{at}, nil)), port)
			case peers != "" || rule.any:
				add(at, inParentheses(peers), port)
			}
		}
	}
	return found
}

func (o OVN) peerGroups(p *Policy, rule policyRule, namespaces map[string]labels.Set) []uuid.UUID {
	var groups []uuid.UUID
	for _, peer := range rule.peers {
		switch {
		case !peer.pods.Empty():
			groups = append(groups, o.policyGroup(p, peer.key))
		case peer.namespaces == nil:
			groups = append(groups, o.namespaceGroup(peer.namespace))
		case peer.namespaces.Empty():
			groups = append(groups, o.allPods())
		default:
			for name, set := range namespaces {
				if peer.namespaces.Matches(set) {
					groups = append(groups, o.namespaceGroup(name))
				}
			}
		}
	}
	slices.SortFunc(groups, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(groups)
}
