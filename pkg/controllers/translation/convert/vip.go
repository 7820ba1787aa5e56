// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// VIP is a port at an external address of a Service, one of its externalIPs or of its load balancer. Users choose these, and what is
// served there takes the packets of who has the address otherwise: https://github.com/kubernetes/kubernetes/issues/97076 (CVE-2020-8554).
type VIP struct {
	Address  netip.Addr
	Protocol corev1.Protocol
	Port     int32
}

// Occupied are VIPs that are not served, by what has the address or the port at it.
type Occupied map[VIP]string

// VIPsOf returns the VIPs of a Service.
func VIPsOf(service *corev1.Service) []VIP {
	_, external, _ := servedAddresses(service)
	var vips []VIP
	for _, address := range external {
		for _, port := range service.Spec.Ports {
			vips = append(vips, VIP{address, port.Protocol, port.Port})
		}
	}
	return vips
}

// AddressesOf returns all addresses of a Service that is served, and whether one of them is external.
func AddressesOf(service *corev1.Service) (addresses []netip.Addr, external bool) {
	if !hasClusterIP(service) {
		return nil, false
	}
	all, outside, _ := servedAddresses(service)
	return all, len(outside) > 0
}

// HasClusterIP reports whether an address is a cluster IP of a Service.
func HasClusterIP(service *corev1.Service, address netip.Addr) bool {
	return slices.ContainsFunc(append([]string{service.Spec.ClusterIP}, service.Spec.ClusterIPs...), func(text string) bool {
		own, failed := parseAddress(clusterIPField, text)
		return failed == nil && own == address
	})
}

// HasPod reports whether an address is in a range of the Pods of a Node.
func HasPod(node *corev1.Node, address netip.Addr) bool {
	return slices.ContainsFunc(subnetsOf(node), func(s subnet) bool { return s.Contains(address) })
}

// NodeHas returns what an address is of a Node: an address of a Pod or its own; "" if neither.
func NodeHas(node *corev1.Node, address netip.Addr) string {
	if HasPod(node, address) {
		return "in the range of the Pods of node " + node.Name
	}
	if slices.ContainsFunc(node.Status.Addresses, func(listed corev1.NodeAddress) bool {
		own, err := netip.ParseAddr(listed.Address)
		return err == nil && own.Unmap() == address
	}) {
		return "an address of node " + node.Name
	}
	return ""
}
