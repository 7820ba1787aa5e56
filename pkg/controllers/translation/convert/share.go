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
	// Pods are the ranges of addresses of its Pods, one of each family at most.
	Pods []netip.Prefix
	// Addresses are its own, those of its gateway, and the one that its tunnels end at, sorted.
	Addresses []netip.Addr
}

// HoldingsOf returns the ranges and addresses of a Node. Invalid ones are skipped; they are reported when the Node is converted.
func HoldingsOf(node *corev1.Node) Holdings {
	var h Holdings
	for _, pods := range subnetsOf(node) {
		h.Pods = append(h.Pods, pods.Prefix)
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
		if address, err := netip.ParseAddr(text); err == nil {
			h.Addresses = append(h.Addresses, address.Unmap())
		}
	}
	slices.SortFunc(h.Addresses, netip.Addr.Compare)
	h.Addresses = slices.Compact(h.Addresses)
	return h
}

// Equal reports whether both are the same.
func (h Holdings) Equal(other Holdings) bool {
	return slices.Equal(h.Pods, other.Pods) && slices.Equal(h.Addresses, other.Addresses)
}

// Overlaps reports whether two Nodes have something in common.
func (h Holdings) Overlaps(other Holdings) bool {
	return h.sharedPods(other) >= 0 || slices.ContainsFunc(h.Addresses, other.has) ||
		slices.ContainsFunc(h.Addresses, other.hasPod) || slices.ContainsFunc(other.Addresses, h.hasPod)
}

// sharedPods returns the index of the range that overlaps with one of another Node, -1 if none does.
func (h Holdings) sharedPods(other Holdings) int {
	return slices.IndexFunc(h.Pods, func(pods netip.Prefix) bool { return slices.ContainsFunc(other.Pods, pods.Overlaps) })
}

func (h Holdings) hasPod(address netip.Addr) bool {
	return slices.ContainsFunc(h.Pods, func(pods netip.Prefix) bool { return pods.Contains(address) })
}

func (h Holdings) has(address netip.Addr) bool { return slices.Contains(h.Addresses, address) }

// Shared returns the problems of a Node that has something in common with others, which are given by name.
func (h Holdings) Shared(others map[string]Holdings) []Problem {
	var sharePods, shareAddress []string
	var address netip.Addr
	var pods netip.Prefix
	for _, name := range slices.Sorted(maps.Keys(others)) {
		other := others[name]
		if i := h.sharedPods(other); i >= 0 {
			if len(sharePods) == 0 {
				pods = h.Pods[i]
			}
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
			pods, nodesAnd(sharePods, "", "")))
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
