// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// gatewayNode has the annotations of a gateway: network, addresses, next hops.
func gatewayNode(annotations ...string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Annotations = map[string]string{}
		for i, name := range []string{midonetv1.AnnotationOVNGatewayNetwork, midonetv1.AnnotationOVNGatewayAddresses, midonetv1.AnnotationOVNGatewayNextHops} {
			if i < len(annotations) && annotations[i] != "" {
				node.Annotations[name] = annotations[i]
			}
		}
	}
}

func TestOVNGateway(t *testing.T) {
	o := ovnEmitter()
	ids, base := known(o), o.ids().ForKey(kindNodeGateway, "node-a")
	for part, name := range map[string]string{
		"Router": "GW", "Outside": "OUTSIDE", "Inside Port": "INSIDE-PORT", "Switch Port": "SWITCH-PORT", "Outside Port": "OUTSIDE-PORT", "Gateway Port": "GW-PORT",
		"Network Port": "NET-PORT", "Variables": "VARIABLES", "Route of Pods ipv4": "PODS4", "Route of Pods ipv6": "PODS6", "Policy ipv4": "POLICY4", "Policy ipv6": "POLICY6",
		"SNAT ipv4": "SNAT4", "SNAT ipv6": "SNAT6", "Default Route ipv4": "DEFAULT4", "Default Route ipv6": "DEFAULT6",
	} {
		ids[SubID(base, part).String()] = name
	}
	groups := idTexts(o.loadBalancers(), o.gatewayLoadBalancers(), o.nodeLoadBalancers("node-a"))
	for i, id := range groups {
		groups[i] = ids[id]
	}
	edit := gatewayNode("physnet1", "2001:db8::11/64, 198.51.100.11/24", "198.51.100.1")
	got := slices.DeleteFunc(bodies(t, o.Node(ovnNode(edit), nil), ids), func(text string) bool { return !strings.HasPrefix(text, "node-gateway.") })
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], "node-gateway.4.node-a: ")
	}
	expect(t, got, []string{
		`LogicalRouterStaticRoute in ROUTER: {"id":"PODS4","ip_prefix":"10.1.0.0/24","nexthop":"10.1.0.254","output_port":"rtos-node-a","policy":"src-ip"}`,
		`LogicalRouterPolicy in GW: {"action":"reroute","id":"POLICY4","match":"(inport == \"gtoe-node-a\" && ip4) || ip4.dst == $gPODS_ip4","nexthops":["10.1.0.1"],"priority":100}`,
		`NAT in GW: {"external_ip":"198.51.100.11","id":"SNAT4","logical_ip":"10.1.0.0/24","type":"snat"}`,
		`LogicalRouterStaticRoute in GW: {"id":"DEFAULT4","ip_prefix":"0.0.0.0/0","nexthop":"198.51.100.1","output_port":"gtoe-node-a"}`,
		`LogicalRouterStaticRoute in ROUTER: {"id":"PODS6","ip_prefix":"fd01::/64","nexthop":"fd01::ffff:ffff:ffff:ffff","output_port":"rtos-node-a","policy":"src-ip"}`,
		`LogicalRouterPolicy in GW: {"action":"reroute","id":"POLICY6","match":"(inport == \"gtoe-node-a\" && ip6) || ip6.dst == $gPODS_ip6","nexthops":["fd01::1"],"priority":100}`,
		`NAT in GW: {"external_ip":"2001:db8::11","id":"SNAT6","logical_ip":"fd01::/64","type":"snat"}`,
		`LogicalRouter in : {"external_ids":{"owner":"Node node-a"},"id":"GW","load_balancer_group":["` + strings.Join(groups, `","`) + `"],"name":"midonetkube-gateway-node-a","options":{"chassis":"node-a","lb_force_snat_ip":"router_ip"}}`,
		`LogicalRouterPort in GW: {"id":"INSIDE-PORT","mac":"` + MACForKey("node-a/gateway").String() + `","name":"gtos-node-a","networks":["10.1.0.254/24","fd01::ffff:ffff:ffff:ffff/64"]}`,
		`LogicalSwitchPort in SWITCH: {"addresses":["router"],"id":"SWITCH-PORT","name":"stog-node-a","options":{"router-port":"gtos-node-a"},"type":"router"}`,
		`LogicalRouterPort in GW: {"id":"OUTSIDE-PORT","mac":"` + MACForKey("midonetkube/node-a/physnet1").String() + `","name":"gtoe-node-a","networks":["198.51.100.11/24","2001:db8::11/64"]}`,
		`LogicalSwitch in : {"external_ids":{"owner":"Node node-a"},"id":"OUTSIDE","name":"midonetkube-external-node-a"}`,
		`LogicalSwitchPort in OUTSIDE: {"addresses":["router"],"id":"GW-PORT","name":"etog-node-a","options":{"router-port":"gtoe-node-a"},"type":"router"}`,
		`LogicalSwitchPort in OUTSIDE: {"addresses":["unknown"],"id":"NET-PORT","name":"etol-node-a","options":{"network_name":"physnet1"},"type":"localnet"}`,
		`ChassisTemplateVar in : {"chassis":"node-a","external_ids":{"owner":"Node node-a"},"id":"VARIABLES","variables":{"groundskeeper_gateway_ipv4":"198.51.100.11","groundskeeper_gateway_ipv6":"2001:db8::11"}}`,
	})
}

// A gateway that cannot be read is reported, with the annotation and the remedy, and the Node has none.
func TestOVNGatewayProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*corev1.Node)
		want string
	}{
		"no network":              {gatewayNode("", "198.51.100.11/24"), midonetv1.AnnotationOVNGatewayNetwork + ` is ""`},
		"no address":              {gatewayNode("physnet1"), midonetv1.AnnotationOVNGatewayAddresses + ` is ""`},
		"address without prefix":  {gatewayNode("physnet1", "198.51.100.11"), "such as 198.51.100.11/24"},
		"two of a family":         {gatewayNode("physnet1", "198.51.100.11/24,198.51.100.12/24"), "of each family at most one"},
		"next hop that is none":   {gatewayNode("physnet1", "198.51.100.11/24", "x"), midonetv1.AnnotationOVNGatewayNextHops + ` is "x"`},
		"next hop elsewhere":      {gatewayNode("physnet1", "198.51.100.11/24", "192.0.2.1"), "a router on the network of the gateway"},
		"next hop is the gateway": {gatewayNode("physnet1", "198.51.100.11/24", "198.51.100.11"), "a router on the network of the gateway"},
		"two next hops":           {gatewayNode("physnet1", "198.51.100.11/24", "198.51.100.1,198.51.100.2"), "of each family at most one"},
		"family without Pods": {func(n *corev1.Node) {
			gatewayNode("physnet1", "2001:db8::11/64")(n)
			n.Spec.PodCIDRs = nil
		}, "remove the address"},
		"no room": {func(n *corev1.Node) {
			gatewayNode("physnet1", "198.51.100.11/24")(n)
			n.Spec.PodCIDR, n.Spec.PodCIDRs = "10.1.0.0/30", nil
		}, "assign a larger range"},
	} {
		t.Run(name, func(t *testing.T) {
			result := ovnEmitter().Node(ovnNode(tc.edit), nil)
			if len(result.Skipped) != 1 || result.Skipped[0].Reason != ReasonInvalidGateway || !strings.Contains(result.Skipped[0].Message, tc.want) {
				t.Errorf("problems = %v, want %s with %q", result.Skipped, ReasonInvalidGateway, tc.want)
			}
			if slices.ContainsFunc(names(result), func(name string) bool { return strings.HasPrefix(name, "node-gateway.") }) {
				t.Errorf("Translations = %v, want no gateway", names(result))
			}
		})
	}
	if result := ovnEmitter().Node(ovnNode(), nil); len(result.Skipped) != 0 {
		t.Errorf("problems = %v, want none without annotations", result.Skipped)
	}
}

// Two Nodes must not have the same address outside.
func TestGatewayAddressIsShared(t *testing.T) {
	a, b := HoldingsOf(ovnNode(gatewayNode("physnet1", "198.51.100.11/24"))), HoldingsOf(&corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "198.51.100.11"}}}})
	expect(t, a.Overlaps(b), true)
}

// testedBalancer is what is tested of a load balancer.
type testedBalancer struct {
	Group   string
	Vips    map[string]any
	Options map[string]any
}

// balancersOf returns the load balancers of TCP by the name of their Translation and their own.
func balancersOf(t *testing.T, o OVN, result Result) map[string]testedBalancer {
	t.Helper()
	all := map[string]testedBalancer{}
	for _, translation := range result.Translations {
		for _, r := range translation.Resources {
			body := fields(t, r)
			if body["protocol"] != "tcp" {
				continue
			}
			options := maps.Clone(body["options"].(map[string]any))
			delete(options, "reject")
			delete(options, "hairpin_snat_ip")
			all[unhashed(translation.Name)+" "+body["name"].(string)] = testedBalancer{known(o)[r.Parent], body["vips"].(map[string]any), options}
		}
	}
	return all
}

func TestOVNNodePorts(t *testing.T) {
	o := ovnEmitter()
	onNodes := func(slice *discoveryv1.EndpointSlice, nodes ...string) *discoveryv1.EndpointSlice {
		for i := range slice.Endpoints {
			slice.Endpoints[i].NodeName = &nodes[i]
		}
		return slice
	}
	listed := []*discoveryv1.EndpointSlice{onNodes(ovnSlice("a", "+10.1.0.5", "+10.1.1.7", "-10.1.0.9"), "node-a", "node-b", "node-a"), onNodes(ovnSlice("b", "+fd01::5"), "node-a")}
	public := func(s *corev1.Service) {
		s.Spec.Type, s.Spec.Ports[0].NodePort, s.Spec.ExternalIPs = corev1.ServiceTypeNodePort, 30080, []string{"203.0.113.1"}
	}
	const both, four, six = "10.1.0.5:8080,10.1.1.7:8080", "^groundskeeper_gateway_ipv4:30080", "^groundskeeper_gateway_ipv6:30080"
	type options = map[string]any
	template := func(family string, more options) options {
		made := options{"template": "true", "address-family": family, "neighbor_responder": "none"}
		maps.Copy(made, more)
		return made
	}
	expect(t, balancersOf(t, o, o.Service(ovnService(public), listed, nil)), map[string]testedBalancer{
		"service.4.web default/web/tcp":                 {"GROUP", map[string]any{"10.0.0.50:80": both, "203.0.113.1:80": both, "[fd00::50]:80": "[fd01::5]:8080"}, options{"neighbor_responder": "none"}},
		"service.4.web default/web/tcp/node-ports/ipv4": {"OF-GATEWAYS", map[string]any{four: both}, template("ipv4", nil)},
		"service.4.web default/web/tcp/node-ports/ipv6": {"OF-GATEWAYS", map[string]any{six: "[fd01::5]:8080"}, template("ipv6", nil)},
	})

	// Those of a Node have the endpoints on it, and do not change the source.
	local := func(s *corev1.Service) {
		public(s)
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	kept := options{"skip_snat": "true"}
	result := o.Service(ovnService(local), listed, nil)
	got := balancersOf(t, o, result)
	group := got["service-local.4.web-node-b default/web/tcp/node/node-b"].Group
	expect(t, got, map[string]testedBalancer{
		"service.4.web default/web/tcp/switches":                                 {"OF-SWITCHES", map[string]any{"10.0.0.50:80": both, "203.0.113.1:80": both, "[fd00::50]:80": "[fd01::5]:8080"}, options{"neighbor_responder": "none"}},
		"service-local.4.web-node-a default/web/tcp/node/node-a":                 {"OF-NODE", map[string]any{"203.0.113.1:80": "10.1.0.5:8080"}, options{"skip_snat": "true", "neighbor_responder": "none"}},
		"service-local.4.web-node-a default/web/tcp/node/node-a/node-ports/ipv4": {"OF-NODE", map[string]any{four: "10.1.0.5:8080"}, template("ipv4", kept)},
		"service-local.4.web-node-a default/web/tcp/node/node-a/node-ports/ipv6": {"OF-NODE", map[string]any{six: "[fd01::5]:8080"}, template("ipv6", kept)},
		"service-local.4.web-node-b default/web/tcp/node/node-b":                 {group, map[string]any{"203.0.113.1:80": "10.1.1.7:8080"}, options{"skip_snat": "true", "neighbor_responder": "none"}},
		"service-local.4.web-node-b default/web/tcp/node/node-b/node-ports/ipv4": {group, map[string]any{four: "10.1.1.7:8080"}, template("ipv4", kept)},
		"service-local.4.web-node-b default/web/tcp/node/node-b/node-ports/ipv6": {group, map[string]any{six: ""}, template("ipv6", kept)},
	})
	expect(t, problems(result), []string(nil))

	// Without external addresses and node ports, no Node has its own.
	expect(t, names(o.Service(ovnService(func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }), listed, nil)), []string{"service.4.web"})
}
