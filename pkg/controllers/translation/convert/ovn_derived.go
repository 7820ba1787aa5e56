// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"crypto/sha1" //nolint:gosec // see id.go
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// ovnKinds are the kinds in the names of the Translations of OVN.
var ovnKinds = []string{
	kindOVNGlobal, KindNode, kindNodeAddress, kindNodeGateway, KindPod, KindService, kindServiceLocal, KindNamespace, KindNetworkPolicy,
	kindPolicyGroup,
}

// kindByHand is the kind in the id of the one row that a Translation of no converter derives from its name.
const kindByHand = "Translation"

// Derives reports whether an id is derived from the tenant and the object that a Translation is made of, by its name. Only that proves
// whose row it is if the row does not record it: the ids of other tenants are derived, too. Where a hash ends the name, and for the rules
// of a policy, this searches; it is asked rarely. What it does not find is not the tenant's.
func (o OVN) Derives(translation types.NamespacedName, id string) bool {
	wanted, err := uuid.Parse(id)
	if err != nil {
		return false
	}
	kind, rest, _ := strings.Cut(translation.Name, ".")
	key, current := strings.CutPrefix(rest, midonetv1.TranslationVersion+".")
	i := slices.IndexFunc(ovnKinds, func(known string) bool { return strings.EqualFold(known, kind) })
	if i < 0 || !current {
		return o.ids().ForKey(kindByHand, translation.String()) == wanted
	}
	for _, candidate := range keysOfName(ovnKinds[i], key) {
		if TranslationName(ovnKinds[i], candidate) == translation.Name {
			return o.derives(ovnKinds[i], translation.Namespace, candidate, wanted)
		}
	}
	return false
}

// derives reports whether the object that a key names has a row with an id.
func (o OVN) derives(kind, namespace, key string, wanted uuid.UUID) bool {
	is := func(base uuid.UUID, parts ...string) bool {
		return base == wanted || slices.ContainsFunc(parts, func(part string) bool { return SubID(base, part) == wanted })
	}
	name, part, _ := strings.Cut(key, "/")
	switch kind {
	case kindOVNGlobal:
		return is(o.ids().ForKey(kind, key), "Deny", "Hairpin")
	case KindNode:
		at := o.ids().bridge(key)
		return is(at, "Router Port", "Switch Port", "Node Port", "Load Balancers") || is(SubID(at, "Node Group"), "From Node", "To Node")
	case kindNodeAddress:
		return is(o.ids().ForKey("Node Address", key))
	case kindNodeGateway:
		return is(o.ids().ForKey(kind, key), "Router", "Outside", "Inside Port", "Switch Port", "Outside Port", "Gateway Port", "Network Port",
			"Variables", "Route of Pods ipv4", "Route of Pods ipv6", "Policy ipv4", "Policy ipv6", "SNAT ipv4", "SNAT ipv6",
			"Default Route ipv4", "Default Route ipv6")
	case KindService:
		return o.derivesBalancer(namespace+"/"+key, wanted, "", "/switches")
	case kindServiceLocal:
		return o.derivesBalancer(namespace+"/"+name, wanted, "/node/"+part)
	case KindNetworkPolicy, kindPolicyGroup:
		at := SubID(o.ids().ForKey(KindNetworkPolicy, namespace+"/"+name), "Group "+part)
		return at == wanted || kind == KindNetworkPolicy && derivesRule(at, wanted)
	case KindNamespace:
		return is(o.ids().ForKey(kind, key))
	default:
		return is(o.ids().ForKey(kind, namespace+"/"+key))
	}
}

// derivesBalancer reports whether a load balancer of a Service at one of several places has an id.
func (o OVN) derivesBalancer(service string, wanted uuid.UUID, places ...string) bool {
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		for _, place := range places {
			for _, part := range []string{"", nodePortsPart(true), nodePortsPart(false)} {
				if o.ids().ForKey("Service", balancerKey(service, protocol, place, part)) == wanted {
					return true
				}
			}
		}
	}
	return false
}

// mostRules limits the numbers of rules, and of matches of a rule, that are searched.
const mostRules = 64

// derivesRule reports whether an ACL of the subjects of a policy has an id.
func derivesRule(subjects, wanted uuid.UUID) bool {
	for _, direction := range []string{toPort, fromPort} {
		if SubID(subjects, denialPart(direction)) == wanted {
			return true
		}
		for i := range mostRules * mostRules {
			if SubID(subjects, rulePart(direction, i/mostRules, i%mostRules)) == wanted {
				return true
			}
		}
	}
	return false
}

func rulePart(direction string, rule, match int) string {
	return fmt.Sprintf("Rule %s/%d/%d", direction, rule, match)
}

// mostDashes limits how many dashes of a name may each stand for a slash.
const mostDashes = 12

// keysOfName returns the keys that what follows the version in a name may stand for. If a hash ends it, a dash may stand for a slash, and
// the address of a Node has been changed further.
func keysOfName(kind, text string) []string {
	end := len(text) - len("-") - 2*sha1.Size
	if end <= 0 || text[end] != '-' {
		return []string{text}
	}
	var keys []string
	hashed := text[:end]
	if kind == kindNodeAddress {
		for _, of := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
			between := "-" + strings.ToLower(string(of)) + "-"
			if i := strings.LastIndex(hashed, between); i >= 0 {
				prefix, address := hashed[:i]+"/"+string(of)+"/", hashed[i+len(between):]
				keys = append(keys, prefix+address, prefix+strings.ReplaceAll(address, "-", ":"))
			}
		}
		return append(keys, text)
	}
	var dashes []int
	for i := range hashed {
		if hashed[i] == '-' {
			dashes = append(dashes, i)
		}
	}
	dashes = dashes[max(len(dashes)-mostDashes, 0):] // the keys of parts are at the end
	for mask := range 1 << len(dashes) {
		key := []byte(hashed)
		for bit, at := range dashes {
			if mask>>bit&1 == 1 {
				key[at] = '/'
			}
		}
		keys = append(keys, string(key))
	}
	return append(keys, text)
}
