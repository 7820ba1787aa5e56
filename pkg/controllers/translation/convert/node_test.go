// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

const (
	defaultZone = "51329ede-9b0f-5923-98ee-bf4ef08af54f"
	hostID      = "44fb4381-c99d-4389-86c3-fdca765bcbde"
)

func TestNodeTranslations(t *testing.T) {
	whole := []string{
		"node-address.4.node-a-externalip-203.0.113.11", "node-address.4.node-a-internalip-192.168.10.11",
		"node-arp.4.node-a-ip-10.1.0.2-accaba000011", "node-mac.4.node-a-mac-accaba000011",
		"node-tunnel-endpoint.4.node-a-192.168.10.11-" + defaultZone + "-" + hostID, "node.4.node-a",
	}
	without := func(indexes ...int) []string {
		var rest []string
		for i, name := range whole {
			keep := true
			for _, index := range indexes {
				keep = keep && i != index
			}
			if keep {
				rest = append(rest, name)
			}
		}
		return rest
	}
	annotate := func(key, value string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Annotations[key] = value }
	}
	remove := func(key string) func(*corev1.Node) {
		return func(n *corev1.Node) { delete(n.Annotations, key) }
	}
	addresses := func(list ...corev1.NodeAddress) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.Addresses = list }
	}
	for name, test := range map[string]struct {
		edit     func(*corev1.Node)
		want     []string
		problems []string
	}{
		"unchanged": {nil, whole, nil},

		"no host-id":              {remove(midonetv1.AnnotationHostID), nil, []string{"waiting: HostIDMissing"}},
		"no annotations":          {func(n *corev1.Node) { n.Annotations = nil }, nil, []string{"waiting: HostIDMissing"}},
		"host-id is empty":        {annotate(midonetv1.AnnotationHostID, ""), nil, []string{"waiting: HostIDMissing"}},
		"host-id is no UUID":      {annotate(midonetv1.AnnotationHostID, "node-a"), nil, []string{"waiting: HostIDMissing"}},
		"host-id is the nil UUID": {annotate(midonetv1.AnnotationHostID, "00000000-0000-0000-0000-000000000000"), nil, []string{"waiting: HostIDMissing"}},
		"host-id in capitals":     {annotate(midonetv1.AnnotationHostID, "44FB4381-C99D-4389-86C3-FDCA765BCBDE"), whole, nil},

		"no podCIDR":        {func(n *corev1.Node) { n.Spec.PodCIDR = "" }, nil, []string{"waiting: PodCIDRMissing"}},
		"podCIDR is broken": {func(n *corev1.Node) { n.Spec.PodCIDR = "10.1.0.0" }, nil, []string{"waiting: PodCIDRMissing"}},
		"podCIDR is IPv6":   {func(n *corev1.Node) { n.Spec.PodCIDR = "fd00::/64" }, nil, []string{"waiting: PodCIDRMissing"}},
		"podCIDR is a pair": {func(n *corev1.Node) { n.Spec.PodCIDR = "10.1.0.0/31" }, nil, []string{"waiting: PodCIDRMissing"}},
		"podCIDR IPv6 first": {func(n *corev1.Node) {
			n.Spec.PodCIDR, n.Spec.PodCIDRs = "fd00::/64", []string{"fd00::/64", "10.1.0.0/24"}
		}, whole, nil},

		"no tunnel zone":              {remove(midonetv1.AnnotationTunnelZoneID), whole, nil},
		"tunnel zone is no UUID":      {annotate(midonetv1.AnnotationTunnelZoneID, "default"), without(4), []string{"InvalidTunnelZone"}},
		"no tunnel endpoint":          {remove(midonetv1.AnnotationTunnelEndpointIP), without(4), nil},
		"tunnel endpoint is empty":    {annotate(midonetv1.AnnotationTunnelEndpointIP, ""), without(4), []string{"InvalidAddress"}},
		"tunnel endpoint is a name":   {annotate(midonetv1.AnnotationTunnelEndpointIP, "node-a"), without(4), []string{"InvalidAddress"}},
		"tunnel endpoint is IPv6":     {annotate(midonetv1.AnnotationTunnelEndpointIP, "fd00::1"), without(4), []string{"IPv6NotSupported"}},
		"no MAC address":              {remove(midonetv1.AnnotationMACAddress), without(2, 3), nil},
		"MAC address is broken":       {annotate(midonetv1.AnnotationMACAddress, "ac:ca"), without(2, 3), []string{"InvalidAddress"}},
		"MAC address of 64 bits":      {annotate(midonetv1.AnnotationMACAddress, "ac:ca:ba:00:00:11:00:00"), without(2, 3), []string{"InvalidAddress"}},
		"MAC address spelled in dots": {annotate(midonetv1.AnnotationMACAddress, "ACCA.BA00.0011"), whole, nil},

		"no addresses":    {addresses(), without(0, 1), nil},
		"an address more": {addresses(append(load(t, "node").Node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.168.10.11"})...), whole, nil},
		"other types": {addresses(
			corev1.NodeAddress{Type: corev1.NodeExternalDNS, Address: "192.168.10.11"},
			corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "a.example.com"},
			corev1.NodeAddress{Type: corev1.NodeHostName, Address: "203.0.113.11"}), without(0, 1), nil},
		"IPv6 and a name": {addresses(
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::1"},
			corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.11"},
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "node-a"}), without(1), []string{"IPv6NotSupported", "InvalidAddress"}},
	} {
		t.Run(name, func(t *testing.T) {
			result := Node(edited(load(t, "node").Node, test.edit), settings())
			var want []string
			want = append(want, test.want...)
			expect(t, names(result), want)
			expect(t, problems(result), test.problems)
		})
	}
}

// TestNodeSubnet counts the gateway and the node from the address as written.
func TestNodeSubnet(t *testing.T) {
	for cidr, test := range map[string]struct{ gateway, node, network string }{
		"10.1.0.0/24":    {"10.1.0.1", "10.1.0.2", "10.1.0.0"},
		"10.1.0.128/25":  {"10.1.0.129", "10.1.0.130", "10.1.0.128"},
		"10.1.0.16/24":   {"10.1.0.17", "10.1.0.18", "10.1.0.0"},
		"10.1.0.255/16":  {"10.1.1.0", "10.1.1.1", "10.1.0.0"},
		"10.1.0.0/30":    {"10.1.0.1", "10.1.0.2", "10.1.0.0"},
		"10.1.0.252/24":  {"10.1.0.253", "10.1.0.254", "10.1.0.0"},
		"172.16.255.0/8": {"172.16.255.1", "172.16.255.2", "172.0.0.0"},
	} {
		t.Run(cidr, func(t *testing.T) {
			result := Node(edited(load(t, "node").Node, func(n *corev1.Node) { n.Spec.PodCIDR = cidr }), settings())
			length := cidr[len(cidr)-2:]
			if length[0] == '/' {
				length = length[1:]
			}
			network := resources(t, result, "node.4.")
			expect(t, fields(t, network[2])["portSubnet"], any([]any{test.gateway + "/" + length}))
			expect(t, fields(t, network[3])["dstNetworkAddr"], any(test.network))
			expect(t, fields(t, network[8])["nwSrcAddress"], any(test.node))
			target := fields(t, network[8])["natTargets"].([]any)[0].(map[string]any)
			expect(t, []any{target["addressFrom"], target["addressTo"]}, []any{test.gateway, test.gateway})
			expect(t, fields(t, resources(t, result, "node-address.4.node-a-internalip")[0])["nextHopGateway"], any(test.node))
			expect(t, fields(t, resources(t, result, "node-arp.4.")[0])["ip"], any(test.node))
		})
	}
}

// TestNodeTunnelZone puts the host into the zone of the annotation, whose UUID may be spelled in capitals.
func TestNodeTunnelZone(t *testing.T) {
	const zone = "8b80d6b7-f04b-4075-ab5d-0c4d5c85d15e"
	node := edited(load(t, "node").Node, func(n *corev1.Node) {
		n.Annotations[midonetv1.AnnotationTunnelZoneID] = "8B80D6B7-F04B-4075-AB5D-0C4D5C85D15E"
		n.Annotations[midonetv1.AnnotationHostID] = "44FB4381-C99D-4389-86C3-FDCA765BCBDE"
	})
	result := Node(node, settings())
	entry := resources(t, result, TranslationName("Node-Tunnel-Endpoint", "node-a/192.168.10.11/"+zone+"/"+hostID))[0]
	expect(t, entry, midonetv1.BackendResource{
		Kind: "TunnelZoneHost", Parent: zone, Body: `{"hostId":"` + hostID + `","ipAddress":"192.168.10.11"}`,
	})
}

// TestNodeMAC writes the address as MidoNet does, however the annotation spells it.
func TestNodeMAC(t *testing.T) {
	node := edited(load(t, "node").Node, func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationMACAddress] = "AC-CA-BA-00-00-11" })
	expect(t, Node(node, settings()), Node(load(t, "node").Node, settings()))
}
