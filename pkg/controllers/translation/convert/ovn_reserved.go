// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// routerMAC and insideMAC are those of the router of the cluster, and of a gateway, on the switch of a Node.
func routerMAC(node string) string { return MACForKey(node).String() }
func insideMAC(node string) string { return MACForKey(node + "/gateway").String() }

// reserved is what the switch of a Node has apart from its Pods. Users who can annotate a Pod, and a kubelet, which writes the addresses
// of Pods, would take over the packets of others with it.
type reserved struct {
	node    string
	subnets []subnet
	// addresses and macs are those of other interfaces on the switch, with the names of these.
	addresses map[netip.Addr]string
	macs      map[string]string
}

func reservedOf(node *corev1.Node) reserved {
	r := reserved{node: node.Name, subnets: subnetsOf(node), addresses: map[netip.Addr]string{}, macs: map[string]string{}}
	if len(r.subnets) == 0 {
		return r
	}
	// A gateway that is not valid is one that may become valid.
	_, hasGateway := node.Annotations[midonetv1.AnnotationOVNGatewayNetwork]
	own := make([]netip.Addr, len(r.subnets))
	for i, subnet := range r.subnets {
		own[i] = subnet.node
		r.addresses[subnet.gateway], r.addresses[subnet.node] = "the router", "node "+node.Name
		if hasGateway {
			r.addresses[lastAddress(subnet.Prefix)] = "the gateway"
		}
	}
	r.macs[routerMAC(node.Name)], r.macs[insideMAC(node.Name)] = "the router", "the gateway"
	nodeMAC, _ := interfaceMAC(node.Annotations, own)
	r.macs[nodeMAC] = "node " + node.Name
	return r
}

// permitted returns the addresses that a Pod may have on the switch, and skips the rest: what the switch or other Pods have.
func (r reserved) permitted(addresses []netip.Addr, others map[string]string, skip func(Problem)) []netip.Addr {
	return slices.DeleteFunc(addresses, func(address netip.Addr) bool {
		owner, taken := r.addresses[address]
		if !taken {
			owner, taken = others[address.String()]
		}
		switch {
		case taken:
			skip(*problem(ReasonAddressTaken, "status.podIPs has %s, which is the address of %s on the switch of node %s: exclude it from the addresses of Pods",
				address, owner, r.node))
		case !slices.ContainsFunc(r.subnets, func(s subnet) bool { return s.Contains(address) }):
			skip(*problem(ReasonAddressOutsidePodCIDR, "status.podIPs has %s, which is in none of spec.podCIDRs of node %s: assign addresses out of these",
				address, r.node))
		default:
			return false
		}
		return true
	})
}

// PodKeys returns the addresses and MAC addresses that a Pod may get on the switch of its Node, of which one Pod only can have each. A MAC
// address of the annotation that looks derived is never used.
func PodKeys(pod *corev1.Pod) []string {
	if pod.Spec.NodeName == "" || pod.Spec.HostNetwork || pod.Status.PodIP == "" {
		return nil
	}
	var keys []string
	for _, address := range podAddresses(pod, func(Problem) {}) {
		keys = append(keys, address.String(), derivedMAC(address))
	}
	if address, _ := macOf(pod.Annotations); address != nil && !strings.HasPrefix(address.String(), derivedPrefix) {
		keys = append(keys, address.String())
	}
	return keys
}

// HasInterface reports whether a Pod has an interface on the switch of its Node.
func HasInterface(pod *corev1.Pod) bool { return hasOwnNetwork(pod) }

// podMAC returns the MAC address of a Pod with the given addresses, which are sorted: that of the annotation, if the configuration
// permits it and no other interface has it, or else the derived one. It is empty if another Pod has that.
func (o OVN) podMAC(pod *corev1.Pod, addresses []netip.Addr, r reserved, others map[string]string, skip func(Problem)) string {
	derived := derivedMAC(addresses[0])
	if owner, taken := others[derived]; taken {
		skip(*problem(ReasonAddressTaken, "%s, the MAC address that is derived from the address %s of the Pod, is that of %s on the switch of node %s: "+
			"assign another address", derived, addresses[0], owner, r.node))
		derived = ""
	}
	address, failed := macOf(pod.Annotations)
	if failed != nil {
		skip(*failed)
	}
	if address == nil || address.String() == derived {
		return derived
	}
	text := address.String()
	owner, taken := r.macs[text]
	if !taken {
		owner, taken = others[text]
	}
	if !taken && strings.HasPrefix(text, derivedPrefix) {
		owner, taken = "the interface whose address it is derived from", true
	}
	switch {
	case !o.Config.PodMACAddresses:
		skip(*problem(ReasonMACAddressNotPermitted, "annotation %s is not used: remove it, or set controllers.translation.ovn.podMACAddresses",
			midonetv1.AnnotationMACAddress))
	case address[0]&1 != 0:
		skip(*problem(ReasonInvalidAddress, "annotation %s is %s, the address of a group: set that of one interface", midonetv1.AnnotationMACAddress, text))
	case taken:
		skip(*problem(ReasonAddressTaken, "annotation %s is %s, which is the MAC address of %s on the switch of node %s: set another one",
			midonetv1.AnnotationMACAddress, text, owner, r.node))
	default:
		return text
	}
	return derived
}
