// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// inventory is what Octavia has of one project.
type inventory struct {
	balancers []openstack.LoadBalancer
	// listeners are by load balancer, pools by their ids.
	listeners map[string][]openstack.Listener
	pools     map[string]openstack.Pool
	// members are by pool, of those pools that a listener sends its traffic to. One that was deleted meanwhile is not in it.
	members map[string][]openstack.Member
}

// settled reports whether what was read of a load balancer can be what it is. While Octavia changes it, its parts are between two
// states, and so they are when a pool went between two of the requests.
func (i *inventory) settled(balancer *openstack.LoadBalancer) bool {
	return !strings.HasPrefix(balancer.ProvisioningStatus, "PENDING_") &&
		!slices.ContainsFunc(i.listeners[balancer.ID], func(listener openstack.Listener) bool {
			_, pool := i.pools[listener.DefaultPoolID]
			_, members := i.members[listener.DefaultPoolID]
			return listener.DefaultPoolID != "" && (!pool || !members)
		})
}

// translate makes a service of a load balancer: a port of each listener, and endpoints of the members of the listener's default
// pool. What rules of a listener send elsewhere is for HTTP and cannot be reported here: such a port, and one without a pool, has
// no endpoints. Problems report what of it cannot be copied.
func (i *inventory) translate(namespace string, balancer *openstack.LoadBalancer) (source *desired.Source, problems []string) {
	source = &desired.Source{Namespace: namespace, Name: strings.ToLower(balancer.ID),
		Labels: map[string]string{gimbalv1.LabelLoadBalancerID: balancer.ID}}
	if name := labelValue(balancer.Name); name != "" {
		source.Labels[gimbalv1.LabelLoadBalancerName] = name
	}
	if balancer.ProvisioningStatus == "ERROR" {
		problems = append(problems, "is in ERROR: fail it over or delete it; until then its copy has what Octavia reports about its members")
	}
	listeners := servable(i.listeners[balancer.ID])
	names := portNames(listeners)
	for n := range listeners {
		listener := &listeners[n]
		source.Ports = append(source.Ports, corev1.ServicePort{Name: names[n], Protocol: protocolOf(listener), Port: int32(listener.Port)})
		pool, ok := i.pools[listener.DefaultPoolID]
		if !ok {
			if listener.DefaultPoolID == "" && listener.HasRules {
				problems = append(problems, fmt.Sprintf("has a listener on port %d that distributes requests by L7 policies only: give it a default "+
					"pool, else its copied port has no endpoints", listener.Port))
			}
			continue
		}
		up := balancer.AdminUp && listener.AdminUp && pool.AdminUp
		endpoints, unfit := endpointsOf(i.members[pool.ID], up)
		for _, address := range unfit {
			problems = append(problems, fmt.Sprintf("has the member %s, which cannot be an endpoint: its address leads to no other machine",
				address))
		}
		source.Slices = append(source.Slices, slicesOf(listener, names[n], endpoints)...)
	}
	slices.Sort(problems)
	return source, slices.Compact(problems)
}

// servable returns the listeners in the order of their ports, TCP first, and one only of those with the same port and
// protocol, which are there when one takes the place of another between two requests.
func servable(listeners []openstack.Listener) []openstack.Listener {
	kept := slices.DeleteFunc(slices.Clone(listeners), func(l openstack.Listener) bool { return l.Port < 1 || l.Port > 65535 })
	compare := func(a, b openstack.Listener) int {
		udp := func(l openstack.Listener) string { return strings.TrimPrefix(string(protocolOf(&l)), "TCP") }
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(udp(a), udp(b)))
	}
	slices.SortFunc(kept, func(a, b openstack.Listener) int { return cmp.Or(compare(a, b), cmp.Compare(a.ID, b.ID)) })
	return slices.CompactFunc(kept, func(a, b openstack.Listener) bool { return compare(a, b) == 0 })
}

// portNames gives the port of a listener its name, port-<number>. Of several with one number the first has it, and the
// others have their protocol behind it, as in port-53-udp.
func portNames(listeners []openstack.Listener) []string {
	names := make([]string, len(listeners))
	for n := range listeners {
		names[n] = fmt.Sprintf("port-%d", listeners[n].Port)
		if n > 0 && listeners[n-1].Port == listeners[n].Port {
			names[n] += "-" + strings.ToLower(string(protocolOf(&listeners[n])))
		}
	}
	return names
}

// protocolOf returns the protocol below that of a listener: all except two of Octavia's are spoken over TCP.
func protocolOf(listener *openstack.Listener) corev1.Protocol {
	switch listener.Protocol {
	case "UDP":
		return corev1.ProtocolUDP
	case "SCTP":
		return corev1.ProtocolSCTP
	default:
		return corev1.ProtocolTCP
	}
}

// place is what the endpoints of one slice have in common.
type place struct {
	port   int
	family discoveryv1.AddressType
}

// slicesOf returns the endpoints of a listener, a slice for each port and family of addresses of its members. A slice
// belongs to the listener and not to the pool: when another pool takes over, one write changes it.
func slicesOf(listener *openstack.Listener, name string, endpoints map[place][]discoveryv1.Endpoint) []desired.Slice {
	order := func(a, b place) int { return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.family, b.family)) }
	var parts []desired.Slice
	for _, at := range slices.SortedFunc(maps.Keys(endpoints), order) {
		parts = append(parts, desired.Slice{
			ID: fmt.Sprintf("%s/%d/%s", listener.ID, at.port, at.family), AddressType: at.family, Endpoints: endpoints[at],
			Ports: []discoveryv1.EndpointPort{{Name: &name, Protocol: new(protocolOf(listener)), Port: new(int32(at.port))}},
		})
	}
	return parts
}
