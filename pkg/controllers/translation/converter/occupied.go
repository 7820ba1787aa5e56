// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

const (
	// servicesByAddress is the index that finds Services by their addresses, and by externalKey those that have an external one.
	servicesByAddress = ControllerName + "/address"
	externalKey       = "external"
	// nodesByAddress is the index that finds Nodes by the addresses in their status.
	nodesByAddress = ControllerName + "/nodeAddress"
)

func addressKeys(object client.Object) []string {
	service, ok := object.(*corev1.Service)
	if !ok {
		return nil
	}
	addresses, external := convert.AddressesOf(service)
	keys := make([]string, 0, len(addresses)+1)
	for _, address := range addresses {
		keys = append(keys, address.String())
	}
	if external {
		keys = append(keys, externalKey)
	}
	return keys
}

func nodeAddressKeys(object client.Object) []string {
	var keys []string
	if node, ok := object.(*corev1.Node); ok {
		for _, address := range convert.HoldingsOf(node).Addresses {
			keys = append(keys, address.String())
		}
	}
	return keys
}

// occupiedOf returns the addresses of a Node that something else has or may get, with what that is: a Service, or a Pod of another
// Node. A kubelet writes the addresses of its Node.
func (r *reconciler) occupiedOf(ctx context.Context, node *corev1.Node) (map[netip.Addr]string, error) {
	if r.isolator == nil {
		return nil, nil
	}
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	ranges, err := r.rangesOf(ctx)
	if err != nil {
		return nil, err
	}
	occupied := map[netip.Addr]string{}
	for _, address := range convert.HoldingsOf(node).Addresses {
		if within := inRange(ranges, address); within != "" {
			occupied[address] = within
		}
		services, err := servicesWith(ctx, r.client, address.String())
		if err != nil {
			return nil, err
		}
		for i := range services {
			if convert.HasClusterIP(&services[i], address) {
				occupied[address] = "a cluster IP of service " + services[i].Namespace + "/" + services[i].Name
			}
		}
		for i := range nodes.Items {
			if other := &nodes.Items[i]; other.Name != node.Name && convert.HasPod(other, address) {
				occupied[address] = "in the range of the Pods of node " + other.Name
			}
		}
	}
	return occupied, nil
}

// occupied returns the ports at external addresses of a Service that something else has: a cluster IP of another Service, an address
// of a Node or its Pods, the same port of an older Service, or nothing yet in the range of cluster IPs.
func (r *reconciler) occupied(ctx context.Context, service *corev1.Service) (convert.Occupied, error) {
	vips := convert.VIPsOf(service)
	if r.isolator == nil || len(vips) == 0 { // MidoNet serves no external address
		return nil, nil
	}
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	ranges, err := r.rangesOf(ctx)
	if err != nil {
		return nil, err
	}
	others := map[netip.Addr][]corev1.Service{}
	occupied := convert.Occupied{}
	for _, vip := range vips {
		if _, read := others[vip.Address]; !read {
			found, err := servicesWith(ctx, r.client, vip.Address.String())
			if err != nil {
				return nil, err
			}
			others[vip.Address] = found
		}
		if owner := ownerOf(service, vip, others[vip.Address], nodes.Items, ranges); owner != "" {
			occupied[vip] = owner
		}
	}
	return occupied, nil
}

// ownerOf returns what else has a port at an external address of a Service, "" for nothing. The others have the address, too.
func ownerOf(service *corev1.Service, vip convert.VIP, others []corev1.Service, nodes []corev1.Node, ranges []netip.Prefix) string {
	for i := range others {
		other := &others[i]
		name := other.Namespace + "/" + other.Name
		switch {
		case name == service.Namespace+"/"+service.Name:
		case convert.HasClusterIP(other, vip.Address):
			return "a cluster IP of service " + name
		case isOlder(other, service) && slices.Contains(convert.VIPsOf(other), vip):
			return "that of the older service " + name + ", with the same port"
		}
	}
	for i := range nodes {
		if has := convert.NodeHas(&nodes[i], vip.Address); has != "" {
			return has
		}
	}
	if convert.HasClusterIP(service, vip.Address) {
		return ""
	}
	// The next Service may be assigned an unused address, and its packets would go to this one.
	return inRange(ranges, vip.Address)
}

// isOlder reports whether an object keeps what another one has, too.
func isOlder(a, b client.Object) bool {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName())) < 0
}

// servicesWith finds Services in a cache by a key of servicesByAddress, by name.
func servicesWith(ctx context.Context, cache client.Reader, key string) ([]corev1.Service, error) {
	found := &corev1.ServiceList{}
	if err := cache.List(ctx, found, client.MatchingFields{servicesByAddress: key}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the services with address %s: %w", key, err)
	}
	slices.SortFunc(found.Items, func(a, b corev1.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found.Items, nil
}

// watchAddresses adds the watches of a backend that compares the addresses of objects.
func (m mapper) watchAddresses(watches *builder.TypedBuilder[unit]) *builder.TypedBuilder[unit] {
	return watches.
		Watches(&corev1.Node{}, enqueue(m.servicesBeside), builder.WithPredicates(later(addressesChanged()))).
		Watches(&corev1.Service{}, enqueue(m.servicesAt), builder.WithPredicates(later(changed()))).
		Watches(&corev1.Service{}, enqueue(m.nodesAt), builder.WithPredicates(later(changed()))).
		Watches(&corev1.Pod{}, enqueue(m.podsAt), builder.WithPredicates(later(changed())))
}

// servicesAt finds the Services that have an address of a Service, too. One that is changed arrives in its previous state, too.
func (m mapper) servicesAt(ctx context.Context, object client.Object) []unit {
	var units []unit
	for _, key := range addressKeys(object) {
		if key == externalKey {
			continue
		}
		found, err := servicesWith(ctx, m.cache, key)
		units = append(units, quietly(ctx, "services with the address of a service", unitsOf(ctx, found), err)...)
	}
	return units
}

// nodesAt finds the Nodes that have an address of a Service, too.
func (m mapper) nodesAt(ctx context.Context, object client.Object) []unit {
	var units []unit
	for _, key := range addressKeys(object) {
		found := &corev1.NodeList{}
		err := m.cache.List(ctx, found, client.MatchingFields{nodesByAddress: key}, client.UnsafeDisableDeepCopy)
		for i := range found.Items {
			units = append(units, ofNode(ctx, &found.Items[i])...)
		}
		units = quietly(ctx, "nodes with the address of a service", units, err)
	}
	return units
}

// servicesBeside finds the Services with external addresses, which a Node may have, too.
func (m mapper) servicesBeside(ctx context.Context, _ client.Object) []unit {
	found, err := servicesWith(ctx, m.cache, externalKey)
	return quietly(ctx, "services with external addresses", unitsOf(ctx, found), err)
}

func unitsOf(ctx context.Context, services []corev1.Service) []unit {
	var units []unit
	for i := range services {
		units = append(units, ofService(ctx, &services[i])...)
	}
	return units
}

// addressesChanged admits Nodes that appear or disappear, and those whose addresses change.
func addressesChanged() predicate.Predicate {
	return predicates.Changed(func(before, after *corev1.Node) bool {
		return before.Spec.PodCIDR != after.Spec.PodCIDR || !slices.Equal(before.Spec.PodCIDRs, after.Spec.PodCIDRs) ||
			!equality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses)
	})
}
