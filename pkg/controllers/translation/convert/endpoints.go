// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

const kindEndpointsPort = "Endpoints-Port"

// endpointJump is the place, in the Translation of one, of the rule that leads to it.
const endpointJump = 1

// endpointPort is a port that endpoints listen at.
type endpointPort struct {
	name     string
	protocol corev1.Protocol
	number   int
}

// Endpoints returns what the endpoints of a Service become: for each port of each a chain that translates to it, and a jump there
// from the chain of the Service's port. All are the EndpointSlices of the Service; which endpoint is in which of them does not
// matter. A port of which no endpoint is ready has those that are terminating and still serve. A Service that is not served has
// none, and Service reports why.
func Endpoints(service *corev1.Service, all []*discoveryv1.EndpointSlice, config Config) Result {
	c := newCollector(OwnerOf(KindService, service))
	address, _ := clusterAddress(service, config)
	if !address.IsValid() {
		return c.done()
	}
	ids := NewIDs(config.Tenant)
	add := func(port endpointPort, target netip.Addr) {
		key := fmt.Sprintf("%s/%s/%s/%s/%d/%s", service.Name, port.name, address, target, port.number, port.protocol)
		if !c.has(kindEndpointsPort, key) {
			spread := ids.serviceChain(servicePortKey(service, port.name))
			c.add(kindEndpointsPort, key, endpointResources(ids.ForKey("Endpoint", key), key, spread, address, target, port.number, config)...)
		}
	}
	// A Service has a port of a name once.
	ready := map[string]bool{}
	var leaving []func()
	for _, slice := range all {
		if slice.AddressType != discoveryv1.AddressTypeIPv4 {
			continue
		}
		ports := portsOf(service, slice)
		for _, endpoint := range slice.Endpoints {
			use := UseOf(endpoint)
			if use == Unused {
				continue
			}
			target, failed := parseIPv4("endpoint of slice "+slice.Name, endpoint.Addresses[0]) // the others mean nothing
			if failed != nil {
				c.skip(*failed)
				continue
			}
			for _, port := range ports {
				if use == Fallback {
					leaving = append(leaving, func() {
						if !ready[port.name] {
							add(port, target)
						}
					})
					continue
				}
				ready[port.name] = true
				add(port, target)
			}
		}
	}
	for _, use := range leaving {
		use()
	}
	return c.done()
}

// Use is how an endpoint is used.
type Use int

const (
	// Unused endpoints get no traffic.
	Unused Use = iota
	// Fallback endpoints are terminating and still serve. They are used for ports of which none is Preferred, as by
	// kube-proxy: those are all that is left of a Service while its last Pods are replaced.
	Fallback
	// Preferred endpoints are ready.
	Preferred
)

// UseOf returns how an endpoint is used by its conditions. Missing ones have the defaults of the API: ready, serving, and not
// terminating.
func UseOf(endpoint discoveryv1.Endpoint) Use {
	conditions := endpoint.Conditions
	switch {
	case len(endpoint.Addresses) == 0:
		return Unused
	case ptr.Deref(conditions.Ready, true):
		return Preferred
	case ptr.Deref(conditions.Serving, true) && ptr.Deref(conditions.Terminating, false):
		return Fallback
	default:
		return Unused
	}
}

// endpointResources sends what is for one port of a Service to an endpoint. An endpoint that talks to itself by way of the Service
// would respond itself directly, so its own packets come from the Service's address.
func endpointResources(
	id uuid.UUID, key string, spread uuid.UUID, service, target netip.Addr, number int, config Config,
) []midonetv1.BackendResource {
	return []midonetv1.BackendResource{
		config.chain(id, "KUBE-SEP-"+key),
		jump(spread, SubID(id, "Jump to Endpoint"), id),
		resource("Rule", id, &midonet.Rule{
			ID: SubID(id, "DNAT").String(), Type: midonet.DNATRule, FlowAction: midonet.AcceptFlow,
			NATTargets: natTargets(target, number, number),
		}),
		snat(id, SubID(id, "SNAT"), target, service),
	}
}

// portsOf returns the ports of a slice that the Service has under the same name and protocol, and that MidoNet can translate.
// Others have no chain to jump from.
func portsOf(service *corev1.Service, slice *discoveryv1.EndpointSlice) []endpointPort {
	return slices.DeleteFunc(listedPorts(service, slice), func(port endpointPort) bool {
		_, ok := protocolNumber(port.protocol)
		return !ok
	})
}

// listedPorts returns the ports of a slice that the Service has under the same name and protocol.
func listedPorts(service *corev1.Service, slice *discoveryv1.EndpointSlice) []endpointPort {
	var ports []endpointPort
	for _, listed := range slice.Ports {
		if listed.Port == nil {
			continue
		}
		port := endpointPort{ptr.Deref(listed.Name, ""), ptr.Deref(listed.Protocol, corev1.ProtocolTCP), int(*listed.Port)}
		if slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == port.name && p.Protocol == port.protocol }) {
			ports = append(ports, port)
		}
	}
	return ports
}
