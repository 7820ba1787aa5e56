// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// changes are the annotations to write to a Node whose host has the given id; nil removes one. Beside what is missing these are the
// address of its tunnels, if that is the one that the annotator wrote and the Node has it no more, and the record of having written
// it, which ends when another client set another address.
func changes(node *corev1.Node, host string) map[string]*string {
	set := map[string]*string{}
	if node.DeletionTimestamp.IsZero() { // else its network is about to be deleted with it
		for name, value := range missing(node, host) {
			set[name] = &value
		}
	}
	written, recorded := node.Annotations[midonetv1.AnnotationWrittenTunnelEndpointIP]
	added, adds := set[midonetv1.AnnotationTunnelEndpointIP]
	switch current := node.Annotations[midonetv1.AnnotationTunnelEndpointIP]; {
	case adds:
		set[midonetv1.AnnotationWrittenTunnelEndpointIP] = added
	case !recorded:
	case written != current:
		set[midonetv1.AnnotationWrittenTunnelEndpointIP] = nil
	case isElsewhere(node, current):
		address := tunnelEndpoint(node)
		set[midonetv1.AnnotationTunnelEndpointIP], set[midonetv1.AnnotationWrittenTunnelEndpointIP] = &address, &address
	}
	return set
}

// isElsewhere reports whether a Node has addresses, and a given one is not among them.
func isElsewhere(node *corev1.Node, text string) bool {
	internal := internalAddresses(node)
	address, err := netip.ParseAddr(text)
	return err == nil && len(internal) > 0 && !slices.Contains(internal, address)
}

// differing is the problem of a Node whose tunnels end at an address that is not the Node's, and that is not to be changed
// (changes); nil when it has none. What is no address is reported when the Node is converted.
func differing(node *corev1.Node) *convert.Problem {
	current := node.Annotations[midonetv1.AnnotationTunnelEndpointIP]
	if !isElsewhere(node, current) {
		return nil
	}
	return &convert.Problem{Reason: reasonDiffers, Message: fmt.Sprintf(
		"annotation %s is %s, and the InternalIP of the node is %s: correct the annotation, or remove it and it follows the address",
		midonetv1.AnnotationTunnelEndpointIP, current, tunnelEndpoint(node))}
}
