// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// Node returns what a Node becomes, without its addresses that are occupied: a switch for its Pods behind a port of the cluster's router, a port on it for the Node itself, and
// routes to the Node's addresses, and access to its Pods in spite of policies. It waits for a range of pod addresses.
func (o OVN) Node(node *corev1.Node, occupied map[netip.Addr]string) Result {
	subnets := subnetsOf(node)
	if len(subnets) == 0 {
		return Result{Waiting: podCIDRMissing(node)}
	}
	c := newCollector(OwnerOf(KindNode, node))
	own := make([]netip.Addr, len(subnets))
	networks := make([]string, len(subnets))
	for i, subnet := range subnets {
		own[i], networks[i] = subnet.node, fmt.Sprintf("%s/%d", subnet.gateway, subnet.Bits())
	}
	interfaceMAC, failed := interfaceMAC(node.Annotations, own)
	if failed != nil {
		c.skip(*failed)
	}
	at := o.ids().bridge(node.Name)
	access := SubID(at, "Node Group")
	port := o.port(o.portName("k8s-"+node.Name), node, interfaceMAC, own, false, "Node "+node.Name)
	port["port_groups"] = []string{access.String()}
	c.add(KindNode, node.Name, append(o.nodeAccess(access, node, own, occupied),
		row("LoadBalancerGroup", uuid.Nil, o.nodeLoadBalancers(node.Name), columns{"name": o.Config.Tenant + "-node-" + node.Name}),
		row("LogicalSwitch", uuid.Nil, at, columns{"name": node.Name, "load_balancer_group": idTexts(o.loadBalancers(), o.switchLoadBalancers())}),
		row("LogicalRouterPort", o.router(), SubID(at, "Router Port"), columns{
			"name": o.routerPortName(node.Name), "mac": routerMAC(node.Name), "networks": networks,
		}),
		row("LogicalSwitchPort", at, SubID(at, "Switch Port"), columns{
			"name": o.portName("stor-" + node.Name), "type": "router", "addresses": []string{"router"},
			"options": map[string]string{"router-port": o.routerPortName(node.Name)},
		}),
		row("LogicalSwitchPort", at, SubID(at, "Node Port"), port))...)
	o.addresses(c, node, subnets, occupied)
	o.gateway(c, node, subnets)
	return c.done()
}

func podCIDRMissing(node *corev1.Node) *Problem {
	return problem(ReasonPodCIDRMissing, "spec.podCIDR of node %s is %.80q: it takes a range with room for a gateway and the node", node.Name, node.Spec.PodCIDR)
}

// portName returns the name of a port, which is unique in the database.
func (o OVN) portName(name string) string {
	if o.Config.TenantInNames {
		return o.Config.Tenant + "_" + name
	}
	return name
}

func (o OVN) routerPortName(node string) string { return o.portName("rtos-" + node) }

// port returns what is on the interface of a Pod or a Node. If it is secured, nothing with another address passes it. That of a
// Node is not, since it has the Node's own addresses behind it.
func (o OVN) port(name string, node *corev1.Node, mac string, addresses []netip.Addr, secured bool, owner string) columns {
	texts := []string{mac}
	for _, address := range addresses {
		texts = append(texts, address.String())
	}
	address, security := []string{strings.Join(texts, " ")}, []string{}
	if secured {
		security = address
	}
	return columns{
		"name": name, "type": "", "addresses": address, "port_security": security,
		"options": map[string]string{"requested-chassis": chassisOf(node)}, "external_ids": map[string]string{"owner": owner},
	}
}

// chassisOf returns the chassis that a Node is, by its name or its hostname: that of the Node if nothing else is set.
func chassisOf(node *corev1.Node) string {
	if chassis := node.Annotations[midonetv1.AnnotationOVNChassis]; chassis != "" {
		return chassis
	}
	return node.Name
}

// addresses routes what is sent to an address of the Node to its port, if Pods can send to addresses of that family.
func (o OVN) addresses(c *collector, node *corev1.Node, subnets []subnet, occupied map[netip.Addr]string) {
	for _, listed := range node.Status.Addresses {
		if !slices.Contains(o.Config.NodeAddressTypes, listed.Type) {
			continue
		}
		address, failed := parseAddress("status.addresses: "+string(listed.Type), listed.Address)
		if failed != nil {
			c.skip(*failed)
			continue
		}
		if owner, taken := occupied[address]; taken {
			c.skip(*problem(ReasonNodeAddressTaken, "status.addresses has %s, which is %s: traffic for it is not routed to the node", address, owner))
			continue
		}
		i := slices.IndexFunc(subnets, func(s subnet) bool { return s.Addr().Is4() == address.Is4() })
		if i < 0 {
			continue
		}
		key := node.Name + "/" + string(listed.Type) + "/" + address.String()
		c.add(kindNodeAddress, key, row("LogicalRouterStaticRoute", o.router(), o.ids().ForKey("Node Address", key), columns{
			"ip_prefix": netip.PrefixFrom(address, address.BitLen()).String(), "nexthop": subnets[i].node.String(), "output_port": o.routerPortName(node.Name),
		}))
	}
}

// Pod returns what a Pod becomes: a port on the switch of its Node, with its addresses, in the groups of the policies. Node is the one that the Pod runs on, nil when
// it is not known. A Pod that runs nowhere, has ended, has no address yet, or uses the network of its host becomes nothing.
func (o OVN) Pod(pod *corev1.Pod, node *corev1.Node, scope Scope) Result {
	if !hasOwnNetwork(pod) || pod.Status.PodIP == "" {
		return Result{}
	}
	if node == nil || node.Name != pod.Spec.NodeName {
		return Result{Waiting: problem(ReasonNodeMissing, "node %s is not known", pod.Spec.NodeName)}
	}
	reserved := reservedOf(node)
	if len(reserved.subnets) == 0 {
		return Result{Waiting: podCIDRMissing(node)}
	}
	c := newCollector(OwnerOf(KindPod, pod))
	addresses := reserved.permitted(podAddresses(pod, c.skip), scope.Taken, c.skip)
	if len(addresses) == 0 {
		return c.done()
	}
	mac := o.podMAC(pod, addresses, reserved, scope.Taken, c.skip)
	if mac == "" {
		return c.done()
	}
	id := o.ids().ForKey(KindPod, pod.Namespace+"/"+pod.Name)
	port := o.port(o.portName(pod.Namespace+"_"+pod.Name), node, mac, addresses, true, "Pod "+pod.Namespace+"/"+pod.Name)
	port["port_groups"] = o.groupsOf(pod, scope)
	c.add(KindPod, pod.Name, row("LogicalSwitchPort", o.ids().bridge(node.Name), id, port))
	return c.done()
}

// podAddresses returns the addresses of a Pod, that of IPv4 first.
func podAddresses(pod *corev1.Pod, skip func(Problem)) []netip.Addr {
	var addresses []netip.Addr
	texts := []string{pod.Status.PodIP}
	for _, listed := range pod.Status.PodIPs {
		texts = append(texts, listed.IP)
	}
	for _, text := range texts {
		address, failed := parseAddress("status.podIP", text)
		if failed != nil {
			skip(*failed)
			continue
		}
		addresses = append(addresses, address)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return slices.Compact(addresses)
}

// interfaceMAC returns the MAC address of an interface with the given addresses, which are sorted: that of the annotation, or else
// the derived one. With a problem, the annotation is not used.
func interfaceMAC(annotations map[string]string, addresses []netip.Addr) (string, *Problem) {
	address, failed := macOf(annotations)
	if address != nil {
		return address.String(), nil
	}
	return derivedMAC(addresses[0]), failed
}

// derivedPrefix is how derived MAC addresses begin.
const derivedPrefix = "0a:58:"

// derivedMAC returns the MAC address that ovn-kubernetes derives from the first address of an interface.
func derivedMAC(first netip.Addr) string {
	octets := first.AsSlice()
	if !first.Is4() {
		sum := sha256.Sum256([]byte(first.String()))
		octets = sum[:]
	}
	return mac{0x0a, 0x58, octets[0], octets[1], octets[2], octets[3]}.String()
}

// subnetsOf returns the ranges of addresses of a Node's Pods, one of each family, that of IPv4 first.
func subnetsOf(node *corev1.Node) []subnet {
	var found []subnet
	for _, text := range append([]string{node.Spec.PodCIDR}, node.Spec.PodCIDRs...) {
		pods, ok := parseAnySubnet(text)
		if ok && !slices.ContainsFunc(found, func(s subnet) bool { return s.Addr().Is4() == pods.Addr().Is4() }) {
			found = append(found, pods)
		}
	}
	slices.SortFunc(found, func(a, b subnet) int { return a.Addr().Compare(b.Addr()) })
	return found
}
