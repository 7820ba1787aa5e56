// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// Kinds of the Translations of a Node, in addition to its own.
const (
	kindNodeAddress        = "Node-Address"
	kindNodeTunnelEndpoint = "Node-Tunnel-Endpoint"
	kindNodeMAC            = "Node-MAC"
	kindNodeARP            = "Node-ARP"
)

// nodeInterface is the host's end of a Node's own interface.
const nodeInterface = "midokube-mido"

// nodeView is a Node with the ids of what it becomes.
type nodeView struct {
	*corev1.Node
	ids                             IDs
	host                            uuid.UUID
	subnet                          subnet
	bridge, routerPort, port, chain uuid.UUID
}

// Node returns what a Node becomes: a bridge for its Pods behind a port of the cluster router, a port on it for the
// Node itself, routes to the Node's addresses, and its host in a tunnel zone. It waits for the id of the host and for
// the range of pod addresses.
func Node(node *corev1.Node, config Config) Result {
	host, missing := hostOf(node)
	if missing != nil {
		return Result{Waiting: missing}
	}
	pods, missing := subnetOf(node)
	if missing != nil {
		return Result{Waiting: missing}
	}
	ids := NewIDs(config.Tenant)
	base := ids.bridge(node.Name)
	view := nodeView{
		Node: node, ids: ids, host: host, subnet: pods,
		bridge: base, routerPort: SubID(base, "Router Port"), port: SubID(base, "Node Port"), chain: SubID(base, "Node Port Chain"),
	}
	c := newCollector(OwnerOf(KindNode, node))
	c.add(KindNode, node.Name, view.network(config)...)
	view.addresses(c)
	view.tunnelEndpoint(c)
	view.neighbour(c)
	return c.done()
}

// network returns the bridge with all that is on it.
func (n nodeView) network(config Config) []midonetv1.BackendResource {
	cluster, bridgePort := n.ids.clusterRouter(), SubID(n.bridge, "Bridge Port")
	return []midonetv1.BackendResource{
		resource("Bridge", uuid.Nil, &midonet.Bridge{
			ID: n.bridge.String(), TenantID: config.Tenant, Name: n.Name, InboundFilterID: n.ids.mainChain().String(),
		}),
		resource("Port", n.bridge, &midonet.Port{ID: bridgePort.String(), Type: midonet.BridgePort}),
		resource("Port", cluster, &midonet.Port{
			ID: n.routerPort.String(), Type: midonet.RouterPort,
			PortSubnet: []string{fmt.Sprintf("%s/%d", n.subnet.gateway, n.subnet.Bits())}, PortMAC: MACForKey(n.Name).String(),
		}),
		resource("Route", cluster, &midonet.Route{
			ID: SubID(n.bridge, "Route").String(), DstNetworkAddr: n.subnet.Addr().String(), DstNetworkLength: n.subnet.Bits(),
			NextHopPort: n.routerPort.String(), SrcNetworkAddr: anyAddress, Type: midonet.NormalRoute,
		}),
		resource("PortLink", bridgePort, &midonet.PortLink{PeerID: n.routerPort.String()}),
		config.chain(n.chain, "KUBE-NODE-"+n.Name),
		resource("Port", n.bridge, &midonet.Port{ID: n.port.String(), Type: midonet.BridgePort, OutboundFilterID: n.chain.String()}),
		binding(n.host, n.port, nodeInterface),
		// Traffic from the Node to itself through a Service has to return through the bridge, to be translated back.
		snat(n.chain, SubID(n.bridge, "Node Port SNAT Rule"), n.subnet.node, n.subnet.gateway),
	}
}

// addresses routes what is sent to an address of the Node to its port.
func (n nodeView) addresses(c *collector) {
	for _, listed := range n.Status.Addresses {
		if listed.Type != corev1.NodeExternalIP && listed.Type != corev1.NodeInternalIP {
			continue
		}
		address, failed := parseIPv4("status.addresses: "+string(listed.Type), listed.Address)
		if failed != nil {
			c.skip(*failed)
			continue
		}
		key := n.Name + "/" + string(listed.Type) + "/" + address.String()
		c.add(kindNodeAddress, key, resource("Route", n.ids.clusterRouter(), &midonet.Route{
			ID: n.ids.ForKey("Node Address", key).String(), DstNetworkAddr: address.String(), DstNetworkLength: hostBits,
			NextHopGateway: n.subnet.node.String(), NextHopPort: n.routerPort.String(), SrcNetworkAddr: anyAddress, Type: midonet.NormalRoute,
		}))
	}
}

// tunnelEndpoint puts the Node's host into its tunnel zone, once the address where its tunnels end is known.
func (n nodeView) tunnelEndpoint(c *collector) {
	text, found := n.Annotations[midonetv1.AnnotationTunnelEndpointIP]
	if !found {
		return
	}
	address, failed := parseIPv4("annotation "+midonetv1.AnnotationTunnelEndpointIP, text)
	if failed != nil {
		c.skip(*failed)
		return
	}
	zone := n.ids.tunnelZone()
	if other := n.Annotations[midonetv1.AnnotationTunnelZoneID]; other != "" {
		if zone, found = parseID(other); !found {
			c.skip(*problem(ReasonInvalidTunnelZone, "annotation %s is %.80q: set the UUID of a tunnel zone, or nothing for the default one",
				midonetv1.AnnotationTunnelZoneID, other))
			return
		}
	}
	c.add(kindNodeTunnelEndpoint, n.Name+"/"+address.String()+"/"+zone.String()+"/"+n.host.String(),
		resource("TunnelZoneHost", zone, &midonet.TunnelZoneHost{HostID: n.host.String(), IPAddress: address.String()}))
}

// neighbour configures the bridge with where the Node's own interface is.
func (n nodeView) neighbour(c *collector) {
	address, failed := macOf(n.Annotations)
	if failed != nil {
		c.skip(*failed)
	}
	if address == nil {
		return
	}
	c.add(kindNodeMAC, n.Name+"/mac/"+address.key(), macPort(n.bridge, *address, n.port))
	c.add(kindNodeARP, n.Name+"/ip/"+n.subnet.node.String()+"/"+address.key(), arpEntry(n.bridge, n.subnet.node, *address))
}

// hostOf returns the MidoNet host that a Node is.
func hostOf(node *corev1.Node) (uuid.UUID, *Problem) {
	text := node.Annotations[midonetv1.AnnotationHostID]
	host, ok := parseID(text)
	if !ok {
		return uuid.Nil, problem(ReasonHostIDMissing, "annotation %s of node %s is %.80q: set the UUID of its MidoNet host",
			midonetv1.AnnotationHostID, node.Name, text)
	}
	return host, nil
}

// subnetOf returns the range of addresses of a Node's Pods, the one of IPv4 when there are two.
func subnetOf(node *corev1.Node) (subnet, *Problem) {
	for _, text := range append([]string{node.Spec.PodCIDR}, node.Spec.PodCIDRs...) {
		if pods, ok := parseSubnet(text); ok {
			return pods, nil
		}
	}
	return subnet{}, problem(ReasonPodCIDRMissing, "spec.podCIDR of node %s is %.80q: it takes an IPv4 range with room for a gateway and the node",
		node.Name, node.Spec.PodCIDR)
}
