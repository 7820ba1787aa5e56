// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// defaultAffinity is how long a client stays at one endpoint, in seconds, if a Service does not set it.
const defaultAffinity = 10800

// balancers returns the load balancers of a Service, one for each of its protocols. The endpoints of an address are one value, so
// that a change of them is atomic. An address without endpoints rejects connections.
func (o OVN) balancers(service *corev1.Service, addresses []netip.Addr, endpoints serviceEndpoints) []midonetv1.BackendResource {
	var balancers []midonetv1.BackendResource
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		vips := map[string]string{}
		for _, port := range service.Spec.Ports {
			if port.Protocol != protocol {
				continue
			}
			for _, address := range addresses {
				vips[netip.AddrPortFrom(address, uint16(port.Port)).String()] = endpoints.of(endpointsKey{port.Name, protocol, address.Is4()})
			}
		}
		if len(vips) == 0 {
			continue
		}
		options := map[string]string{"reject": "true", "hairpin_snat_ip": hairpin4 + " " + hairpin6}
		if service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
			options["affinity_timeout"] = strconv.Itoa(affinityOf(service))
		}
		key := service.Namespace + "/" + service.Name + "/" + strings.ToLower(string(protocol))
		balancers = append(balancers, row("LoadBalancer", o.loadBalancers(), o.ids().ForKey("Service", key), columns{
			"name": key, "protocol": strings.ToLower(string(protocol)), "vips": vips, "options": options,
			"external_ids": map[string]string{"owner": "Service " + service.Namespace + "/" + service.Name},
		}))
	}
	return balancers
}

// affinityOf is how long a client stays at one endpoint, in seconds.
func affinityOf(service *corev1.Service) int {
	if config := service.Spec.SessionAffinityConfig; config != nil && config.ClientIP != nil && config.ClientIP.TimeoutSeconds != nil {
		return int(*config.ClientIP.TimeoutSeconds)
	}
	return defaultAffinity
}

// servedAddresses returns all addresses of a Service, of both families: of the cluster, of its externalIPs, and of its load
// balancer.
func servedAddresses(service *corev1.Service) ([]netip.Addr, []Problem) {
	var addresses []netip.Addr
	var problems []Problem
	for _, listed := range []struct {
		field string
		texts []string
	}{
		{"spec.clusterIP", append([]string{service.Spec.ClusterIP}, service.Spec.ClusterIPs...)},
		{"spec.externalIPs", service.Spec.ExternalIPs},
		{"status.loadBalancer.ingress", LoadBalancerAddresses(service)},
	} {
		for _, text := range listed.texts {
			address, failed := parseAddress(listed.field, text)
			if failed != nil {
				problems = append(problems, *failed)
				continue
			}
			addresses = append(addresses, address)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return slices.Compact(addresses), problems
}

// endpointsKey is a port of a Service, and a family of addresses.
type endpointsKey struct {
	port     string
	protocol corev1.Protocol
	is4      bool
}

// serviceEndpoints are the endpoints of a Service that are ready, and those that are used if none is.
type serviceEndpoints struct {
	ready, leaving map[endpointsKey][]netip.AddrPort
}

// of lists the endpoints to use, sorted.
func (e serviceEndpoints) of(key endpointsKey) string {
	used := e.ready[key]
	if len(used) == 0 {
		used = e.leaving[key]
	}
	used = slices.SortedFunc(slices.Values(used), netip.AddrPort.Compare)
	var texts []string
	for _, endpoint := range slices.Compact(used) {
		texts = append(texts, endpoint.String())
	}
	return strings.Join(texts, ",")
}

// endpointsOf gathers the endpoints of all slices of a Service.
func endpointsOf(service *corev1.Service, listed []*discoveryv1.EndpointSlice, skip func(Problem)) serviceEndpoints {
	all := serviceEndpoints{map[endpointsKey][]netip.AddrPort{}, map[endpointsKey][]netip.AddrPort{}}
	for _, slice := range listed {
		if slice.AddressType != discoveryv1.AddressTypeIPv4 && slice.AddressType != discoveryv1.AddressTypeIPv6 {
			continue
		}
		ports := listedPorts(service, slice)
		for _, endpoint := range slice.Endpoints {
			use := UseOf(endpoint)
			if use == Unused {
				continue
			}
			address, failed := parseAddress("endpoint of slice "+slice.Name, endpoint.Addresses[0]) // the others mean nothing
			if failed != nil {
				skip(*failed)
				continue
			}
			into := all.ready
			if use == Fallback {
				into = all.leaving
			}
			for _, port := range ports {
				key := endpointsKey{port.name, port.protocol, address.Is4()}
				into[key] = append(into[key], netip.AddrPortFrom(address, uint16(port.number)))
			}
		}
	}
	return all
}
