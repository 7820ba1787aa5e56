// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// Reasons of what a Service requests and a backend does not have.
const (
	// ReasonServiceTypeNotSelected: the type of the Service is not one of those that are served.
	ReasonServiceTypeNotSelected = "ServiceTypeNotSelected"
	// ReasonSessionAffinityNotSupported: clients are to stay at one endpoint.
	ReasonSessionAffinityNotSupported = "SessionAffinityNotSupported"
	// ReasonNodePortNotSupported: the Service has ports of the Nodes.
	ReasonNodePortNotSupported = "NodePortNotSupported"
	// ReasonExternalIPsNotSupported: the Service has addresses beside the cluster IP.
	ReasonExternalIPsNotSupported = "ExternalIPsNotSupported"
	// ReasonLoadBalancerAddressNotSupported: the Service has addresses of a load balancer.
	ReasonLoadBalancerAddressNotSupported = "LoadBalancerAddressNotSupported"
	// ReasonTrafficPolicyNotSupported: the choice of an endpoint is to depend on where it is.
	ReasonTrafficPolicyNotSupported = "TrafficPolicyNotSupported"
	// ReasonManyEndpointsNotSupported: a port has endpoints that get no traffic as long as another one is there.
	ReasonManyEndpointsNotSupported = "ManyEndpointsNotSupported"
)

// MidoNet makes the Translations of MidoNet, and knows what MidoNet cannot do.
type MidoNet struct {
	Config Config
}

// Globals returns what there is once per cluster.
func (m MidoNet) Globals() Result { return Globals(m.Config) }

// Node returns what a Node becomes.
func (m MidoNet) Node(node *corev1.Node, _ map[netip.Addr]string) Result { return Node(node, m.Config) }

// Pod returns what a Pod becomes on a Node. MidoNet does not have policies.
func (m MidoNet) Pod(pod *corev1.Pod, node *corev1.Node, _ Scope) Result {
	return Pod(pod, node, m.Config)
}

// Service returns what a Service with its endpoints becomes, and what of it MidoNet does not have.
func (m MidoNet) Service(service *corev1.Service, slices []*discoveryv1.EndpointSlice, _ Occupied) Result {
	endpoints := Endpoints(service, slices, m.Config)
	limits := Result{Skipped: m.limits(service, endpoints)}
	return Join(Service(service, m.Config), endpoints, limits)
}

// limits returns what a Service requests and does not get. Of one that is not served there is nothing more to report.
func (m MidoNet) limits(service *corev1.Service, endpoints Result) []Problem {
	spec := service.Spec
	if hasClusterIP(service) && !slices.Contains(m.Config.ServiceTypes, spec.Type) {
		return []Problem{serviceTypeNotSelected(service)}
	}
	if address, _ := clusterAddress(service, m.Config); !address.IsValid() {
		return nil
	}
	var found []Problem
	lacks := func(reason, format string, values ...any) { found = append(found, *problem(reason, format, values...)) }
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		lacks(ReasonSessionAffinityNotSupported, "spec.sessionAffinity is %s: MidoNet has no session affinity", spec.SessionAffinity)
	}
	if ports := nodePorts(service); len(ports) > 0 {
		lacks(ReasonNodePortNotSupported, "node ports %s are not served: MidoNet serves the cluster IP only", firstOf(ports))
	}
	if ips := spec.ExternalIPs; len(ips) > 0 {
		lacks(ReasonExternalIPsNotSupported, "spec.externalIPs %s are not served: MidoNet serves the cluster IP only", firstOf(ips))
	}
	if addresses := LoadBalancerAddresses(service); len(addresses) > 0 {
		lacks(ReasonLoadBalancerAddressNotSupported,
			"status.loadBalancer.ingress %s is not served: MidoNet serves the cluster IP only", firstOf(addresses))
	}
	if policies := trafficPolicies(service); len(policies) > 0 {
		lacks(ReasonTrafficPolicyNotSupported, "%s: MidoNet does not choose endpoints by where they are", strings.Join(policies, ", "))
	}
	if hasManyEndpoints(endpoints) {
		lacks(ReasonManyEndpointsNotSupported, // not how many: each change would be reported
			"a port has more than one endpoint: MidoNet sends all connections to one of them, and to another one when that has been deleted")
	}
	return found
}

func serviceTypeNotSelected(service *corev1.Service) Problem {
	return *problem(ReasonServiceTypeNotSelected,
		"type %s is not in controllers.translation.serviceTypes: add it there to have the cluster IP served", service.Spec.Type)
}

func nodePorts(service *corev1.Service) []string {
	var ports []string
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			ports = append(ports, fmt.Sprint(port.NodePort))
		}
	}
	return ports
}

// LoadBalancerAddresses returns the addresses of a Service's load balancer that every Node has to serve: not names, and not
// those of a load balancer that traffic has to pass through.
func LoadBalancerAddresses(service *corev1.Service) []string {
	var addresses []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IP != "" && (ingress.IPMode == nil || *ingress.IPMode == corev1.LoadBalancerIPModeVIP) {
			addresses = append(addresses, ingress.IP)
		}
	}
	return addresses
}

// trafficPolicies returns the fields by which the choice of an endpoint depends on where it is.
func trafficPolicies(service *corev1.Service) []string {
	if policy := service.Spec.ExternalTrafficPolicy; policy == corev1.ServiceExternalTrafficPolicyLocal {
		return append([]string{fmt.Sprintf("spec.externalTrafficPolicy is %s", policy)}, internalTrafficPolicies(service)...)
	}
	return internalTrafficPolicies(service)
}

// internalTrafficPolicies returns those for connections within the cluster.
func internalTrafficPolicies(service *corev1.Service) []string {
	var policies []string
	if policy := service.Spec.InternalTrafficPolicy; policy != nil && *policy == corev1.ServiceInternalTrafficPolicyLocal {
		policies = append(policies, fmt.Sprintf("spec.internalTrafficPolicy is %s", *policy))
	}
	if distribution := service.Spec.TrafficDistribution; distribution != nil {
		policies = append(policies, fmt.Sprintf("spec.trafficDistribution is %s", *distribution))
	}
	return policies
}

// hasManyEndpoints reports whether the chain of a port jumps to more than one endpoint: the first jump does not return.
func hasManyEndpoints(endpoints Result) bool {
	chains := map[string]struct{}{}
	for i := range endpoints.Translations {
		chain := endpoints.Translations[i].Resources[endpointJump].Parent
		if _, again := chains[chain]; again {
			return true
		}
		chains[chain] = struct{}{}
	}
	return false
}

// firstOf lists the first few values in a message.
func firstOf(values []string) string {
	const most = 3
	if len(values) > most {
		values = append(slices.Clone(values[:most]), "…")
	}
	return strings.Join(values, ", ")
}

// The kind of the Translations of the whole cluster.
const kindGlobal = "midonet-global"

// Globals returns what there is once per cluster: the tunnel zone that hosts are in, the router between the Nodes, and the chain
// that every bridge sends its traffic through. Before the services the chain undoes translations: a packet that responds to a
// translated one must not be taken for a new one.
func Globals(config Config) Result {
	ids := NewIDs(config.Tenant)
	main, pre, services := ids.mainChain(), ids.preChain(), ids.servicesChain()
	c := newCollector(Owner{})
	c.add(kindGlobal, "tunnel-zone",
		resource("TunnelZone", uuid.Nil, &midonet.TunnelZone{ID: ids.tunnelZone().String(), Name: config.TunnelZoneName, Type: "vxlan"}))
	c.add(kindGlobal, "cluster-router",
		resource("Router", uuid.Nil, &midonet.Router{ID: ids.clusterRouter().String(), TenantID: config.Tenant, Name: "ClusterRouter"}))
	// MidoNet puts a new rule at the head of its chain: the last one listed here is the first one there.
	c.add(kindGlobal, "chain",
		config.chain(main, "KUBE-MAIN"), config.chain(pre, "KUBE-PRE"), config.chain(services, "KUBE-SERVICES"),
		jump(main, SubID(main, "Jump To Services"), services),
		jump(main, SubID(main, "Jump To Pre"), pre),
		resource("Rule", pre, &midonet.Rule{
			ID: SubID(main, "Reverse DNAT").String(), Type: midonet.ReverseDNATRule, FlowAction: midonet.AcceptFlow,
		}),
		resource("Rule", pre, &midonet.Rule{
			ID: SubID(main, "Reverse SNAT").String(), Type: midonet.ReverseSNATRule, FlowAction: midonet.ContinueFlow,
		}))
	return c.done()
}
