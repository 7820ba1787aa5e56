// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/ovn"
)

func ovnNode(edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", UID: "u"}}
	node.Spec.PodCIDR, node.Spec.PodCIDRs = "10.1.0.0/24", []string{"10.1.0.0/24", "fd01::/64"}
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeInternalIP, Address: "2001:db8::1"}, {Type: corev1.NodeHostName, Address: "node-a"},
	}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

func ovnPod(edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0", UID: "u"}}
	pod.Spec.NodeName, pod.Status.Phase, pod.Status.PodIP = "node-a", corev1.PodRunning, "10.1.0.5"
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.0.5"}, {IP: "fd01::5"}}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func ovnService(edits ...func(*corev1.Service)) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}
	service.Spec.Type, service.Spec.ClusterIP, service.Spec.ClusterIPs = corev1.ServiceTypeClusterIP, "10.0.0.50", []string{"10.0.0.50", "fd00::50"}
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}, {Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53}}
	for _, edit := range edits {
		edit(service)
	}
	return service
}

// ovnSlice has endpoints with the ports of ovnService, each in a state: + ready, - terminating and serving, ! not ready.
func ovnSlice(name string, endpoints ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, AddressType: discoveryv1.AddressTypeIPv4}
	slice.Ports = []discoveryv1.EndpointPort{
		{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}, {Name: new("dns"), Protocol: new(corev1.ProtocolUDP), Port: new(int32(5353))},
	}
	for _, text := range endpoints {
		if strings.Contains(text, ":") {
			slice.AddressType = discoveryv1.AddressTypeIPv6
		}
		endpoint := discoveryv1.Endpoint{Addresses: []string{text[1:]}, Conditions: discoveryv1.EndpointConditions{Ready: new(text[0] == '+')}}
		if text[0] == '-' {
			endpoint.Conditions.Serving, endpoint.Conditions.Terminating = new(true), new(true)
		}
		slice.Endpoints = append(slice.Endpoints, endpoint)
	}
	return slice
}

func ovnEmitter() OVN { return OVN{Config: settings()} }

// bodies returns the resources of a result in the order of its Translations, as "name of the Translation: kind in parent: body",
// without ids that the test gives a name.
func bodies(t *testing.T, result Result, ids map[string]string) []string {
	t.Helper()
	var replaced []string
	for id, name := range ids {
		replaced = append(replaced, id, name)
	}
	names := strings.NewReplacer(replaced...)
	var all []string
	for _, translation := range result.Translations {
		for _, r := range translation.Resources {
			parsed, err := ovn.Parse(r.Kind, r.Parent, r.Body)
			if err != nil {
				t.Errorf("%s: %v", r.Body, err)
			}
			options, _ := parsed.Values["options"].(map[string]string)
			column, _ := parsed.Kind.Column("options")
			for key := range options {
				if !column.IsOwned(key) {
					t.Errorf("options:%s of %s is not owned: it would stay when it is not wanted any more", key, r.Kind)
				}
			}
			all = append(all, unhashed(translation.Name)+": "+names.Replace(r.Kind+" in "+r.Parent+": "+r.Body))
		}
	}
	return all
}

// known returns the ids that others refer to.
func known(o OVN) map[string]string {
	at, access := o.ids().bridge("node-a"), SubID(o.ids().bridge("node-a"), "Node Group")
	to, from := o.isolated(false), o.isolated(true)
	return map[string]string{
		to.String(): "TO", from.String(): "FROM", groupName(to): "gTO", groupName(from): "gFROM", SubID(to, "Deny").String(): "TO-DENY",
		SubID(from, "Deny").String(): "FROM-DENY", SubID(to, "Hairpin").String(): "HAIRPIN", o.allPods().String(): "PODS", groupName(o.allPods()): "gPODS",
		access.String(): "ACCESS", groupName(access): "gACCESS", SubID(access, "From Node").String(): "FROM-NODE", SubID(access, "To Node").String(): "TO-NODE",
		o.namespaceGroup("default").String(): "NAMESPACE",
		o.router().String():                  "ROUTER", o.loadBalancers().String(): "GROUP", at.String(): "SWITCH",
		o.switchLoadBalancers().String(): "OF-SWITCHES", o.gatewayLoadBalancers().String(): "OF-GATEWAYS", o.nodeLoadBalancers("node-a").String(): "OF-NODE",
		SubID(at, "Router Port").String(): "RP", SubID(at, "Switch Port").String(): "SP", SubID(at, "Node Port").String(): "NP",
		o.ids().ForKey(KindPod, "default/web-0").String(): "POD",
	}
}

func TestOVNGlobals(t *testing.T) {
	result := ovnEmitter().Globals()
	expect(t, bodies(t, result, known(ovnEmitter())), []string{
		`ovn-global.4.gateway-load-balancers: LoadBalancerGroup in : {"id":"OF-GATEWAYS","name":"midonetkube-gateway-services"}`,
		`ovn-global.4.isolated-egress: PortGroup in : {"external_ids":{"owner":"isolated Pods"},"id":"FROM","name":"gFROM"}`,
		`ovn-global.4.isolated-egress: ACL in FROM: {"action":"drop","direction":"from-lport","id":"FROM-DENY","match":"inport == @gFROM && ip","options":{"apply-after-lb":"true"},"priority":999}`,
		`ovn-global.4.isolated-ingress: PortGroup in : {"external_ids":{"owner":"isolated Pods"},"id":"TO","name":"gTO"}`,
		`ovn-global.4.isolated-ingress: ACL in TO: {"action":"drop","direction":"to-lport","id":"TO-DENY","match":"outport == @gTO && ip","priority":999}`,
		`ovn-global.4.isolated-ingress: ACL in TO: {"action":"allow-related","direction":"to-lport","id":"HAIRPIN","match":"outport == @gTO && (ip4.src == 169.254.0.5 || ip6.src == fd69::5)","priority":1001}`,
		`ovn-global.4.load-balancers: LoadBalancerGroup in : {"id":"GROUP","name":"midonetkube-services"}`,
		`ovn-global.4.pods: PortGroup in : {"external_ids":{"owner":"all Pods"},"id":"PODS","name":"gPODS"}`,
		`ovn-global.4.router: LogicalRouter in : {"id":"ROUTER","name":"midonetkube-router"}`,
		`ovn-global.4.switch-load-balancers: LoadBalancerGroup in : {"id":"OF-SWITCHES","name":"midonetkube-switch-services"}`,
	})
	expect(t, result.Translations[0].Namespace, metav1.NamespaceSystem)
}

func TestOVNNode(t *testing.T) {
	o := ovnEmitter()
	result := o.Node(ovnNode(), nil)
	got := bodies(t, result, known(o))
	groups := idTexts(o.loadBalancers(), o.switchLoadBalancers())
	for i, id := range groups {
		groups[i] = known(o)[id]
	}
	for i, want := range []string{
		`node-address.4.node-a-InternalIP-192.0.2.1: LogicalRouterStaticRoute in ROUTER: {"id":`, `node-address.4.node-a-InternalIP-2001-db8--1: LogicalRouterStaticRoute in ROUTER: {"id":`,
	} {
		if want = strings.ReplaceAll(want, "InternalIP", "internalip"); i >= len(got) || !strings.HasPrefix(strings.ToLower(got[i]), strings.ToLower(want)) {
			t.Errorf("route = %v, want %s", got[i], want)
		}
	}
	expect(t, got[2:], []string{
		`node.4.node-a: PortGroup in : {"external_ids":{"owner":"Node node-a"},"id":"ACCESS","name":"gACCESS"}`,
		`node.4.node-a: ACL in ACCESS: {"action":"allow-related","direction":"to-lport","id":"FROM-NODE","match":"ip4.src == {10.1.0.2, 192.0.2.1} || ip6.src == {2001:db8::1, fd01::2}","priority":1001}`,
		`node.4.node-a: ACL in ACCESS: {"action":"allow-related","direction":"from-lport","id":"TO-NODE","match":"ip4.dst == {10.1.0.2, 192.0.2.1} || ip6.dst == {2001:db8::1, fd01::2}","options":{"apply-after-lb":"true"},"priority":1001}`,
		`node.4.node-a: LoadBalancerGroup in : {"id":"OF-NODE","name":"midonetkube-node-node-a"}`,
		`node.4.node-a: LogicalSwitch in : {"id":"SWITCH","load_balancer_group":["` + strings.Join(groups, `","`) + `"],"name":"node-a"}`,
		`node.4.node-a: LogicalRouterPort in ROUTER: {"id":"RP","mac":"` + MACForKey("node-a").String() + `","name":"rtos-node-a","networks":["10.1.0.1/24","fd01::1/64"]}`,
		`node.4.node-a: LogicalSwitchPort in SWITCH: {"addresses":["router"],"id":"SP","name":"stor-node-a","options":{"router-port":"rtos-node-a"},"type":"router"}`,
		`node.4.node-a: LogicalSwitchPort in SWITCH: {"addresses":["0a:58:0a:01:00:02 10.1.0.2 fd01::2"],"external_ids":{"owner":"Node node-a"},"id":"NP","name":"k8s-node-a",` +
			`"options":{"requested-chassis":"node-a"},"port_groups":["ACCESS"],"port_security":[],"type":""}`,
	})
	for i, want := range []string{`"ip_prefix":"192.0.2.1/32","nexthop":"10.1.0.2","output_port":"rtos-node-a"}`, `"ip_prefix":"2001:db8::1/128","nexthop":"fd01::2","output_port":"rtos-node-a"}`} {
		if !strings.HasSuffix(got[i], want) {
			t.Errorf("route = %s, want %s", got[i], want)
		}
	}
}

func TestOVNNodeVariants(t *testing.T) {
	for name, tc := range map[string]struct {
		edit     func(*corev1.Node)
		contains []string
		lacks    []string
		problems []string
	}{
		"chassis and MAC": {func(n *corev1.Node) {
			n.Annotations = map[string]string{midonetv1.AnnotationOVNChassis: "a.example.com", midonetv1.AnnotationMACAddress: "02:00:00:00:00:01"}
		}, []string{`"requested-chassis":"a.example.com"`, `"addresses":["02:00:00:00:00:01 10.1.0.2 fd01::2"]`}, nil, nil},
		"MAC that is none": {func(n *corev1.Node) { n.Annotations = map[string]string{midonetv1.AnnotationMACAddress: "x"} },
			[]string{`"addresses":["0a:58:0a:01:00:02 10.1.0.2 fd01::2"]`}, nil, []string{ReasonInvalidAddress}},
		"IPv4 only":            {func(n *corev1.Node) { n.Spec.PodCIDRs = nil }, []string{`"networks":["10.1.0.1/24"]`}, []string{"2001:db8::1/128", "fd01::"}, nil},
		"IPv6 only":            {func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "fd01::/64", nil }, []string{`"networks":["fd01::1/64"]`, `"0a:58:`}, []string{"192.0.2.1/32", "10.1.0."}, nil},
		"no range":             {func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "10.1.0.0/32", nil }, nil, nil, []string{"waiting: " + ReasonPodCIDRMissing}},
		"address that is none": {func(n *corev1.Node) { n.Status.Addresses[0].Address = "x" }, nil, []string{"192.0.2.1"}, []string{ReasonInvalidAddress}},
	} {
		t.Run(name, func(t *testing.T) {
			result := ovnEmitter().Node(ovnNode(tc.edit), nil)
			got := strings.Join(bodies(t, result, nil), "\n")
			for _, text := range tc.contains {
				if !strings.Contains(got, text) {
					t.Errorf("no %s in\n%s", text, got)
				}
			}
			for _, text := range tc.lacks {
				if strings.Contains(got, text) {
					t.Errorf("%s in\n%s", text, got)
				}
			}
			expect(t, problems(result), tc.problems)
		})
	}
}

func TestOVNPod(t *testing.T) {
	o := ovnEmitter()
	const port = `pod.4.web-0: LogicalSwitchPort in SWITCH: {"addresses":["A"],"external_ids":{"owner":"Pod default/web-0"},"id":"POD","name":"default_web-0","options":{"requested-chassis":"node-a"},"port_groups":[GROUPS],"port_security":["A"],"type":""}`
	groups := strings.NewReplacer(o.allPods().String(), "PODS", o.namespaceGroup("default").String(), "NAMESPACE").Replace(`"` + strings.Join(o.groupsOf(ovnPod(), Scope{}), `","`) + `"`)
	with := func(address string) []string {
		return []string{strings.NewReplacer(`"A"`, `"`+address+`"`, "GROUPS", groups).Replace(port)}
	}
	for name, tc := range map[string]struct {
		edit     func(*corev1.Pod)
		node     *corev1.Node
		want     []string
		problems []string
	}{
		"dual stack": {func(*corev1.Pod) {}, ovnNode(), with("0a:58:0a:01:00:05 10.1.0.5 fd01::5"), nil},
		"IPv6 first": {func(p *corev1.Pod) {
			p.Status.PodIP, p.Status.PodIPs = "fd01::5", []corev1.PodIP{{IP: "fd01::5"}, {IP: "10.1.0.5"}}
		}, ovnNode(), with("0a:58:0a:01:00:05 10.1.0.5 fd01::5"), nil},
		"one":         {func(p *corev1.Pod) { p.Status.PodIPs = nil }, ovnNode(), with("0a:58:0a:01:00:05 10.1.0.5"), nil},
		"IPv6 alone":  {func(p *corev1.Pod) { p.Status.PodIP, p.Status.PodIPs = "fd01::5", nil }, ovnNode(), with("0a:58:17:c7:32:f6 fd01::5"), nil},
		"no address":  {func(p *corev1.Pod) { p.Status.PodIP, p.Status.PodIPs = "", nil }, ovnNode(), nil, nil},
		"invalid":     {func(p *corev1.Pod) { p.Status.PodIP, p.Status.PodIPs = "fe80::1%eth0", nil }, ovnNode(), nil, []string{ReasonInvalidAddress}},
		"of the host": {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, ovnNode(), nil, nil},
		"ended":       {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, ovnNode(), nil, nil},
		"not placed":  {func(p *corev1.Pod) { p.Spec.NodeName = "" }, ovnNode(), nil, nil},
		"no node":     {func(*corev1.Pod) {}, nil, nil, []string{"waiting: " + ReasonNodeMissing}},
	} {
		t.Run(name, func(t *testing.T) {
			result := o.Pod(ovnPod(tc.edit), tc.node, Scope{})
			expect(t, bodies(t, result, known(o)), tc.want)
			expect(t, problems(result), tc.problems)
		})
	}
}

// TestOVNPodTakesNoAddressOfOthers checks that a Pod has no address of its switch that is another one's, or that no switch of its Node has.
func TestOVNPodTakesNoAddressOfOthers(t *testing.T) {
	o := ovnEmitter()
	o.Config.PodMACAddresses = true
	gateway := ovnNode(func(n *corev1.Node) {
		n.Annotations = map[string]string{midonetv1.AnnotationOVNGatewayNetwork: "physnet1", midonetv1.AnnotationOVNGatewayAddresses: "198.51.100.11/24"}
	})
	annotated := ovnNode(func(n *corev1.Node) {
		n.Annotations = map[string]string{midonetv1.AnnotationMACAddress: "02:00:00:00:00:09"}
	})
	at := func(addresses ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.PodIP, p.Status.PodIPs = addresses[0], nil
			for _, address := range addresses {
				p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: address})
			}
		}
	}
	mac := func(text string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{midonetv1.AnnotationMACAddress: text} }
	}
	const own = "0a:58:0a:01:00:05 10.1.0.5 fd01::5"
	for name, tc := range map[string]struct {
		edit     func(*corev1.Pod)
		node     *corev1.Node
		want     string // the addresses of the port, "" for none
		problems []string
	}{
		"the router's address":              {at("10.1.0.1"), ovnNode(), "", []string{ReasonAddressTaken}},
		"the router's IPv6 address":         {at("10.1.0.5", "fd01::1"), ovnNode(), "0a:58:0a:01:00:05 10.1.0.5", []string{ReasonAddressTaken}},
		"the Node's address on the switch":  {at("10.1.0.2"), ovnNode(), "", []string{ReasonAddressTaken}},
		"the gateway's address":             {at("10.1.0.254"), gateway, "", []string{ReasonAddressTaken}},
		"the last one, without a gateway":   {at("10.1.0.254"), ovnNode(), "0a:58:0a:01:00:fe 10.1.0.254", nil},
		"outside of the podCIDR":            {at("10.1.1.5", "fd01::5"), ovnNode(), "0a:58:17:c7:32:f6 fd01::5", []string{ReasonAddressOutsidePodCIDR}},
		"a family without a podCIDR":        {at("10.1.0.5", "fd02::5"), ovnNode(), "0a:58:0a:01:00:05 10.1.0.5", []string{ReasonAddressOutsidePodCIDR}},
		"the router's MAC address":          {mac(MACForKey("node-a").String()), ovnNode(), own, []string{ReasonAddressTaken}},
		"the gateway's MAC address":         {mac(MACForKey("node-a/gateway").String()), gateway, own, []string{ReasonAddressTaken}},
		"the Node's derived MAC address":    {mac("0a:58:0a:01:00:02"), ovnNode(), own, []string{ReasonAddressTaken}},
		"the Node's annotated MAC address":  {mac("02-00-00-00-00-09"), annotated, own, []string{ReasonAddressTaken}},
		"a MAC address that no other has":   {mac("02:00:00:00:00:01"), ovnNode(), "02:00:00:00:00:01 10.1.0.5 fd01::5", nil},
		"a group's MAC address":             {mac("01:00:5e:00:00:01"), ovnNode(), own, []string{ReasonInvalidAddress}},
		"a MAC address derived for another": {mac("0a:58:0a:01:00:06"), ovnNode(), own, []string{ReasonAddressTaken}},
		"its own derived MAC address":       {mac("0a:58:0a:01:00:05"), ovnNode(), own, nil},
	} {
		t.Run(name, func(t *testing.T) {
			result := o.Pod(ovnPod(tc.edit), tc.node, Scope{})
			got := ""
			if len(result.Translations) > 0 {
				got = fields(t, result.Translations[0].Resources[0])["addresses"].([]any)[0].(string)
			}
			if got != tc.want {
				t.Errorf("addresses = %q, want %q", got, tc.want)
			}
			expect(t, problems(result), tc.problems)
		})
	}
	const older = "the older pod shop/old"
	for name, tc := range map[string]struct {
		edit  func(*corev1.Pod)
		taken string
		want  string
	}{
		"an older Pod's address":              {at("10.1.0.5"), "10.1.0.5", ""},
		"an older Pod's IPv4 address":         {at("10.1.0.5", "fd01::5"), "10.1.0.5", "0a:58:17:c7:32:f6 fd01::5"},
		"an older Pod's IPv6 address":         {at("10.1.0.5", "fd01::5"), "fd01::5", "0a:58:0a:01:00:05 10.1.0.5"},
		"an older Pod's MAC address":          {mac("02:00:00:00:00:01"), "02:00:00:00:00:01", own},
		"an older Pod's derived MAC address":  {at("10.1.0.5"), "0a:58:0a:01:00:05", ""},
		"the same, with an annotation beside": {mac("02:00:00:00:00:01"), "0a:58:0a:01:00:05", "02:00:00:00:00:01 10.1.0.5 fd01::5"},
	} {
		t.Run(name, func(t *testing.T) {
			result := o.Pod(ovnPod(tc.edit), ovnNode(), Scope{Taken: map[string]string{tc.taken: older}})
			got := ""
			if len(result.Translations) > 0 {
				got = fields(t, result.Translations[0].Resources[0])["addresses"].([]any)[0].(string)
			}
			if got != tc.want {
				t.Errorf("addresses = %q, want %q", got, tc.want)
			}
			expect(t, problems(result), []string{ReasonAddressTaken})
			if text := result.Skipped[0].Message; !strings.Contains(text, tc.taken) || !strings.Contains(text, older) {
				t.Errorf("message = %q, want one that names %s and %s", text, tc.taken, older)
			}
		})
	}
	t.Run("the annotation without the setting", func(t *testing.T) {
		result := ovnEmitter().Pod(ovnPod(mac("02:00:00:00:00:01")), ovnNode(), Scope{})
		expect(t, fields(t, result.Translations[0].Resources[0])["addresses"].([]any)[0].(string), own)
		expect(t, problems(result), []string{ReasonMACAddressNotPermitted})
	})
	t.Run("a Node without a podCIDR", func(t *testing.T) {
		result := o.Pod(ovnPod(), ovnNode(func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "", nil }), Scope{})
		expect(t, problems(result), []string{"waiting: " + ReasonPodCIDRMissing})
	})
}

// vips returns those of the load balancer of a protocol.
func vips(t *testing.T, result Result, protocol string) map[string]any {
	t.Helper()
	for _, translation := range result.Translations {
		for _, r := range translation.Resources {
			if body := fields(t, r); body["protocol"] == protocol {
				return body["vips"].(map[string]any)
			}
		}
	}
	return nil
}

func TestOVNService(t *testing.T) {
	o := ovnEmitter()
	plain := []*discoveryv1.EndpointSlice{ovnSlice("a", "+10.1.0.7", "+10.1.0.5"), ovnSlice("b", "+10.1.0.5", "!10.1.0.9"), ovnSlice("c", "+fd01::5")}
	for name, tc := range map[string]struct {
		edit     func(*corev1.Service)
		slices   []*discoveryv1.EndpointSlice
		tcp      map[string]any
		problems []string
	}{
		"dual stack": {func(*corev1.Service) {}, plain, map[string]any{"10.0.0.50:80": "10.1.0.5:8080,10.1.0.7:8080", "[fd00::50]:80": "[fd01::5]:8080"}, nil},
		"addresses": {func(s *corev1.Service) {
			s.Spec.ClusterIPs, s.Spec.ExternalIPs = nil, []string{"203.0.113.1"}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.2"}, {Hostname: "x"}}
		}, plain, map[string]any{"10.0.0.50:80": "10.1.0.5:8080,10.1.0.7:8080", "203.0.113.1:80": "10.1.0.5:8080,10.1.0.7:8080", "203.0.113.2:80": "10.1.0.5:8080,10.1.0.7:8080"}, nil},
		"no endpoint":       {func(*corev1.Service) {}, nil, map[string]any{"10.0.0.50:80": "", "[fd00::50]:80": ""}, nil},
		"all terminate":     {func(*corev1.Service) {}, []*discoveryv1.EndpointSlice{ovnSlice("a", "-10.1.0.7", "!10.1.0.5")}, map[string]any{"10.0.0.50:80": "10.1.0.7:8080", "[fd00::50]:80": ""}, nil},
		"some terminate":    {func(*corev1.Service) {}, []*discoveryv1.EndpointSlice{ovnSlice("a", "-10.1.0.7", "+10.1.0.5")}, map[string]any{"10.0.0.50:80": "10.1.0.5:8080", "[fd00::50]:80": ""}, nil},
		"headless":          {func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = corev1.ClusterIPNone, nil }, plain, nil, nil},
		"type not selected": {func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, plain, nil, []string{ReasonServiceTypeNotSelected}},
		"unsupported": {func(s *corev1.Service) {
			s.Spec.ClusterIPs, s.Spec.InternalTrafficPolicy = nil, new(corev1.ServiceInternalTrafficPolicyLocal)
			s.Spec.ExternalIPs = []string{"x"}
		}, plain, map[string]any{"10.0.0.50:80": "10.1.0.5:8080,10.1.0.7:8080"}, []string{ReasonInvalidAddress, ReasonTrafficPolicyNotSupported}},
	} {
		t.Run(name, func(t *testing.T) {
			result := o.Service(ovnService(tc.edit), tc.slices, nil)
			bodies(t, result, nil)
			expect(t, vips(t, result, "tcp"), tc.tcp)
			expect(t, problems(result), tc.problems)
			if tc.tcp != nil {
				expect(t, names(result), []string{"service.4.web"})
				expect(t, len(result.Translations[0].Resources), 2) // one for each protocol
			}
			shuffled := slices.Clone(tc.slices)
			slices.Reverse(shuffled)
			expect(t, o.Service(ovnService(tc.edit), shuffled, nil), result)
		})
	}
}

// TestOVNServiceFlush checks that only the connections of UDP are removed with their endpoint.
func TestOVNServiceFlush(t *testing.T) {
	for _, r := range ovnEmitter().Service(ovnService(), nil, nil).Translations[0].Resources {
		body := fields(t, r)
		var want any
		if body["protocol"] == "udp" {
			want = "true"
		}
		if got := body["options"].(map[string]any)["ct_flush"]; got != want {
			t.Errorf("options:ct_flush of %v = %v, want %v", body["name"], got, want)
		}
	}
}

// TestOVNServiceAffinity checks how long clients stay at an endpoint, and what is reported as not supported. Load balancers of node ports
// have no affinity.
func TestOVNServiceAffinity(t *testing.T) {
	affine := func(seconds int32, nodePort int32) func(*corev1.Service) {
		return func(s *corev1.Service) {
			s.Spec.SessionAffinity, s.Spec.Ports[0].NodePort = corev1.ServiceAffinityClientIP, nodePort
			if seconds > 0 {
				s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(seconds)}}
			}
		}
	}
	for name, tc := range map[string]struct {
		edit     func(*corev1.Service)
		want     any
		problems []string
	}{
		"none":           {func(*corev1.Service) {}, nil, nil},
		"default":        {affine(0, 0), "10800", nil},
		"time":           {affine(60, 0), "60", nil},
		"longest time":   {affine(65535, 0), "65535", nil},
		"too long":       {affine(86400, 0), "65535", []string{ReasonSessionAffinityNotSupported}},
		"node port":      {affine(60, 30080), "60", []string{ReasonSessionAffinityNotSupported}},
		"both":           {affine(86400, 30080), "65535", []string{ReasonSessionAffinityNotSupported, ReasonSessionAffinityNotSupported}},
		"node port only": {func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30080 }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			result := ovnEmitter().Service(ovnService(tc.edit), nil, nil)
			expect(t, problems(result), tc.problems)
			for _, r := range result.Translations[0].Resources {
				options := fields(t, r)["options"].(map[string]any)
				want := tc.want
				if options["template"] != nil {
					want = nil
				}
				if options["affinity_timeout"] != want || options["reject"] != "true" {
					t.Errorf("options of %s = %v, want the affinity %v", r.Body, options, want)
				}
			}
		})
	}
}
