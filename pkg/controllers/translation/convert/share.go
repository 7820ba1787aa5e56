// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// Holdings are what a Node has and no other Node should have, whatever the backend: routes to two Nodes at the same time lead to
// one of them.
type Holdings struct {
	// Pods is the range of addresses of its Pods, the zero Prefix when it is not known.
	Pods netip.Prefix
	// Addresses are its own, those of its gateway, and the one that its tunnels end at, sorted.
	Addresses []netip.Addr
}

// HoldingsOf returns the ranges and addresses of a Node. Invalid ones are skipped; they are reported when the Node is converted.
func HoldingsOf(node *corev1.Node) Holdings {
	var h Holdings
	if pods, missing := subnetOf(node); missing == nil {
		h.Pods = pods.Prefix
	}
	texts := []string{node.Annotations[midonetv1.AnnotationTunnelEndpointIP]}
	for _, listed := range node.Status.Addresses {
		if listed.Type == corev1.NodeExternalIP || listed.Type == corev1.NodeInternalIP {
			texts = append(texts, listed.Address)
		}
	}
	if gateway, _ := gatewayOf(node); gateway != nil {
		for _, address := range gateway.addresses {
			texts = append(texts, address.Addr().String())
		}
	}
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil && address.Unmap().Is4() {
			h.Addresses = append(h.Addresses, address.Unmap())
		}
	}
	slices.SortFunc(h.Addresses, netip.Addr.Compare)
	h.Addresses = slices.Compact(h.Addresses)
	return h
}

// Equal reports whether both are the same.
func (h Holdings) Equal(other Holdings) bool {
	return h.Pods == other.Pods && slices.Equal(h.Addresses, other.Addresses)
}

// Overlaps reports whether two Nodes have something in common.
func (h Holdings) Overlaps(other Holdings) bool {
	return h.overlapsPods(other) || slices.ContainsFunc(h.Addresses, other.has)
}

func (h Holdings) overlapsPods(other Holdings) bool {
	return h.Pods.IsValid() && other.Pods.IsValid() && h.Pods.Overlaps(other.Pods)
}

func (h Holdings) has(address netip.Addr) bool { return slices.Contains(h.Addresses, address) }

// Shared returns the problems of a Node that has something in common with others, which are given by name.
func (h Holdings) Shared(others map[string]Holdings) []Problem {
	var sharePods, shareAddress []string
	var address netip.Addr
	for _, name := range slices.Sorted(maps.Keys(others)) {
		other := others[name]
		if h.overlapsPods(other) {
			sharePods = append(sharePods, name)
		}
		if i := slices.IndexFunc(h.Addresses, other.has); i >= 0 {
			if !address.IsValid() {
				address = h.Addresses[i]
			}
			if other.has(address) {
				shareAddress = append(shareAddress, name)
			}
		}
	}
	var problems []Problem
	if len(shareAddress) > 0 {
		problems = append(problems, *problem(ReasonNodeAddressShared, "%s the address %s as well: traffic for it reaches one of them only",
			nodesAnd(shareAddress, "has", "have"), address))
	}
	if len(sharePods) > 0 {
		problems = append(problems, *problem(ReasonPodCIDRShared, "the spec.podCIDR %s overlaps with that of %s: pods of those nodes may have the same addresses",
			h.Pods, nodesAnd(sharePods, "", "")))
	}
	return problems
}

// nodesAnd names the first few of several Nodes, with a verb.
func nodesAnd(names []string, singular, plural string) string {
	if len(names) == 1 {
		return strings.TrimSpace("node " + names[0] + " " + singular)
	}
	return strings.TrimSpace("nodes " + firstOf(names) + " " + plural)
}
