// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"testing"
)

// TestPodAddresses checks that the pods of a network have distinct addresses, each in the range of its node.
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
