// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// guest is a Pod that runs: it serves its name.
type guest struct {
	*corev1.Pod
	*ovnserver.Interface
}

// run connects a Pod to its chassis and serves its name until the test ends.
func (w *world) run(on *ovnserver.Chassis, p *corev1.Pod) guest {
	w.t.Helper()
	var networks, gateways []string
	for _, listed := range p.Status.PodIPs {
		address := netip.MustParseAddr(listed.IP)
		bits := 24
		if address.Is6() {
			bits = 64
		}
		network := netip.PrefixFrom(address, bits)
		networks, gateways = append(networks, network.String()), append(gateways, network.Masked().Addr().Next().String())
	}
	first := netip.MustParseAddr(p.Status.PodIP).As4()
	mac := fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", first[0], first[1], first[2], first[3])
	return w.serving(p, on.Connect(w.t, p.Namespace+"_"+p.Name, mac, networks, gateways))
}

// serving serves a name behind an interface until the test ends.
func (w *world) serving(p *corev1.Pod, behind *ovnserver.Interface) guest {
	w.t.Helper()
	g := guest{p, behind}
	ctx, cancel := context.WithCancel(context.Background())
	server := g.Command(ctx, w.t, os.Args[0], p.Name)
	server.Env = append(os.Environ(), roleVariable+"=serve")
	if err := server.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		cancel()
		_ = server.Wait()
	})
	return g
}

// dial connects from a Pod and returns the name of the Pod that responds.
func (g guest) dial(t *testing.T, address string) (string, error) {
	t.Helper()
	return g.act(t, "dial", address)
}

// act runs this program in a role in the Pod, and returns what it prints.
func (g guest) act(t *testing.T, role, address string) (string, error) {
	t.Helper()
	command := g.Command(t.Context(), t, os.Args[0], address)
	command.Env = append(os.Environ(), roleVariable+"="+role)
	output, err := command.CombinedOutput()
	text := strings.TrimSpace(string(output))
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return text, nil
}

// dialed counts who responds.
func (g guest) dialed(t *testing.T, address string, times int) map[string]int {
	t.Helper()
	count := map[string]int{}
	for range times {
		name, err := g.dial(t, address)
		if err != nil {
			t.Errorf("%s to %s: %v", g.Name, address, err)
		}
		count[name]++
	}
	return count
}

// TestPackets has Pods on two chassis connect to each other and to Services.
func TestPackets(t *testing.T) {
	w := newWorld(t)
	chassis := w.server.StartChassis(t, [2]string{"node-a", "node-b"})
	client, web0, web1 := pod("client", "node-a", "0", "99"), pod("web-0", "node-a", "0", "10"), pod("web-1", "node-b", "1", "11")
	web, own := service("web", "10.0.0.50", "fd00::50"), service("own", "10.0.0.51")
	objects := cluster{
		nodes: []*corev1.Node{node("node-a", "0"), node("node-b", "1")}, pods: []*corev1.Pod{client, web0, web1},
		services: map[*corev1.Service][]*discoveryv1.EndpointSlice{
			web: {slice(discoveryv1.AddressTypeIPv4, "10.1.0.10", "10.1.1.11"), slice(discoveryv1.AddressTypeIPv6, "fd01:0:0:0::10", "fd01:0:0:1::11")},
			own: {slice(discoveryv1.AddressTypeIPv4, "10.1.0.10")},
		},
	}
	w.apply(objects)
	from, first, second := w.run(chassis[0], client), w.run(chassis[0], web0), w.run(chassis[1], web1)
	for _, g := range []guest{from, first, second} {
		w.server.Nbctl(t, "wait-until", "Logical_Switch_Port", "default_"+g.Name, "up=true")
	}
	w.server.Nbctl(t, "--wait=hv", "sync")
	reachable(t, from, "10.1.0.10:8080", "web-0")

	for address, want := range map[string]string{
		"10.1.0.10:8080": "web-0", "10.1.1.11:8080": "web-1", "[fd01::10]:8080": "web-0", "[fd01:0:0:1::11]:8080": "web-1",
	} {
		if got, err := from.dial(t, address); err != nil || got != want {
			t.Errorf("client to %s: %q, %v; want %s", address, got, err, want)
		}
	}
	for _, address := range []string{"10.0.0.50:80", "[fd00::50]:80"} {
		if got := from.dialed(t, address, 40); got["web-0"] == 0 || got["web-1"] == 0 || got["web-0"]+got["web-1"] != 40 {
			t.Errorf("client to Service %s: %v, want both endpoints", address, got)
		}
	}
	if got := first.dialed(t, "10.0.0.51:80", 3); got["web-0"] != 3 {
		t.Errorf("web-0 to its own Service: %v, want itself", got)
	}

	// New connections succeed while an endpoint is removed and added.
	for _, addresses := range [][]string{{"10.1.1.11"}, {"10.1.0.10", "10.1.1.11"}, {"10.1.0.10"}} {
		objects.services[web] = []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, addresses...)}
		w.apply(objects)
		from.dialed(t, "10.0.0.50:80", 10)
		w.server.Nbctl(t, "--wait=hv", "sync")
		if got := from.dialed(t, "10.0.0.50:80", 10); len(addresses) == 1 && len(got) != 1 {
			t.Errorf("client to a Service with the endpoints %v: %v", addresses, got)
		}
	}
	objects.services[web] = nil
	w.apply(objects)
	w.server.Nbctl(t, "--wait=hv", "sync")
	if got, err := from.dial(t, "10.0.0.50:80"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("client to a Service without endpoints: %q, %v; want a rejected connection", got, err)
	}

	// A Pod whose port is deleted is cut off.
	w.put("Pod default/web-1", convert.Result{})
	w.settle()
	w.server.Nbctl(t, "--wait=hv", "sync")
	if got, err := from.dial(t, "10.1.1.11:8080"); err == nil {
		t.Errorf("client to a deleted Pod: %q, want no connection", got)
	}
}

// TestPolicyPackets has Pods connect whose connections policies allow and deny, in both directions and families.
func TestPolicyPackets(t *testing.T) {
	w := newWorld(t)
	chassis := w.server.StartChassis(t, [2]string{"node-a", "node-b"})
	client, other, web0, web1 := pod("client", "node-a", "0", "99"), pod("other", "node-b", "1", "98"), pod("web-0", "node-a", "0", "10"), pod("web-1", "node-b", "1", "11")
	client.Labels, web0.Labels, web1.Labels = map[string]string{"app": "client"}, map[string]string{"app": "web"}, map[string]string{"app": "web"}
	web := service("web", "10.0.0.50")
	policy := func(spec spec) *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "np", UID: "np"}, Spec: spec}
	}
	isolated := ingress(labelled("app", "web"), from(ports{at(corev1.ProtocolTCP, 8080)}, peer{PodSelector: labelled("app", "client")}))
	isolated.PolicyTypes = append(isolated.PolicyTypes, networkingv1.PolicyTypeEgress)
	objects := cluster{
		nodes: []*corev1.Node{node("node-a", "0"), node("node-b", "1")}, pods: []*corev1.Pod{client, other, web0, web1},
		services: map[*corev1.Service][]*discoveryv1.EndpointSlice{web: {slice(discoveryv1.AddressTypeIPv4, "10.1.0.10")}},
	}
	w.apply(objects)
	guests := map[string]guest{}
	for _, p := range objects.pods {
		guests[p.Name] = w.run(chassis[map[string]int{"node-a": 0, "node-b": 1}[p.Spec.NodeName]], p)
	}
	for name := range guests {
		w.server.Nbctl(t, "wait-until", "Logical_Switch_Port", "default_"+name, "up=true")
	}
	w.server.Nbctl(t, "--wait=hv", "sync")
	reachable(t, guests["client"], "10.1.1.11:8080", "web-1")

	expect := func(when, source, address, want string) {
		t.Helper()
		got, err := guests[source].dial(t, address)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s, %s to %s: %q, %v; want %q", when, source, address, got, err, want)
		}
	}
	objects.policies = []*networkingv1.NetworkPolicy{policy(isolated)}
	w.apply(objects)
	w.server.Nbctl(t, "--wait=hv", "sync")
	for address, want := range map[string]string{"10.1.0.10:8080": "web-0", "10.1.1.11:8080": "web-1", "[fd01::10]:8080": "web-0", "[fd01:0:0:1::11]:8080": "web-1", "10.0.0.50:80": "web-0"} {
		expect("allowed ingress", "client", address, want)
	}
	for _, address := range []string{"10.1.0.10:8080", "10.1.1.11:8080", "[fd01::10]:8080", "10.0.0.50:80"} {
		expect("denied ingress", "other", address, "")
	}
	expect("denied egress", "web-0", "10.1.1.98:8080", "")
	expect("denied egress", "web-0", "[fd01:0:0:1::98]:8080", "")
	expect("isolated, to itself", "web-0", "10.0.0.50:80", "web-0")

	// What the policy decides is logged with its name, limited by the meter if there is one.
	const log = `name="default_np_%s", verdict=%s, severity=%s, direction=to-lport`
	logging := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{midonetv1.AnnotationACLLogging: `{"deny":"alert","allow":"info"}`}}}
	objects.namespaces = []*corev1.Namespace{logging}
	for _, meter := range []string{"", "acl-logging"} {
		if meter != "" {
			w.server.Nbctl(t, "meter-add", meter, "drop", "20", "pktps")
		}
		w.apply(objects)
		w.server.Nbctl(t, "--wait=hv", "sync")
		before := len(chassis[0].Log(t))
		expect("allowed and logged", "client", "10.1.0.10:8080", "web-0")
		expect("denied and logged", "other", "10.1.0.10:8080", "")
		for _, want := range []string{fmt.Sprintf(log, "0", "allow", "info"), fmt.Sprintf(log, "deny", "drop", "alert")} {
			if got := chassis[0].Log(t)[before:]; !strings.Contains(got, want) {
				t.Errorf("with meter %q the chassis logs %q, want %q", meter, got, want)
			}
		}
	}
	objects.namespaces = nil

	outward := egress(labelled("app", "web"), to(ports{at(corev1.ProtocolTCP, 8080)}, block("10.1.1.0/24", "10.1.1.11/32")))
	objects.policies = []*networkingv1.NetworkPolicy{policy(outward)}
	w.apply(objects)
	w.server.Nbctl(t, "--wait=hv", "sync")
	expect("allowed egress", "web-0", "10.1.1.98:8080", "other")
	expect("denied egress", "web-0", "10.1.1.11:8080", "")
	expect("denied egress", "web-0", "10.1.0.99:8080", "")
	expect("ingress without a policy", "other", "10.1.0.10:8080", "web-0")

	objects.policies = nil
	w.apply(objects)
	w.server.Nbctl(t, "--wait=hv", "sync")
	expect("without a policy", "other", "10.1.0.10:8080", "web-0")
	expect("without a policy", "web-0", "10.1.0.99:8080", "client")
}

// reachable waits until a Pod responds: chassis create tunnels to each other when packets are sent.
func reachable(t *testing.T, from guest, address, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		got, err := from.dial(t, address)
		if err == nil && got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s to %s: %q, %v", from.Name, address, got, err)
		}
	}
}
