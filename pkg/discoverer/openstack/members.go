// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// endpointsOf makes endpoints of the members of a pool. up reports that load balancer, listener and pool are enabled. unfit are
// addresses that the API server takes for no endpoint: it would reject all others with them.
func endpointsOf(members []openstack.Member, up bool) (endpoints map[place][]discoveryv1.Endpoint, unfit []string) {
	endpoints = map[place][]discoveryv1.Endpoint{}
	// Octavia sends traffic to backups only while all others are down.
	backups := !slices.ContainsFunc(members, func(m openstack.Member) bool { return !m.Backup && stateOf(&m, up) == ready })
	for n := range members {
		member := &members[n]
		address := member.Address.Unmap().WithZone("")
		if !isFit(address) {
			unfit = append(unfit, address.String())
			continue
		}
		if member.Port < 1 || member.Port > 65535 {
			continue
		}
		at := place{port: member.Port, family: discoveryv1.AddressTypeIPv4}
		if address.Is6() {
			at.family = discoveryv1.AddressTypeIPv6
		}
		state := stateOf(member, up)
		if member.Backup && !backups {
			state = down
		}
		endpoint := discoveryv1.Endpoint{Addresses: []string{address.String()}, Conditions: state.conditions()}
		same := func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == endpoint.Addresses[0] }
		switch found := slices.IndexFunc(endpoints[at], same); {
		case found < 0:
			endpoints[at] = append(endpoints[at], endpoint)
		case state == ready: // one of two with the same address is enough
			endpoints[at][found] = endpoint
		}
	}
	return endpoints, unfit
}

// isFit reports whether an endpoint may have an address. Source:
// https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/
func isFit(address netip.Addr) bool {
	return address.IsValid() && !address.IsUnspecified() && !address.IsLoopback() && !address.IsLinkLocalUnicast() && !address.IsMulticast()
}

// state is whether a member gets traffic.
type state int

const (
	// down: none.
	down state = iota
	// draining: what it has, and nothing new.
	draining
	// ready: new connections.
	ready
)

// stateOf reports whether a member gets traffic, backup or not. Source:
// https://docs.openstack.org/api-ref/load-balancer/v2/#operating-status-codes
func stateOf(member *openstack.Member, up bool) state {
	switch {
	case !up || !member.AdminUp:
		return down
	case member.OperatingStatus == "DRAINING":
		return draining
	case member.OperatingStatus != "ONLINE" && member.OperatingStatus != "NO_MONITOR":
		return down
	case member.Weight == 0:
		return draining
	default:
		return ready
	}
}

// conditions expresses a state in terms of Kubernetes. Ready means serving and not terminating there, so a member that drains is
// terminating. One that is down does not serve.
func (s state) conditions() discoveryv1.EndpointConditions {
	return discoveryv1.EndpointConditions{
		Ready: desired.Condition(s == ready), Serving: desired.Condition(s != down), Terminating: desired.Condition(s == draining),
	}
}
