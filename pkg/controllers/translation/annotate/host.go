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

// midoNet wants the host of a Node, and where its tunnels end.
func midoNet() *network {
	return &network{
		annotation: midonetv1.AnnotationHostID,
		unlisted:   "the hosts of MidoNet cannot be listed: ",
		none:       "MidoNet has no host named %s: start its agent there under this name, or set annotation %s",
		many:       "MidoNet has %d hosts named %s (%s): remove all except one, or set annotation %s",
		invalid:    "the host named %s in MidoNet has no id that is a UUID: set annotation %s",
		changes:    changes,
		differing:  differing,
		follow:     followHost,
	}
}

// records returns the annotations that are for the annotator itself, and for what reads its findings.
func records() []string {
	return []string{
		midonetv1.AnnotationWrittenHostID, midonetv1.AnnotationWrittenTunnelEndpointIP,
		midonetv1.AnnotationWrittenOVNChassis, midonetv1.AnnotationOVNChassisProblem,
	}
}

// tunnelEndpoint returns the first internal address of a Node that a tunnel can end at. It is empty as long as there is none.
func tunnelEndpoint(node *corev1.Node) string {
	if internal := internalAddresses(node); len(internal) > 0 {
		return internal[0].String()
	}
	return ""
}

// internalAddresses returns those addresses of a Node that a tunnel can end at, which takes IPv4.
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

// changes returns the annotations to write to a Node whose host has the given ID; nil removes one. In addition to missing annotations,
// this is the tunnel endpoint, if the annotator wrote it and the Node no longer has the address, and the record of the written address,
// which is removed when another client has set another address.
func changes(node *corev1.Node, host string) map[string]*string {
	set := map[string]*string{}
	if node.DeletionTimestamp.IsZero() { // the network of a Node that is being deleted will be deleted
		wanted := map[string]string{midonetv1.AnnotationHostID: host, midonetv1.AnnotationTunnelZoneID: ""} // the default zone
		if address := tunnelEndpoint(node); address != "" {
			wanted[midonetv1.AnnotationTunnelEndpointIP] = address
		}
		for name, value := range wanted {
			if _, has := node.Annotations[name]; !has {
				set[name] = &value
			}
		}
		if added, adds := set[midonetv1.AnnotationHostID]; adds {
			set[midonetv1.AnnotationWrittenHostID] = added
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
	case isForeign(node, current):
		address := tunnelEndpoint(node)
		set[midonetv1.AnnotationTunnelEndpointIP], set[midonetv1.AnnotationWrittenTunnelEndpointIP] = &address, &address
	}
	return set
}

// followHost compares the host of a Node with those that exist, like followChassis: a reinstalled host has another id. What the annotator
// wrote follows it if exactly one host has the name of the Node. What is missing besides is added in any case.
func followHost(node *corev1.Node, hosts map[string][]string) (map[string]*string, *convert.Problem) {
	set := changes(node, "")
	ids := hosts[node.Name]
	current := node.Annotations[midonetv1.AnnotationHostID]
	written, recorded := node.Annotations[midonetv1.AnnotationWrittenHostID]
	own := recorded && written == current
	if recorded && !own {
		set[midonetv1.AnnotationWrittenHostID] = nil
	}
	switch {
	case own && len(ids) == 1 && ids[0] != "":
		if id := ids[0]; id != current {
			set[midonetv1.AnnotationHostID], set[midonetv1.AnnotationWrittenHostID] = &id, &id
		}
	case own && len(ids) > 1:
		return set, &convert.Problem{Reason: reasonManyHosts, Message: fmt.Sprintf(
			"MidoNet has %d hosts named %s (%s), and the node uses %s: remove those that do not run any more",
			len(ids), node.Name, few(ids), current)}
	case !hasHost(hosts, current):
		return set, &convert.Problem{Reason: reasonNoHostID, Message: fmt.Sprintf(
			"annotation %s is %.80q, and MidoNet has no host with this id, so the ports of the node are not connected: "+
				"correct the annotation, or remove it to have it set automatically", midonetv1.AnnotationHostID, current)}
	}
	return set, nil
}

// hasHost reports whether a host has an id. One whose id is not understood may.
func hasHost(hosts map[string][]string, id string) bool {
	for _, ids := range hosts {
		if slices.Contains(ids, id) || slices.Contains(ids, "") {
			return true
		}
	}
	return false
}

// isForeign reports whether a Node has addresses, and the given one is not among them.
func isForeign(node *corev1.Node, text string) bool {
	internal := internalAddresses(node)
	address, err := netip.ParseAddr(text)
	return err == nil && len(internal) > 0 && !slices.Contains(internal, address)
}

// differing returns a problem if the tunnel endpoint of a Node is not one of its addresses and is not updated by the annotator (changes).
// An invalid address is reported when the Node is converted.
func differing(node *corev1.Node) *convert.Problem {
	current := node.Annotations[midonetv1.AnnotationTunnelEndpointIP]
	if !isForeign(node, current) {
		return nil
	}
	return &convert.Problem{Reason: reasonDiffers, Message: fmt.Sprintf(
		"annotation %s is %s, and the InternalIP of the node is %s: correct the annotation, or remove it to have it updated automatically",
		midonetv1.AnnotationTunnelEndpointIP, current, tunnelEndpoint(node))}
}
