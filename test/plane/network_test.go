// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
)

// addresses returns those of this machine, as the system notifies them.
func addresses(t *testing.T, all ...string) []net.Addr {
	t.Helper()
	var parsed []net.Addr
	for _, each := range all {
		ip, of, err := net.ParseCIDR(each)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, &net.IPNet{IP: ip, Mask: of.Mask})
	}
	return parsed
}

// TestNetwork checks that the host, the node and the pods have distinct addresses in one network.
func TestNetwork(t *testing.T) {
	n := network(7)
	for got, want := range map[netip.Prefix]string{n.host(): "10.89.7.1/25", n.node(): "10.89.7.2/25", n.pods(): "10.89.7.128/25"} {
		if got.String() != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if n.pods().Overlaps(n.host().Masked()) {
		t.Error("pods have addresses of the link")
	}
	if name := network(255).link(); len(name) > 15 {
		t.Errorf("the name of the link, %s, is longer than the kernel allows", name)
	}
}

func TestNetworkTaken(t *testing.T) {
	for address, want := range map[string]bool{
		"10.89.7.1/25": true, "10.89.7.200/32": true, "10.0.0.1/8": true, "10.89.8.1/24": false, "192.0.2.1/24": false, "fd00::7/64": false,
	} {
		if got := network(7).taken(addresses(t, "127.0.0.1/8", address)); got != want {
			t.Errorf("beside %s: taken %t, want %t", address, got, want)
		}
	}
}

func TestPickNetwork(t *testing.T) {
	if _, err := pickNetwork(addresses(t, "10.1.2.3/8")); err == nil {
		t.Error("a network was found in one that is taken as a whole")
	}
	var taken []string
	for n := range 256 {
		if n != 42 {
			taken = append(taken, fmt.Sprintf("10.89.%d.1/24", n))
		}
	}
	if n, err := pickNetwork(addresses(t, taken...)); err != nil || n != 42 {
		t.Errorf("got %d, %v, want the only one that is free", n, err)
	}
}

// TestChooseNetwork checks that a restarted plane keeps its network, unless another client uses it now.
func TestChooseNetwork(t *testing.T) {
	if n, err := chooseNetwork(7, addresses(t, "10.89.8.1/24")); err != nil || n != 7 {
		t.Errorf("got %d, %v", n, err)
	}
	for _, remembered := range []network{0, 7} {
		if n, err := chooseNetwork(remembered, addresses(t, "10.89.7.1/24")); err != nil || n == 0 || n == 7 {
			t.Errorf("after %d: got %d, %v", remembered, n, err)
		}
	}
}
