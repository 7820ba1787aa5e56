// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"net/netip"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Scope reports which routes of a router are of a cluster.
type Scope struct {
	// ClusterCIDR is the range of the cluster's pods, and SecondCIDR the other one of a dual-stack cluster.
	ClusterCIDR, SecondCIDR netip.Prefix
	// Siblings are the ranges of the other clusters on the same router.
	Siblings []netip.Prefix
}

// Owned are the routes of the cluster, wherever they lead.
func (s Scope) Owned(routes []openstack.Route) []openstack.Route {
	var found []openstack.Route
	for _, r := range routes {
		if destination, err := netip.ParsePrefix(r.Destination); err == nil && s.contains(destination) {
			found = append(found, r)
		}
	}
	return found
}

// contains reports whether the first and the last address of a destination are the cluster's, and none is a sibling's. A range of
// all addresses belongs to no cluster.
func (s Scope) contains(destination netip.Prefix) bool {
	within := func(pods netip.Prefix) bool {
		return pods.IsValid() && pods.Bits() > 0 && destination.Bits() >= pods.Bits() && pods.Contains(destination.Addr())
	}
	if !within(s.ClusterCIDR) && !within(s.SecondCIDR) {
		return false
	}
	for _, sibling := range s.Siblings {
		if sibling.Overlaps(destination) {
			return false
		}
	}
	return true
}
