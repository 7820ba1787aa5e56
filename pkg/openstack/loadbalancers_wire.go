// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/netip"
)

// object names another object.
type object struct {
	ID string `json:"id"`
}

// loadBalancer is a LoadBalancer as Octavia writes it.
type loadBalancer struct {
	LoadBalancer
	Address string `json:"vip_address"`
}

func (l loadBalancer) convert() (LoadBalancer, error) {
	var err error
	if l.Address != "" {
		l.VIP, err = netip.ParseAddr(l.Address)
	}
	if err != nil || l.ID == "" || l.ProvisioningStatus == "" {
		return LoadBalancer{}, fmt.Errorf("load balancer %q has an address that cannot be read, or no status", l.ID)
	}
	l.VIP = l.VIP.Unmap()
	return l.LoadBalancer, nil
}

// listener is a Listener as Octavia writes it.
type listener struct {
	Listener
	L7Policies    []any    `json:"l7policies"`
	LoadBalancers []object `json:"loadbalancers"`
}

func (l listener) convert() (Listener, error) {
	if l.ID == "" || l.ProvisioningStatus == "" {
		return Listener{}, fmt.Errorf("listener %q has no status", l.ID)
	}
	l.HasRules, l.LoadBalancerIDs = len(l.L7Policies) > 0, ids(l.LoadBalancers)
	return l.Listener, nil
}

// pool is a Pool as Octavia writes it.
type pool struct {
	Pool
	LoadBalancers []object `json:"loadbalancers"`
	Listeners     []object `json:"listeners"`
}

func (p pool) convert() (Pool, error) {
	if p.ID == "" || p.ProvisioningStatus == "" {
		return Pool{}, fmt.Errorf("pool %q has no status", p.ID)
	}
	p.LoadBalancerIDs, p.ListenerIDs = ids(p.LoadBalancers), ids(p.Listeners)
	return p.Pool, nil
}

// member is a Member as Octavia writes it.
type member struct {
	Member
	Address string `json:"address"`
}

func (m member) convert() (Member, error) {
	address, err := netip.ParseAddr(m.Address)
	if err != nil || m.ID == "" {
		return Member{}, fmt.Errorf("member %q has no address that can be read", m.ID)
	}
	m.Member.Address = address.Unmap()
	return m.Member, nil
}

func ids(objects []object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.ID)
	}
	return all
}
