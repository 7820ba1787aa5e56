// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
)

// servesRanges reports whether kube-apiserver serves ServiceCIDRs, as it does since Kubernetes 1.33. Otherwise the range is known to
// nobody but kube-apiserver.
func servesRanges(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: networkingv1.GroupName, Kind: "ServiceCIDR"}, networkingv1.SchemeGroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find out whether ServiceCIDRs are served: %w", err)
	}
	return true, nil
}

// rangesOf returns the ranges out of which cluster IPs are assigned, none if ServiceCIDRs are not served. One that is being deleted remains
// as long as it has cluster IPs. An error means that they are unknown.
func (r *reconciler) rangesOf(ctx context.Context) ([]netip.Prefix, error) {
	if !r.ranges {
		return nil, nil
	}
	list := &networkingv1.ServiceCIDRList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list service CIDRs: %w", err)
	}
	var all []netip.Prefix
	for i := range list.Items {
		for _, text := range list.Items[i].Spec.CIDRs {
			prefix, err := netip.ParsePrefix(text)
			if err != nil {
				return nil, fmt.Errorf("service CIDR %s: %w", list.Items[i].Name, err)
			}
			all = append(all, prefix)
		}
	}
	return all, nil
}

// inRange returns which range of cluster IPs an address is in, "" for none.
func inRange(ranges []netip.Prefix, address netip.Addr) string {
	if i := slices.IndexFunc(ranges, func(prefix netip.Prefix) bool { return prefix.Contains(address) }); i >= 0 {
		return "in " + ranges[i].String() + ", the range of cluster IPs"
	}
	return ""
}

// watchRanges adds the watch of the ranges of cluster IPs.
func (m mapper) watchRanges(watches *builder.TypedBuilder[unit]) *builder.TypedBuilder[unit] {
	return watches.Watches(&networkingv1.ServiceCIDR{}, enqueue(m.besideRanges), builder.WithPredicates(later(rangesChanged())))
}

// besideRanges finds what may have addresses in a range of cluster IPs: Services with external addresses, and Nodes.
func (m mapper) besideRanges(ctx context.Context, object client.Object) []unit {
	units := m.servicesBeside(ctx, object)
	nodes := &corev1.NodeList{}
	err := m.cache.List(ctx, nodes, client.UnsafeDisableDeepCopy)
	for i := range nodes.Items {
		units = append(units, ofNode(ctx, &nodes.Items[i])...)
	}
	return quietly(ctx, "nodes beside a range of cluster IPs", units, err)
}

func rangesChanged() predicate.Predicate {
	return predicates.Changed(func(before, after *networkingv1.ServiceCIDR) bool {
		return !slices.Equal(before.Spec.CIDRs, after.Spec.CIDRs)
	})
}
