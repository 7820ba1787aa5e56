// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// annotations are those that are filled in, and what is recorded of them.
func annotations() []string {
	return []string{midonetv1.AnnotationHostID, midonetv1.AnnotationTunnelZoneID, midonetv1.AnnotationTunnelEndpointIP,
		midonetv1.AnnotationWrittenTunnelEndpointIP}
}

// present are the annotations that a Node has.
func present(node *corev1.Node) map[string]string {
	found := map[string]string{}
	for _, name := range annotations() {
		if value, ok := node.Annotations[name]; ok {
			found[name] = value
		}
	}
	return found
}

// lacksHost reports whether a Node does not know its host.
func lacksHost(node *corev1.Node) bool {
	_, has := node.Annotations[midonetv1.AnnotationHostID]
	return !has
}

// missing are the annotations to add to a Node whose host has the given id.
func missing(node *corev1.Node, host string) map[string]string {
	wanted := map[string]string{
		midonetv1.AnnotationHostID:       host,
		midonetv1.AnnotationTunnelZoneID: "", // the default zone
	}
	if address := tunnelEndpoint(node); address != "" {
		wanted[midonetv1.AnnotationTunnelEndpointIP] = address
	}
	for name := range present(node) {
		delete(wanted, name)
	}
	return wanted
}

// tunnelEndpoint is the first internal address of a Node that a tunnel can end at. It is empty as long as there is none.
func tunnelEndpoint(node *corev1.Node) string {
	if internal := internalAddresses(node); len(internal) > 0 {
		return internal[0].String()
	}
	return ""
}

// internalAddresses are those addresses of a Node that a tunnel can end at, which takes IPv4.
func internalAddresses(node *corev1.Node) []netip.Addr {
	var internal []netip.Addr
	for _, listed := range node.Status.Addresses {
		if listed.Type != corev1.NodeInternalIP {
			continue
		}
		if address, err := netip.ParseAddr(listed.Address); err == nil && address.Is4() {
			internal = append(internal, address)
		}
	}
	return internal
}
