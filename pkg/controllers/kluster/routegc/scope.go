// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"cmp"
	"net/netip"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Scope determines which routes of a router belong to a cluster.
type Scope struct {
	// ClusterCIDR is the range of the cluster's pods, and SecondCIDR the other one of a dual-stack cluster.
	ClusterCIDR, SecondCIDR netip.Prefix
	// Siblings are the ranges of the other clusters on the same router.
	Siblings []netip.Prefix
}

// Owned returns the routes of the cluster, wherever they lead.
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
	return (within(s.ClusterCIDR) || within(s.SecondCIDR)) && !slices.ContainsFunc(s.Siblings, destination.Overlaps)
}

// siblings returns the other Klusters that are or may be on the router of one, in the order of their names.
func siblings(k *kubernikusv1.Kluster, all []kubernikusv1.Kluster) []*kubernikusv1.Kluster {
	var found []*kubernikusv1.Kluster
	for i := range all {
		other := &all[i]
		on := other.RouterID() == k.RouterID() || clusterid.MayShareRouter(k, other)
		if other.UID != k.UID && on && !clusterid.AreDeletedTogether(k, other) && !other.Spec.NoCloud && other.PodRanges()[0].IsValid() {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, func(a, b *kubernikusv1.Kluster) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found
}
