// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func TestShared(t *testing.T) {
	node := func(cidr, tunnel string, addresses ...corev1.NodeAddress) *corev1.Node {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Addresses: addresses}}
		node.Spec.PodCIDR = cidr
		if tunnel != "" {
			node.Annotations = map[string]string{midonetv1.AnnotationTunnelEndpointIP: tunnel}
		}
		return node
	}
	internal := func(ip string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip}
	}
	external := func(ip string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: ip}
	}
	for name, tc := range map[string]struct {
		a, b *corev1.Node
		want []string
	}{
		"nothing":                   {node("10.1.0.0/24", "192.0.2.1", internal("192.0.2.1")), node("10.1.1.0/24", "192.0.2.2", internal("192.0.2.2")), nil},
		"nothing is known":          {node("", ""), node("", ""), nil},
		"range":                     {node("10.1.0.0/24", ""), node("10.1.0.0/24", ""), []string{"PodCIDRShared"}},
		"range in other words":      {node("10.1.0.0/24", ""), node("10.1.0.7/24", ""), []string{"PodCIDRShared"}},
		"range in a larger one":     {node("10.1.3.0/24", ""), node("10.1.0.0/16", ""), []string{"PodCIDRShared"}},
		"address":                   {node("", "", internal("192.0.2.1")), node("", "", internal("192.0.2.1")), []string{"NodeAddressShared"}},
		"external address":          {node("", "", external("192.0.2.1")), node("", "", internal("192.0.2.1")), []string{"NodeAddressShared"}},
		"end of tunnels":            {node("", "192.0.2.1"), node("", "192.0.2.1"), []string{"NodeAddressShared"}},
		"end of the other's tunnel": {node("", "192.0.2.1"), node("", "", internal("192.0.2.1")), []string{"NodeAddressShared"}},
		"IPv6 address":              {node("", "", internal("fd00::1")), node("", "", internal("fd00::1")), []string{"NodeAddressShared"}},
		"IPv6 range":                {node("fd00::/64", ""), node("fd00::/64", ""), []string{"PodCIDRShared"}},
		"ranges of two families":    {node("fd00::/64", ""), node("10.1.0.0/24", ""), nil},
		"name":                      {node("", "", corev1.NodeAddress{Type: corev1.NodeHostName, Address: "192.0.2.1"}), node("", "", corev1.NodeAddress{Type: corev1.NodeHostName, Address: "192.0.2.1"}), nil},
		"both":                      {node("10.1.0.0/24", "x", internal("192.0.2.1")), node("10.1.0.0/24", "x", internal("192.0.2.1")), []string{"NodeAddressShared", "PodCIDRShared"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := HoldingsOf(tc.a), HoldingsOf(tc.b)
			for _, order := range [][2]Holdings{{a, b}, {b, a}} {
				var got []string
				for _, problem := range order[0].Shared(map[string]Holdings{"other": order[1]}) {
					got = append(got, problem.Reason)
				}
				expect(t, got, tc.want)
				expect(t, order[0].Overlaps(order[1]), len(tc.want) > 0)
			}
		})
	}
	a := HoldingsOf(node("10.1.0.0/24", "", internal("192.0.2.1")))
	problems := a.Shared(map[string]Holdings{"e": a, "d": a, "c": a, "b": a, "z": {}})
	expect(t, problems, []Problem{
		{ReasonNodeAddressShared, "nodes b, c, d, … have the address 192.0.2.1 as well: traffic for it reaches one of them only"},
		{ReasonPodCIDRShared, "the spec.podCIDR 10.1.0.0/24 overlaps with that of nodes b, c, d, …: pods of those nodes may have the same addresses"},
	})
}
