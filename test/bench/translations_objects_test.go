// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"testing"
)

// The pods of a network have dedicated addresses, each in the range of the node it runs on.
func TestPodAddresses(t *testing.T) {
	seen := map[string]bool{}
	for i := range 20000 {
		ip := podIP(i)
		if seen[ip] {
			t.Fatalf("two pods have %s", ip)
		}
		seen[ip] = true
		if node := netip.PrefixFrom(podAddress(i%translatedNodes, 0), nodeBits); !node.Contains(netip.MustParseAddr(ip)) {
			t.Fatalf("pod %d has %s, outside of %s", i, ip, node)
		}
	}
}
