// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// defaultAffinity is how long a client stays at one endpoint, in seconds, if a Service does not set it.
const defaultAffinity = 10800

// clusterIPField is where the addresses within the cluster are from.
const clusterIPField = "spec.clusterIP"

// kindServiceLocal is the kind of the Translation of the endpoints of a Service on one Node, for connections from outside.
const kindServiceLocal = "Service-Local"

// balancing is what load balancers of a Service have in common.
type balancing struct {
	service *corev1.Service
	// group is the one that they are in, and place the part of their names that distinguishes them from others of the Service.
	group     uuid.UUID
	place     string
	addresses []netip.Addr
	endpoints serviceEndpoints
	// options are added to those of every load balancer.
	options map[string]string
	// occupied are not served.
	occupied Occupied
}

// serve adds the load balancers of a Service. Gateways have those of the switches, and the node ports. If externalTrafficPolicy is
// Local, they have others, which do not change the source of a connection: for each Node those with the endpoints on it.
func (o OVN) serve(c *collector, service *corev1.Service, endpoints []*discoveryv1.EndpointSlice, occupied Occupied) {
	addresses, external, skipped := servedAddresses(service)
	for _, problem := range skipped {
		c.skip(problem)
	}
	all := balancing{service, o.loadBalancers(), "", addresses, endpointsOf(service, endpoints, nil, c.skip), respondingFor(external), occupied}
	if service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		ports := all
		ports.group = o.gatewayLoadBalancers()
		c.add(KindService, service.Name, append(o.balancers(all), o.nodePortBalancers(ports)...)...)
		return
	}
	all.group, all.place = o.switchLoadBalancers(), "/switches"
	c.add(KindService, service.Name, o.balancers(all)...)
	for _, node := range nodesOf(endpoints) {
		local := balancing{service, o.nodeLoadBalancers(node), "/node/" + node, external, endpointsOf(service, endpoints, &node, c.skip), respondingFor(external), occupied}
		local.options["skip_snat"] = "true"
		c.add(kindServiceLocal, service.Name+"/"+node, append(o.balancers(local), o.nodePortBalancers(local)...)...)
	}
}

// respondingFor returns the option of who responds for external addresses on the network of the gateways: not all gateways at the
// same time.
func respondingFor(external []netip.Addr) map[string]string {
	if len(external) == 0 {
		return map[string]string{}
	}
	return map[string]string{"neighbor_responder": "none"}
}

// nodesOf returns the Nodes that endpoints are on, sorted.
func nodesOf(listed []*discoveryv1.EndpointSlice) []string {
	var nodes []string
	for _, slice := range listed {
		for _, endpoint := range slice.Endpoints {
			if endpoint.NodeName != nil && *endpoint.NodeName != "" && UseOf(endpoint) != Unused {
				nodes = append(nodes, *endpoint.NodeName)
			}
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// balancers returns the load balancers of addresses of a Service, one for each of its protocols. The endpoints of an address are one
// value, so that a change of them is atomic. An address without endpoints rejects connections.
func (o OVN) balancers(b balancing) []midonetv1.BackendResource {
	var balancers []midonetv1.BackendResource
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		vips := map[string]string{}
		for _, port := range b.service.Spec.Ports {
			if port.Protocol != protocol {
				continue
			}
			for _, address := range b.addresses {
				if _, taken := b.occupied[VIP{address, protocol, port.Port}]; taken {
					continue
				}
				vips[netip.AddrPortFrom(address, uint16(port.Port)).String()] = b.endpoints.of(endpointsKey{port.Name, protocol, address.Is4()})
			}
		}
		if len(vips) > 0 {
			balancers = append(balancers, o.balancer(b, protocol, "", vips, nil))
		}
	}
	return balancers
}

// nodePortBalancers returns the load balancers of the node ports of a Service, one for each of its protocols and families. Their
// address is that of the gateway of the chassis.
func (o OVN) nodePortBalancers(b balancing) []midonetv1.BackendResource {
	var balancers []midonetv1.BackendResource
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		for _, is4 := range familiesOf(b.service) {
			vips := map[string]string{}
			for _, port := range b.service.Spec.Ports {
				if port.Protocol == protocol && port.NodePort != 0 {
					vips["^"+gatewayVariable(is4)+":"+strconv.Itoa(int(port.NodePort))] = b.endpoints.of(endpointsKey{port.Name, protocol, is4})
				}
			}
			if family := addressFamily(is4); len(vips) > 0 {
				balancers = append(balancers, o.balancer(b, protocol, nodePortsPart(is4), vips, map[string]string{"template": "true", "address-family": family}))
			}
		}
	}
	return balancers
}

// familiesOf returns the families of a Service by its cluster IPs, true for IPv4.
func familiesOf(service *corev1.Service) []bool {
	var families []bool
	for _, is4 := range []bool{true, false} {
		if slices.ContainsFunc(append([]string{service.Spec.ClusterIP}, service.Spec.ClusterIPs...), func(text string) bool {
			address, failed := parseAddress("", text)
			return failed == nil && address.Is4() == is4
		}) {
			families = append(families, is4)
		}
	}
	return families
}

func (o OVN) balancer(b balancing, protocol corev1.Protocol, part string, vips, more map[string]string) midonetv1.BackendResource {
	options := map[string]string{"reject": "true", "hairpin_snat_ip": hairpin4 + " " + hairpin6}
	if isTemplate := more["template"] != ""; b.service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP && !isTemplate {
		options["affinity_timeout"] = strconv.Itoa(min(affinityOf(b.service), longestAffinity))
	}
	if protocol == corev1.ProtocolUDP {
		// A client that keeps its port would send to an endpoint that has been removed for as long as it sends. Connections of the other
		// protocols end, and those to an endpoint that terminates may continue.
		options["ct_flush"] = "true"
	}
	maps.Copy(options, b.options)
	maps.Copy(options, more)
	key := balancerKey(b.service.Namespace+"/"+b.service.Name, protocol, b.place, part)
	balancer := columns{
		"name": key, "protocol": strings.ToLower(string(protocol)), "vips": vips, "options": options,
		"external_ids": map[string]string{"owner": "Service " + b.service.Namespace + "/" + b.service.Name},
	}
	if part != "" {
		// At its own address, a router tracks a packet once more than at others. Without these fields, the choice of an endpoint by a
		// hash of the datapath is one recirculation more, and the first packet to an endpoint on the same chassis exceeds the limit of
		// the datapath in user space: six.
		balancer["selection_fields"] = []string{"ip_dst", "ip_src", "tp_dst", "tp_src"}
	}
	if o.Config.AffinityByHash && b.service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP && isIPv4(vips, more) {
		balancer["selection_fields"] = []string{"ip_src"}
	}
	return row("LoadBalancer", b.group, o.ids().ForKey("Service", key), balancer)
}

// isIPv4 reports whether clients of all addresses of a load balancer have IPv4. For others the hash of ip_src is always the same: one
// endpoint would get all connections.
func isIPv4(vips, options map[string]string) bool {
	if family := options["address-family"]; family != "" {
		return family == addressFamily(true)
	}
	for vip := range vips {
		if strings.HasPrefix(vip, "[") {
			return false
		}
	}
	return true
}

// balancerKey returns the name of a load balancer, and the key of its id.
func balancerKey(service string, protocol corev1.Protocol, place, part string) string {
	return service + "/" + strings.ToLower(string(protocol)) + place + part
}

func nodePortsPart(is4 bool) string { return "/node-ports/" + addressFamily(is4) }

// longestAffinity is the longest time in seconds that OVN remembers the endpoint of a client.
const longestAffinity = 1<<16 - 1

// affinityLimits returns what OVN does not have of the session affinity of a Service. ovn-northd makes invalid flows of an affinity at the
// address of a template variable, at which node ports are.
func (o OVN) affinityLimits(service *corev1.Service) []Problem {
	if service.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return nil
	}
	var found []Problem
	if seconds := affinityOf(service); seconds > longestAffinity {
		found = append(found, *problem(ReasonSessionAffinityNotSupported,
			"spec.sessionAffinityConfig.clientIP.timeoutSeconds is %d: OVN remembers the endpoint of a client for %d seconds at most, which is used", seconds, longestAffinity))
	}
	byHash := o.Config.AffinityByHash && !slices.Contains(familiesOf(service), false)
	if !byHash && slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort != 0 }) {
		found = append(found, *problem(ReasonSessionAffinityNotSupported,
			"spec.sessionAffinity is %s: OVN has no session affinity for node ports; clients of the other addresses of the Service stay at one endpoint", service.Spec.SessionAffinity))
	}
	return found
}

// affinityOf is how long a client stays at one endpoint, in seconds.
func affinityOf(service *corev1.Service) int {
	if config := service.Spec.SessionAffinityConfig; config != nil && config.ClientIP != nil && config.ClientIP.TimeoutSeconds != nil {
		return int(*config.ClientIP.TimeoutSeconds)
	}
	return defaultAffinity
}

// servedAddresses returns all addresses of a Service, of both families: of the cluster, of its externalIPs, and of its load
// balancer. The latter two are external.
func servedAddresses(service *corev1.Service) (addresses, external []netip.Addr, problems []Problem) {
	for _, listed := range []struct {
		field string
		texts []string
	}{
		{clusterIPField, append([]string{service.Spec.ClusterIP}, service.Spec.ClusterIPs...)},
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
			if listed.field != clusterIPField {
				external = append(external, address)
			}
		}
	}
	unique := func(all []netip.Addr) []netip.Addr {
		slices.SortFunc(all, netip.Addr.Compare)
		return slices.Compact(all)
	}
	return unique(addresses), unique(external), problems
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

// endpointsOf gathers the endpoints of all slices of a Service; with a node, those on it.
func endpointsOf(service *corev1.Service, listed []*discoveryv1.EndpointSlice, node *string, skip func(Problem)) serviceEndpoints {
	all := serviceEndpoints{map[endpointsKey][]netip.AddrPort{}, map[endpointsKey][]netip.AddrPort{}}
	for _, slice := range listed {
		if slice.AddressType != discoveryv1.AddressTypeIPv4 && slice.AddressType != discoveryv1.AddressTypeIPv6 {
			continue
		}
		ports := listedPorts(service, slice)
		for _, endpoint := range slice.Endpoints {
			use := UseOf(endpoint)
			if use == Unused || node != nil && (endpoint.NodeName == nil || *endpoint.NodeName != *node) {
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
