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

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// kindNodeGateway is the kind of the Translation of what connects a Node to a network outside of the cluster.
const kindNodeGateway = "Node-Gateway"

// gatewayPriority is that of the policies that return what comes from outside to the router of the cluster.
const gatewayPriority = 100

// gateway is where a Node is connected to a network outside of the cluster.
type gateway struct {
	network string
	// addresses are those of the gateway on it, one of each family, that of IPv4 first; nextHops are the routers of the same families,
	// not valid where there is none.
	addresses []netip.Prefix
	nextHops  []netip.Addr
}

// gatewayOf reads the annotations of a Node. A Node without them is none.
func gatewayOf(node *corev1.Node) (*gateway, *Problem) {
	read := gateway{network: node.Annotations[midonetv1.AnnotationOVNGatewayNetwork]}
	addresses, hops := node.Annotations[midonetv1.AnnotationOVNGatewayAddresses], node.Annotations[midonetv1.AnnotationOVNGatewayNextHops]
	invalid := func(annotation, remedy string) *Problem {
		return problem(ReasonInvalidGateway, "annotation %s is %.80q: %s", annotation, node.Annotations[annotation], remedy)
	}
	switch {
	case read.network == "" && addresses == "" && hops == "":
		return nil, nil
	case read.network == "":
		return nil, invalid(midonetv1.AnnotationOVNGatewayNetwork, "set the name of a physical network in ovn-bridge-mappings of the chassis")
	}
	for text := range strings.SplitSeq(addresses, ",") {
		address, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || address.Addr().Is4In6() || slices.ContainsFunc(read.addresses, func(p netip.Prefix) bool { return p.Addr().Is4() == address.Addr().Is4() }) {
			return nil, invalid(midonetv1.AnnotationOVNGatewayAddresses, "set an address with the length of its prefix, such as 198.51.100.11/24, of each family at most one, separated by commas")
		}
		read.addresses = append(read.addresses, address)
	}
	slices.SortFunc(read.addresses, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	read.nextHops = make([]netip.Addr, len(read.addresses))
	if hops == "" {
		return &read, nil
	}
	for text := range strings.SplitSeq(hops, ",") {
		hop, err := netip.ParseAddr(strings.TrimSpace(text))
		i := slices.IndexFunc(read.addresses, func(p netip.Prefix) bool { return p.Contains(hop) && p.Addr() != hop })
		if err != nil || i < 0 || read.nextHops[i].IsValid() {
			return nil, invalid(midonetv1.AnnotationOVNGatewayNextHops, "set the address of a router on the network of the gateway, of each family at most one, separated by commas")
		}
		read.nextHops[i] = hop
	}
	return &read, nil
}

// gateway connects a Node to a network outside of the cluster: by a router on its chassis, which has an address on that network, and
// the last address of the range of the Node's Pods. It has all load balancers for connections from outside. What comes from outside
// is routed to the cluster's router, and what Pods of the Node send to other networks leaves with the address of the gateway: replies to
// a Pod's clients have to pass the gateway in any case.
func (o OVN) gateway(c *collector, node *corev1.Node, subnets []subnet) {
	configured, failed := gatewayOf(node)
	if failed != nil {
		c.skip(*failed)
	}
	if configured == nil {
		return
	}
	families, failed := gatewayFamilies(node, *configured, subnets)
	if failed != nil {
		c.skip(*failed)
		return
	}
	at, base := o.ids().bridge(node.Name), o.ids().ForKey(kindNodeGateway, node.Name)
	router, outside := SubID(base, "Router"), SubID(base, "Outside")
	insidePort, outsidePort := o.portName("gtos-"+node.Name), o.portName("gtoe-"+node.Name)
	owner := map[string]string{"owner": "Node " + node.Name}
	var insideNetworks, outsideNetworks []string
	variables := map[string]string{}
	rows := []midonetv1.BackendResource(nil)
	for _, f := range families {
		insideNetworks = append(insideNetworks, netip.PrefixFrom(f.inside, f.Bits()).String())
		outsideNetworks = append(outsideNetworks, f.address.String())
		variables[f.variable()] = f.address.Addr().String()
		rows = append(rows, o.gatewayRoutes(node.Name, base, f, outsidePort)...)
	}
	rows = append(rows,
		row("LogicalRouter", uuid.Nil, router, columns{"name": o.Config.Tenant + "-gateway-" + node.Name, "external_ids": owner,
			"options":             map[string]string{"chassis": chassisOf(node), "lb_force_snat_ip": "router_ip"},
			"load_balancer_group": idTexts(o.loadBalancers(), o.gatewayLoadBalancers(), o.nodeLoadBalancers(node.Name))}),
		row("LogicalRouterPort", router, SubID(base, "Inside Port"), columns{"name": insidePort, "mac": insideMAC(node.Name), "networks": insideNetworks}),
		row("LogicalSwitchPort", at, SubID(base, "Switch Port"), columns{"name": o.portName("stog-" + node.Name), "type": "router", "addresses": []string{"router"},
			"options": map[string]string{"router-port": insidePort}}),
		row("LogicalRouterPort", router, SubID(base, "Outside Port"), columns{"name": outsidePort, "networks": outsideNetworks,
			"mac": MACForKey(o.Config.Tenant + "/" + node.Name + "/" + configured.network).String()}),
		row("LogicalSwitch", uuid.Nil, outside, columns{"name": o.Config.Tenant + "-external-" + node.Name, "external_ids": owner}),
		row("LogicalSwitchPort", outside, SubID(base, "Gateway Port"), columns{"name": o.portName("etog-" + node.Name), "type": "router", "addresses": []string{"router"},
			"options": map[string]string{"router-port": outsidePort}}),
		row("LogicalSwitchPort", outside, SubID(base, "Network Port"), columns{"name": o.portName("etol-" + node.Name), "type": "localnet", "addresses": []string{"unknown"},
			"options": map[string]string{"network_name": configured.network}}),
		row("ChassisTemplateVar", uuid.Nil, SubID(base, "Variables"), columns{"chassis": chassisOf(node), "variables": variables, "external_ids": owner}))
	c.add(kindNodeGateway, node.Name, rows...)
}

// gatewayFamily is what a gateway has of one family of addresses.
type gatewayFamily struct {
	subnet
	// inside is the address of the gateway on the switch of its Node, address the one outside.
	inside  netip.Addr
	address netip.Prefix
	nextHop netip.Addr
}

// gatewayFamilies combines the addresses of a gateway with the ranges of its Node's Pods.
func gatewayFamilies(node *corev1.Node, g gateway, subnets []subnet) ([]gatewayFamily, *Problem) {
	var families []gatewayFamily
	for i, address := range g.addresses {
		k := slices.IndexFunc(subnets, func(s subnet) bool { return s.Addr().Is4() == address.Addr().Is4() })
		if k < 0 {
			return nil, problem(ReasonInvalidGateway, "annotation %s has %s, and node %s has no spec.podCIDRs of its family: remove the address",
				midonetv1.AnnotationOVNGatewayAddresses, address, node.Name)
		}
		inside := lastAddress(subnets[k].Prefix)
		if inside.Compare(subnets[k].node) <= 0 {
			return nil, problem(ReasonInvalidGateway, "spec.podCIDRs of node %s has %s, which has no room for a gateway: remove annotation %s, or assign a larger range",
				node.Name, subnets[k].Prefix, midonetv1.AnnotationOVNGatewayNetwork)
		}
		families = append(families, gatewayFamily{subnets[k], inside, address, g.nextHops[i]})
	}
	return families, nil
}

// lastAddress returns the last address of a range that an interface can have. The one of IPv4 after it is that of broadcasts.
func lastAddress(network netip.Prefix) netip.Addr {
	octets := network.Masked().Addr().AsSlice()
	for bit := network.Bits(); bit < len(octets)*8; bit++ {
		octets[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(octets)
	if last.Is4() {
		return last.Prev()
	}
	return last
}

// variable is the name of the template variable with the address of a chassis' gateway. In a name there are no dashes.
func (f gatewayFamily) variable() string { return gatewayVariable(f.inside.Is4()) }

func gatewayVariable(is4 bool) string {
	return midonetv1.OVNGatewayVariable + addressFamily(is4)
}

// addressFamily is the family in the words of OVN.
func addressFamily(is4 bool) string {
	if is4 {
		return "ipv4"
	}
	return "ipv6"
}

// gatewayRoutes returns the routes of one family: of the cluster's router to the gateway, and of the gateway.
func (o OVN) gatewayRoutes(node string, base uuid.UUID, f gatewayFamily, outsidePort string) []midonetv1.BackendResource {
	family, is, anywhere := addressFamily(f.inside.Is4()), "ip4", "0.0.0.0/0"
	if f.inside.Is6() {
		is, anywhere = "ip6", "::/0"
	}
	router := SubID(base, "Router")
	// Pods of the Node connect to the gateway's addresses as well: then the Pod that is chosen is on the side that the packet comes from.
	match := fmt.Sprintf(`(inport == %q && %s) || %s.dst == $%s_%s`, outsidePort, is, is, groupName(o.allPods()), is)
	rows := []midonetv1.BackendResource{
		row("LogicalRouterStaticRoute", o.router(), SubID(base, "Route of Pods "+family), columns{
			"ip_prefix": f.String(), "policy": "src-ip", "nexthop": f.inside.String(), "output_port": o.routerPortName(node),
		}),
		row("LogicalRouterPolicy", router, SubID(base, "Policy "+family), columns{
			"priority": gatewayPriority, "match": match, "action": "reroute", "nexthops": []string{f.gateway.String()},
		}),
		row("NAT", router, SubID(base, "SNAT "+family), columns{"type": "snat", "logical_ip": f.String(), "external_ip": f.address.Addr().String()}),
	}
	if f.nextHop.IsValid() {
		rows = append(rows, row("LogicalRouterStaticRoute", router, SubID(base, "Default Route "+family), columns{
			"ip_prefix": anywhere, "nexthop": f.nextHop.String(), "output_port": outsidePort,
		}))
	}
	return rows
}

// nodeLoadBalancers is the group of the load balancers with endpoints on a Node only.
func (o OVN) nodeLoadBalancers(node string) uuid.UUID {
	return SubID(o.ids().bridge(node), "Load Balancers")
}

// idTexts returns ids as a column lists them: sorted.
func idTexts(ids ...uuid.UUID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	slices.Sort(texts)
	return texts
}
