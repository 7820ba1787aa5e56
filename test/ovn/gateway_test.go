// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// gatewayNode is a Node with a gateway on network ext-NUMBER, where the next hop is the client of the test.
func gatewayNode(name, number string) *corev1.Node {
	n := node(name, number)
	n.Annotations = map[string]string{
		midonetv1.AnnotationOVNChassis:          "chassis-of-" + name,
		midonetv1.AnnotationOVNGatewayNetwork:   "ext-" + number,
		midonetv1.AnnotationOVNGatewayAddresses: fmt.Sprintf("198.51.10%s.11/24,2001:db8:%s::11/64", number, number),
		midonetv1.AnnotationOVNGatewayNextHops:  fmt.Sprintf("198.51.10%s.1,2001:db8:%s::1", number, number),
	}
	return n
}

// publicService has node ports 30080, for the name of the endpoint, and 30081, for the address of the client that it sees.
func publicService(policy corev1.ServiceExternalTrafficPolicy) *corev1.Service {
	s := service("web", "10.0.0.50", "fd00::50")
	s.Spec.Type, s.Spec.ExternalTrafficPolicy, s.Spec.ExternalIPs = corev1.ServiceTypeNodePort, policy, []string{"203.0.113.1"}
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}, {Name: "peer", Protocol: corev1.ProtocolTCP, Port: 81, NodePort: 30081}}
	return s
}

// endpointsOf are those of Pods, with their Nodes.
func endpointsOf(pods ...*corev1.Pod) []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for family, kind := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		s := slice(kind)
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: new("peer"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8081))})
		for _, p := range pods {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{p.Status.PodIPs[family].IP}, NodeName: &p.Spec.NodeName})
		}
		all = append(all, s)
	}
	return all
}

// TestGatewayPackets has clients outside of the cluster connect to node ports and external addresses at the gateways of two Nodes, and
// Pods connect to clients outside.
func TestGatewayPackets(t *testing.T) {
	w := newWorld(t)
	chassis := w.server.StartChassis(t, [2]string{"node-a", "node-b"})
	client, web0, web1 := pod("client", "node-a", "0", "99"), pod("web-0", "node-a", "0", "10"), pod("web-1", "node-b", "1", "11")
	objects := cluster{
		nodes: []*corev1.Node{gatewayNode("node-a", "0"), gatewayNode("node-b", "1")}, pods: []*corev1.Pod{client, web0, web1},
		services: map[*corev1.Service][]*discoveryv1.EndpointSlice{publicService(corev1.ServiceExternalTrafficPolicyCluster): endpointsOf(web0, web1)},
	}
	w.apply(objects)
	var outside [2]guest
	for i, c := range chassis {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("outside-%d", i)}}
		outside[i] = w.serving(p, c.Outside(t, fmt.Sprintf("ext-%d", i), fmt.Sprintf("02:00:00:00:00:0%d", i+1),
			[]string{fmt.Sprintf("198.51.10%d.1/24", i), fmt.Sprintf("2001:db8:%d::1/64", i)}, []string{fmt.Sprintf("198.51.10%d.11", i), fmt.Sprintf("2001:db8:%d::11", i)}))
	}
	from := w.run(chassis[0], client)
	w.run(chassis[0], web0)
	w.run(chassis[1], web1)
	for _, p := range objects.pods {
		w.server.Nbctl(t, "wait-until", "Logical_Switch_Port", "default_"+p.Name, "up=true")
	}
	w.server.Nbctl(t, "--wait=hv", "sync")
	reachable(t, from, "10.1.1.11:8080", "web-1")

	const times = 20
	for i, g := range outside {
		for _, address := range []string{fmt.Sprintf("198.51.10%d.11:30080", i), fmt.Sprintf("[2001:db8:%d::11]:30080", i), "203.0.113.1:80"} {
			if got := g.dialed(t, address, times); got["web-0"] == 0 || got["web-1"] == 0 || got["web-0"]+got["web-1"] != times {
				t.Errorf("%s to %s: %v, want both endpoints", g.Name, address, got)
			}
		}
		// The source is the gateway, so that replies pass it.
		address := fmt.Sprintf("198.51.10%d.11:30081", i)
		if got, want := g.dialed(t, address, 3), fmt.Sprintf("10.1.%d.254", i); got[want] != 3 {
			t.Errorf("%s to %s: endpoints see %v, want %s", g.Name, address, got, want)
		}
	}
	for address, want := range map[string]string{"198.51.100.1:8080": "outside-0", "198.51.100.1:8081": "198.51.100.11", "[2001:db8:0::1]:8081": "2001:db8::11"} {
		if got, err := from.dial(t, address); err != nil || got != want {
			t.Errorf("client to %s outside: %q, %v; want %s", address, got, err, want)
		}
	}
	if got := from.dialed(t, "198.51.100.11:30080", times); got["web-0"] == 0 || got["web-1"] == 0 {
		t.Errorf("client to the gateway of its Node: %v, want both endpoints", got)
	}

	// With Local, only endpoints on the Node of the gateway are used, and they see the client.
	objects.services = map[*corev1.Service][]*discoveryv1.EndpointSlice{publicService(corev1.ServiceExternalTrafficPolicyLocal): endpointsOf(web0, web1)}
	w.apply(objects)
	w.server.Nbctl(t, "--wait=hv", "sync")
	for i, g := range outside {
		want := fmt.Sprintf("web-%d", i)
		for _, address := range []string{fmt.Sprintf("198.51.10%d.11:30080", i), fmt.Sprintf("[2001:db8:%d::11]:30080", i), "203.0.113.1:80"} {
			if got := g.dialed(t, address, times); got[want] != times {
				t.Errorf("%s to %s, Local: %v, want %s", g.Name, address, got, want)
			}
		}
		for _, address := range []string{fmt.Sprintf("198.51.10%d.11:30081", i), "203.0.113.1:81"} {
			if got, want := g.dialed(t, address, 3), fmt.Sprintf("198.51.10%d.1", i); got[want] != 3 {
				t.Errorf("%s to %s, Local: endpoints see %v, want %s", g.Name, address, got, want)
			}
		}
	}
	if got := from.dialed(t, "10.0.0.50:80", times); got["web-0"] == 0 || got["web-1"] == 0 {
		t.Errorf("client to the cluster IP of a Service that is Local outside: %v, want both endpoints", got)
	}
	objects.services = map[*corev1.Service][]*discoveryv1.EndpointSlice{publicService(corev1.ServiceExternalTrafficPolicyLocal): endpointsOf(web1)}
	w.apply(objects)
	w.server.Nbctl(t, "--wait=hv", "sync")
	if got, err := outside[0].dial(t, "198.51.100.11:30080"); err == nil {
		t.Errorf("outside-0 to a Node without endpoints: %q, want no connection", got)
	}
	if got := outside[1].dialed(t, "198.51.101.11:30080", 3); got["web-1"] != 3 {
		t.Errorf("outside-1 to the Node with the endpoint: %v, want it", got)
	}

	// Another process finds everything in place. A Node ceases to be a gateway, and everything is deleted.
	w.restart()
	w.settle()
	if w.driver.count.Load() != 0 {
		t.Errorf("%d writes after a restart, want none", w.driver.count.Load())
	}
	objects.nodes[0] = node("node-a", "0")
	w.apply(objects)
	w.server.Nbctl(t, "--wait=hv", "sync")
	if got, err := outside[0].dial(t, "198.51.100.11:30080"); err == nil {
		t.Errorf("outside-0 to a deleted gateway: %q, want no connection", got)
	}
	for _, claim := range slices.Collect(maps.Values(w.claims)) {
		claim.Deleting = true
		w.observe(claim)
	}
	w.settle()
	if rest := w.rows(); rest != "" {
		t.Errorf("what is left of the tenant is %q", rest)
	}
}
