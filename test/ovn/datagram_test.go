// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// TestDatagrams checks that a client that keeps its port reaches another endpoint as soon as its first one has been removed: its
// entry in the connection table lasts as long as it sends.
func TestDatagrams(t *testing.T) {
	w := newWorld(t)
	chassis := w.server.StartChassis(t, [2]string{"node-a", "node-b"})
	client, web0, web1 := pod("client", "node-a", "0", "99"), pod("web-0", "node-a", "0", "10"), pod("web-1", "node-b", "1", "11")
	web := service("web", "10.0.0.50")
	web.Spec.Ports[0].Protocol = corev1.ProtocolUDP
	endpoints := func(addresses ...string) []*discoveryv1.EndpointSlice {
		s := slice(discoveryv1.AddressTypeIPv4, addresses...)
		s.Ports[0].Protocol = new(corev1.ProtocolUDP)
		return []*discoveryv1.EndpointSlice{s}
	}
	objects := cluster{
		nodes: []*corev1.Node{node("node-a", "0"), node("node-b", "1")}, pods: []*corev1.Pod{client, web0, web1},
		services: map[*corev1.Service][]*discoveryv1.EndpointSlice{web: endpoints("10.1.0.10", "10.1.1.11")},
	}
	w.apply(objects)
	from := w.run(chassis[0], client)
	w.run(chassis[0], web0)
	w.run(chassis[1], web1)
	for _, name := range []string{"client", "web-0", "web-1"} {
		w.server.Nbctl(t, "wait-until", "Logical_Switch_Port", "default_"+name, "up=true")
	}
	w.server.Nbctl(t, "--wait=hv", "sync")
	reachable(t, from, "10.1.0.10:8080", "web-0")
	reachable(t, from, "10.1.1.11:8080", "web-1")
	first, err := from.act(t, "datagram", "10.0.0.50:80")
	if err != nil || first != "web-0" && first != "web-1" {
		t.Fatalf("response = %q, %v, want that of an endpoint", first, err)
	}
	left, other := "10.1.0.10", "web-0"
	if first == other {
		left, other = "10.1.1.11", "web-1"
	}
	objects.services[web] = endpoints(left)
	w.apply(objects)
	w.server.Nbctl(t, "--wait=hv", "sync")
	if got, err := from.act(t, "datagram", "10.0.0.50:80"); err != nil || got != other {
		t.Errorf("response after %s has been removed = %q, %v, want that of %s", first, got, err, other)
	}
}
