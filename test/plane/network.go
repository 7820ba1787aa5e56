// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
)

// serviceNetwork is where kube-apiserver takes the addresses of Services from. Only a node knows them.
const serviceNetwork = "10.0.0.0/24"

// serviceAddress is the address of the Service of kube-apiserver itself, the first of the network.
const serviceAddress = "10.0.0.1"

// network is the third byte of the addresses of a plane with a node, 10.89.N: the host has the first one, the node the
// second, the pods the upper half.
type network byte

// chooseNetwork returns the remembered network while it has none of the addresses, else another one.
func chooseNetwork(remembered network, addresses []net.Addr) (network, error) {
	if remembered != 0 && !remembered.taken(addresses) {
		return remembered, nil
	}
	return pickNetwork(addresses)
}

// pickNetwork returns a network that has none of the addresses.
func pickNetwork(addresses []net.Addr) (network, error) {
	for _, n := range rand.Perm(255) {
		// 0 is no network: the state has none.
		if n := network(1 + n); !n.taken(addresses) {
			return n, nil
		}
	}
	return 0, errors.New("this machine has addresses all over 10.89.0.0/16: one /24 of it must be free for the node")
}

func (n network) taken(addresses []net.Addr) bool {
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil && n.whole().Overlaps(prefix) {
			return true
		}
	}
	return false
}

func (n network) prefix(last byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 89, byte(n), last}), bits)
}

func (n network) whole() netip.Prefix { return n.prefix(0, 24) }

// host and node are the ends of the link between them.
func (n network) host() netip.Prefix { return n.prefix(1, 25) }
func (n network) node() netip.Prefix { return n.prefix(2, 25) }

func (n network) pods() netip.Prefix { return n.prefix(128, 25) }

// link returns the name of the host's end of the link.
func (n network) link() string { return fmt.Sprintf("gk-node-%d", n) }

// assignNetwork chooses the network of the node: the remembered one while the node runs or it is free.
func (p *Plane) assignNetwork() error {
	n := p.state.Network
	if !p.state.running(nodeProcessName) {
		addresses, err := net.InterfaceAddrs()
		if err != nil {
			return err
		}
		if n, err = chooseNetwork(n, addresses); err != nil {
			return err
		}
	}
	p.options.Address = n.host().Addr().String()
	return p.state.setNetwork(n)
}

// servingAddresses returns those of kube-apiserver beside loopback: its own, and that of its Service.
func (p *Plane) servingAddresses() []net.IP {
	var all []net.IP
	if p.options.Address != loopback {
		all = append(all, net.ParseIP(p.options.Address))
	}
	if p.options.Node {
		all = append(all, net.ParseIP(serviceAddress))
	}
	return all
}
