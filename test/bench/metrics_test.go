// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSamplesOf(t *testing.T) {
	const page = `# HELP requests_total All requests.
# TYPE requests_total counter
requests_total{code="200",verb="GET"} 3
requests_total{code="201",verb="POST"} 1.5e+06
requests_total_created{code="201"} 7
requests 9
started 1.5
`
	type samples map[string]float64
	for metric, want := range map[string]samples{
		"requests_total": {"GET 200": 3, "POST 201": 1.5e6},
		"requests":       {" ": 9},
		"started":        {" ": 1.5},
		"missing":        {},
	} {
		got, err := samplesOf(strings.NewReader(page), metric)
		if err != nil {
			t.Fatal(err)
		}
		found := samples{}
		for _, s := range got {
			found[s.labels["verb"]+" "+s.labels["code"]] = s.value
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s: %s", metric, diff)
		}
	}
	if _, err := samplesOf(strings.NewReader("requests_total many\n"), "requests_total"); err == nil {
		t.Error("a value that is no number was taken")
	}
}

// The pods of a network have addresses of their own, each in the range of the node it runs on.
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
