// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// servedAt returns a Service of a namespace with its name, which was created at a minute.
func servedAt(name string, minute int, clusterIP string, external ...string) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: name, Name: name, UID: "u", CreationTimestamp: metav1.NewTime(time.Date(2030, 1, 2, 3, minute, 0, 0, time.UTC)),
	}}
	service.Spec.Type, service.Spec.ClusterIP, service.Spec.ExternalIPs = corev1.ServiceTypeClusterIP, clusterIP, external
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}}
	return service
}

// TestOwnerOf checks who has a port at an external address of a Service.
func TestOwnerOf(t *testing.T) {
	const at = "203.0.113.1"
	vip := convert.VIP{Address: netip.MustParseAddr(at), Protocol: corev1.ProtocolTCP, Port: 80}
	own := servedAt("own", 5, "10.96.0.1", at)
	balanced := servedAt("other", 1, "10.96.0.2")
	balanced.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: at}}
	anotherPort := servedAt("other", 1, "10.96.0.2", at)
	anotherPort.Spec.Ports[0].Port = 81
	anotherProtocol := servedAt("other", 1, "10.96.0.2", at)
	anotherProtocol.Spec.Ports[0].Protocol = corev1.ProtocolUDP
	node := func(podCIDR, address string) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		n.Spec.PodCIDR, n.Status.Addresses = podCIDR, []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
		return n
	}
	for name, tc := range map[string]struct {
		others []*corev1.Service
		nodes  []corev1.Node
		want   string
	}{
		"nobody":                         {[]*corev1.Service{own}, []corev1.Node{node("10.1.0.0/24", "192.0.2.1")}, ""},
		"a cluster IP":                   {[]*corev1.Service{servedAt("other", 9, at)}, nil, "a cluster IP of service other/other"},
		"an older Service":               {[]*corev1.Service{servedAt("other", 1, "10.96.0.2", at)}, nil, "that of the older service other/other"},
		"an older one's load balancer":   {[]*corev1.Service{balanced}, nil, "that of the older service other/other"},
		"a younger Service":              {[]*corev1.Service{servedAt("other", 9, "10.96.0.2", at)}, nil, ""},
		"one of the same age, by name":   {[]*corev1.Service{servedAt("another", 5, "10.96.0.2", at)}, nil, "that of the older service another/another"},
		"another port of an older one":   {[]*corev1.Service{anotherPort}, nil, ""},
		"another protocol":               {[]*corev1.Service{anotherProtocol}, nil, ""},
		"a Pod's address":                {nil, []corev1.Node{node("203.0.113.0/24", "192.0.2.1")}, "in the range of the Pods of node n"},
		"a Node's address":               {nil, []corev1.Node{node("10.1.0.0/24", at)}, "an address of node n"},
		"a Node's address, mapped":       {nil, []corev1.Node{node("10.1.0.0/24", "::ffff:"+at)}, "an address of node n"},
		"a Node without anything":        {nil, []corev1.Node{node("", "")}, ""},
		"a cluster IP of an older one":   {[]*corev1.Service{servedAt("other", 1, at, at)}, nil, "a cluster IP of service other/other"},
		"its own cluster IP, as another": {[]*corev1.Service{servedAt("own", 5, at, at)}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var others []corev1.Service
			for _, other := range tc.others {
				others = append(others, *other)
			}
			if got := ownerOf(own, vip, others, tc.nodes, nil); !strings.HasPrefix(got, tc.want) || got != "" && tc.want == "" {
				t.Errorf("owner = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestNodeAddressOfOthers checks that no address is routed to a Node that a Service or a Pod of another Node has, until they are deleted.
func TestNodeAddressOfOthers(t *testing.T) {
	node, other, web := testNode("a"), testNode("b"), servedAt("web", 1, "10.96.0.10")
	node.Spec.PodCIDR, other.Spec.PodCIDR = "10.1.0.0/24", "10.1.1.0/24"
	for _, address := range []string{"192.0.2.1", "10.1.1.5", "10.96.0.10"} {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	w := newWorld(t, node, other, web)
	w.config = ovnConfig()
	w.restart()
	w.settle(unit{kind: convert.KindNode, name: "a"})
	found := &midonetv1.TranslationList{}
	if err := w.List(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	bodies := ""
	for _, translation := range found.Items {
		bodies += fmt.Sprint(translation.Resources)
	}
	for address, want := range map[string]bool{"192.0.2.1": true, "10.1.1.5": false, "10.96.0.10": false} {
		if got := strings.Contains(bodies, address); got != want {
			t.Errorf("%s is in a route or an ACL = %v, want %v", address, got, want)
		}
	}
	if events := fmt.Sprint(w.events()); !strings.Contains(events, "NodeAddressTaken") {
		t.Errorf("events = %q, want NodeAddressTaken", events)
	}
	if units := (mapper{cache: w.Client()}).nodesAt(t.Context(), web); len(units) != 1 || units[0].name != "a" {
		t.Errorf("a change of the Service reconciles %v, want node a", units)
	}
	if !convert.HoldingsOf(node).Overlaps(convert.HoldingsOf(other)) {
		t.Error("a change of the other Node does not reconcile node a")
	}
}

// TestExternalAddressOfOthers checks that a Service does not serve the cluster IP of another one, until that has been deleted.
func TestExternalAddressOfOthers(t *testing.T) {
	web, thief := servedAt("web", 1, "10.96.0.10"), servedAt("thief", 2, "10.96.0.11", "10.96.0.10", "203.0.113.9")
	w := newWorld(t, web, thief)
	w.config = ovnConfig()
	w.restart()
	if err := w.Client().Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
		t.Fatal(err)
	}
	served := func() string {
		t.Helper()
		w.settle(unit{kind: convert.KindService, namespace: "thief", name: "thief"})
		found := &midonetv1.TranslationList{}
		if err := w.List(t.Context(), found, client.InNamespace("thief")); err != nil || len(found.Items) != 1 {
			t.Fatalf("translations = %+v, %v, want one", found.Items, err)
		}
		return fmt.Sprint(found.Items[0].Resources)
	}
	if body := served(); strings.Contains(body, "10.96.0.10:80") || !strings.Contains(body, "203.0.113.9:80") || !strings.Contains(body, "10.96.0.11:80") {
		t.Errorf("load balancer = %s, want one without 10.96.0.10:80", body)
	}
	if events := fmt.Sprint(w.events()); !strings.Contains(events, "ExternalAddressTaken") || !strings.Contains(events, "web/web") {
		t.Errorf("events = %q, want ExternalAddressTaken with the other Service", events)
	}
	if err := w.Client().Delete(t.Context(), web, client.Preconditions{UID: &web.UID, ResourceVersion: &web.ResourceVersion}); err != nil {
		t.Fatal(err)
	}
	if body := served(); !strings.Contains(body, "10.96.0.10:80") {
		t.Errorf("load balancer = %s, want one with 10.96.0.10:80", body)
	}
}
