// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

const kindServicePort = "Service-Port"

// Service returns what a Service becomes: for each port a chain that its endpoints jump from, and a rule that jumps to
// it. They are two Translations, so that another address or port replaces the rule, which MidoNet cannot change, and
// leaves the chain with its endpoints alone. The chains stand in the order of the ports.
func Service(service *corev1.Service, config Config) Result {
	c := newCollector(OwnerOf(KindService, service))
	address, failed := clusterAddress(service, config)
	if failed != nil {
		c.skip(*failed)
	}
	if !address.IsValid() {
		return c.done()
	}
	ids := NewIDs(config.Tenant)
	var chains []midonetv1.BackendResource
	for _, listed := range service.Spec.Ports {
		protocol, ok := protocolNumber(listed.Protocol)
		if !ok {
			c.skip(*problem(ReasonProtocolNotSupported, "port %d has protocol %s: MidoNet translates TCP and UDP only",
				listed.Port, listed.Protocol))
			continue
		}
		portKey := servicePortKey(service, listed.Name)
		spread := ids.serviceChain(portKey)
		chains = append(chains, config.chain(spread, "KUBE-SVC-"+portKey))
		key := fmt.Sprintf("%s/%s/%d/%d", portKey, address, protocol, listed.Port)
		c.add(kindServicePort, key, resource("Rule", ids.servicesChain(), &midonet.Rule{
			ID: ids.ForKey("ServicePortSub", key).String(), Type: midonet.JumpRule, DLType: midonet.EtherTypeIPv4,
			NWDstAddress: address.String(), NWDstLength: hostBits, NWProto: protocol,
			TPDst: &midonet.PortRange{Start: int(listed.Port), End: int(listed.Port)}, JumpChainID: spread.String(),
		}))
	}
	c.add(KindService, service.Name, chains...)
	return c.done()
}

// clusterAddress returns the address that a Service is served at. It is not valid when the Service is not served, and the problem
// is why, if it should be.
func clusterAddress(service *corev1.Service, config Config) (netip.Addr, *Problem) {
	spec := service.Spec
	if !hasClusterIP(service) || !slices.Contains(config.ServiceTypes, spec.Type) {
		return netip.Addr{}, nil
	}
	return firstIPv4("spec.clusterIP", spec.ClusterIP, spec.ClusterIPs)
}

// hasClusterIP reports whether there is an address to serve a Service at.
func hasClusterIP(service *corev1.Service) bool {
	return service.Spec.ClusterIP != "" && service.Spec.ClusterIP != corev1.ClusterIPNone
}

// servicePortKey names a port of a Service. The last part is empty when the port has no name.
func servicePortKey(service *corev1.Service, port string) string {
	return service.Namespace + "/" + service.Name + "/" + port
}

// protocolNumber returns the number of a transport protocol on the wire, for those that can be translated.
func protocolNumber(protocol corev1.Protocol) (int, bool) {
	switch protocol {
	case corev1.ProtocolTCP:
		return 6, true
	case corev1.ProtocolUDP:
		return 17, true
	default:
		return 0, false
	}
}
