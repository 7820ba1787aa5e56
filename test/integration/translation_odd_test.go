// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/test/plane"
)

// TestOddTranslations checks that invalid input and unexpected responses of the backend are reported to the user, and do not stop
// the manager or other Translations.
func TestOddTranslations(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, func(o *plane.Options) {
		o.KubeAPIServerFlags = []string{"--service-cluster-ip-range=10.0.0.0/24,fd00:10::/112"}
	})
	ns := n.namespace("odd")
	for _, name := range []string{"bare", "six", "two", "late"} {
		n.host(name) // the annotator retries hosts that do not exist
	}
	n.node("node-a", "10.1.0.0/24", "192.0.2.1")
	n.node("node-b", "10.1.1.0/24", "192.0.2.2")
	n.slice(n.service(ns, "plain", tcp("http", 80)), "plain-a", "10.1.0.10", "10.1.1.10")
	n.settled()
	pid := n.Managers[0].PID()
	for _, step := range []struct {
		name string
		run  func(n *network, ns string)
	}{
		{"services of all kinds", oddServices},
		{"nodes that lack something", oddNodes},
		{"a node loses its host and gets it back", lostHost},
		{"translations manually", manually},
		{"a backend that fails", brokenBackend},
		{"everything is deleted", deleteEverything},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(n.on(t), ns) }) {
			break
		}
	}
	if now := n.Managers[0].PID(); now != pid {
		t.Errorf("the manager had pid %d and has %d:\n%s", pid, now, strings.Join(n.Managers[0].Tail(40), "\n"))
	}
	n.neverPanicked()
}

// oddServices makes Services of which nothing, or not all, can be translated.
func oddServices(n *network, ns string) {
	sctp := tcp("sctp", 7)
	sctp.Protocol = corev1.ProtocolSCTP
	named := func(name string, spec corev1.ServiceSpec, ports ...corev1.ServicePort) *corev1.Service {
		spec.Ports = ports
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec}
	}
	families := func(policy corev1.IPFamilyPolicy, families ...corev1.IPFamily) corev1.ServiceSpec {
		return corev1.ServiceSpec{IPFamilyPolicy: &policy, IPFamilies: families}
	}
	http := tcp("http", 80)
	const whole = 3 // the chains, a port, an endpoint
	for _, tc := range []struct {
		service      *corev1.Service
		translations int
		event        string
	}{
		{named("v6", families(corev1.IPFamilyPolicySingleStack, corev1.IPv6Protocol), http), 0, convert.ReasonIPv6NotSupported},
		{named("v4-first", families(corev1.IPFamilyPolicyRequireDualStack, corev1.IPv4Protocol, corev1.IPv6Protocol), http), whole, ""},
		{named("v6-first", families(corev1.IPFamilyPolicyRequireDualStack, corev1.IPv6Protocol, corev1.IPv4Protocol), http), whole, ""},
		{named("sctp", corev1.ServiceSpec{}, http, sctp), whole, convert.ReasonProtocolNotSupported},
		{named("sctp-only", corev1.ServiceSpec{}, sctp), 0, convert.ReasonProtocolNotSupported},
		{named("headless", corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}, http), 0, ""},
		{named("external", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}), 0, ""},
		{named("node-port", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}, http), whole, convert.ReasonNodePortNotSupported},
		{named("load-balancer", corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}, http), whole, convert.ReasonNodePortNotSupported},
		{named("unnamed", corev1.ServiceSpec{}, tcp("", 80)), whole, ""},
	} {
		n.create(tc.service)
		n.slice(tc.service, tc.service.Name+"-4", "10.1.0.10")
		for kind, address := range map[discoveryv1.AddressType]string{discoveryv1.AddressTypeIPv6: "fd00:1::10", discoveryv1.AddressTypeFQDN: "pod.example.com"} {
			n.create(&discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: ns, Name: tc.service.Name + "-" + strings.ToLower(string(kind)),
					Labels: map[string]string{discoveryv1.LabelServiceName: tc.service.Name},
				},
				AddressType: kind, Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(80))}, {Name: new("all")}},
				Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
			})
		}
		n.settled()
		if tc.event != "" {
			n.reported(tc.service, tc.event)
		} else if events, err := n.eventsOn(n.t.Context(), tc.service, ""); err != nil || len(events) > 0 {
			n.t.Errorf("service %s: %v, events %+v", tc.service.Name, err, events)
		}
		if found, err := n.owned(n.t.Context(), tc.service); err != nil || len(found) != tc.translations {
			n.t.Errorf("service %s: %v, want %d translations, have %v", tc.service.Name, err, tc.translations, found)
		}
	}
	n.pod(ns, strings.Repeat("long-", 50)+"pod", "node-a", "10.1.0.77")
	n.pod(ns, "with.dots", "node-a", "10.1.0.78")
	n.settled()
}

// oddNodes makes Nodes without a range of addresses, or with one of the wrong kind, and one that MidoNet does not know.
func oddNodes(n *network, ns string) {
	bare := n.node("bare", "", "192.0.2.11")
	n.reported(bare, convert.ReasonPodCIDRMissing, "bare")
	pod := n.pod(ns, "on-bare", "bare", "10.1.11.10")
	n.reads(client.ObjectKey{Namespace: ns, Name: "pod.4." + pod.Name}, "Waiting", false, "Bridge")
	edit(n, bare, func(node *corev1.Node) {
		node.Spec.PodCIDR, node.Spec.PodCIDRs = "10.1.11.0/24", []string{"10.1.11.0/24"}
	})
	n.settled()

	six := n.node("six", "fd00:12::/64", "fd00::12")
	n.reported(six, convert.ReasonPodCIDRMissing, "fd00:12::/64")
	two := n.node("two", "fd00:13::/64", "192.0.2.13", "10.1.13.0/24")
	n.annotated(two, n.host("two"))
	n.settled()
	for _, node := range []*corev1.Node{six, two} {
		found, err := n.owned(n.t.Context(), node)
		if _, has := found["node.4."+node.Name]; err != nil || has != (node == two) {
			n.t.Errorf("node %s: %v, %v", node.Name, err, found)
		}
	}

	// Its host is in no tunnel zone as long as its address is not known: nothing can be bound to it.
	late := n.node("late", "10.1.14.0/24", "")
	n.reads(client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "node.4.late"}, "Conflict", true, "is in no tunnel zone")
	editStatus(n, late, func(node *corev1.Node) {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.14"}}
	})
	n.settled()

	stranger := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}, Spec: corev1.NodeSpec{PodCIDR: "10.1.15.0/24", PodCIDRs: []string{"10.1.15.0/24"}}}
	n.create(stranger)
	n.reported(stranger, "HostNotFound", "stranger")
	if err := n.c.Get(n.t.Context(), client.ObjectKeyFromObject(stranger), stranger); err != nil || len(stranger.Annotations) > 0 {
		n.t.Errorf("%v, annotations %v", err, stranger.Annotations)
	}
	editStatus(n, stranger, func(node *corev1.Node) {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.15"}}
	})
	n.annotated(stranger, n.host("stranger"))
	n.settled()
	n.delete(nodeOf("bare"), nodeOf("six"), nodeOf("two"), nodeOf("late"), nodeOf("stranger"), podOf(ns, pod.Name))
	n.settled()
}

// lostHost takes a Node's host away: for a moment, in which nothing is deleted, and permanently.
func lostHost(n *network, ns string) {
	node := nodeOf("node-b")
	pod := n.pod(ns, "survivor", node.Name, "10.1.1.20")
	n.settled()
	lose := func() {
		edit(n, node, func(node *corev1.Node) { setAnnotation(node, midonetv1.AnnotationHostID, "lost") })
	}
	find := func() { // the annotator fills in what is absent
		edit(n, node, func(node *corev1.Node) { delete(node.Annotations, midonetv1.AnnotationHostID) })
		n.settled()
	}
	lose()
	before, err := n.owned(n.t.Context(), node)
	if err != nil || before["node.4.node-b"] == "" {
		n.t.Fatalf("%v, %v", err, before)
	}
	n.reported(node, convert.ReasonHostIDMissing, "lost", "stay until")
	find()
	after, err := n.owned(n.t.Context(), node)
	if err != nil {
		n.t.Fatal(err)
	}
	switch late, err := n.eventsOn(n.t.Context(), node, "TranslationsRemoved"); {
	case err != nil:
		n.t.Error(err)
	case len(late) == 0 && !maps.Equal(before, after):
		n.t.Errorf("within the grace period %v became %v", before, after)
	}

	port := client.ObjectKey{Namespace: ns, Name: "pod.4." + pod.Name}
	kept := &midonetv1.Translation{}
	if err := n.c.Get(n.t.Context(), port, kept); err != nil {
		n.t.Fatal(err)
	}
	lose()
	n.reported(node, "TranslationsRemoved")
	eventually(n.t, func(ctx context.Context) error {
		if left, err := n.owned(ctx, node); err != nil || len(left) > 0 {
			return fmt.Errorf("%w, %v are left", err, left)
		}
		return nil
	})
	now := n.reads(port, "Waiting", false, "Bridge")
	if now.UID != kept.UID {
		n.t.Errorf("the translation of the pod was recreated")
	}
	find()
}

// manually writes Translations that are wrong, and corrects them.
func manually(n *network, ns string) {
	id := uuid.NewString
	bridge := convert.NewIDs("midonetkube").ForKey("Node", "node-a").String()
	chain := func(id string) midonetv1.BackendResource {
		return midonetv1.BackendResource{Kind: "Chain", Body: `{"id":"` + id + `","tenantId":"midonetkube","name":"manually"}`}
	}
	port := func(id, more string) midonetv1.BackendResource {
		return midonetv1.BackendResource{Kind: "Port", Parent: bridge, Body: `{"id":"` + id + `","type":"Bridge"` + more + `}`}
	}
	missing, rejected, good := id(), id(), id()
	type state = midonetv1.BackendResourceState
	const (
		synced  = midonetv1.BackendResourceSynced
		failed  = midonetv1.BackendResourceFailed
		pending = midonetv1.BackendResourcePending
		nothing = midonetv1.BackendResourceNotApplicable
	)
	for _, tc := range []struct {
		name      string
		resources []midonetv1.BackendResource
		reason    string
		stalled   bool
		states    []state
		words     []string
		corrected []midonetv1.BackendResource
	}{
		{"unknown-kind", []midonetv1.BackendResource{{Kind: "Dragon", Body: `{"id":"` + id() + `"}`}},
			"UnknownKind", true, []state{nothing}, []string{"Dragon"}, []midonetv1.BackendResource{chain(id())}},
		{"no-id", []midonetv1.BackendResource{{Kind: "Chain", Body: `{"name":"nameless"}`}},
			"Invalid", true, []state{failed}, []string{"id"}, []midonetv1.BackendResource{chain(id())}},
		{"refused", []midonetv1.BackendResource{port(rejected, `,"portMac":"none"`), chain(good)},
			"Refused", true, []state{failed, synced}, []string{rejected, "portMac is an invalid MAC address"},
			[]midonetv1.BackendResource{port(rejected, ""), chain(good)}},
		{"no-parent", []midonetv1.BackendResource{{Kind: "Rule", Parent: missing, Body: `{"id":"` + id() + `","type":"accept"}`}},
			"Waiting", false, []state{pending}, []string{missing}, []midonetv1.BackendResource{chain(missing), {Kind: "Rule", Parent: missing, Body: `{"id":"` + id() + `","type":"accept"}`}}},
	} {
		n.t.Log(tc.name)
		tr := &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: tc.name}, Resources: tc.resources}
		n.create(tr)
		got := n.reads(client.ObjectKeyFromObject(tr), tc.reason, tc.stalled, tc.words...)
		var states []state
		for _, r := range got.Status.Resources {
			states = append(states, r.State)
		}
		if !slices.Equal(states, tc.states) {
			n.t.Errorf("%s: states %v, want %v", tc.name, states, tc.states)
		}
		if tc.stalled {
			n.reported(tr, tc.reason, tc.words...)
		}
		edit(n, tr, func(tr *midonetv1.Translation) { tr.Resources = tc.corrected })
		n.reads(client.ObjectKeyFromObject(tr), "Synced", false)
	}
	out, err := n.kubectl(fmt.Sprintf(`{"apiVersion":"midonet.org/v1","kind":"Translation","metadata":{"name":"second","namespace":%q},"resources":[{"kind":"Chain","parent":"","body":%q}]}`,
		ns, chain(good).Body), "create", "-f", "-")
	if want := fmt.Sprintf("Chain %s belongs to Translation %s/refused", good, ns); err == nil || !strings.Contains(out, want) {
		n.t.Errorf("kubectl create: %v, want %q, it reports %s", err, want, out)
	}
	for _, name := range []string{"unknown-kind", "no-id", "refused", "no-parent"} {
		n.delete(&midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}})
	}
	n.settled()
}

// brokenBackend has the backend fail in all ways while objects change.
func brokenBackend(n *network, ns string) {
	for i, fault := range []map[string]any{
		{"status": http.StatusInternalServerError},
		{"status": http.StatusServiceUnavailable, "method": http.MethodPost},
		{"status": http.StatusInternalServerError, "method": http.MethodGet},
		{"status": http.StatusBadGateway, "method": http.MethodDelete},
		{"status": http.StatusUnauthorized, "path": "/login"},
		{"cut": "request"},
		{"cut": "answer"},
		{"cut": "answer", "method": http.MethodPost, "skip": 1, "times": 3},
		{"latency": "300ms"},
		{"latency": "5s", "method": http.MethodPost}, // longer than the client waits
	} {
		n.t.Log(fault)
		n.clearRequests()
		n.fails(fault)
		if fault["cut"] == nil { // a client that gets no response does not learn that its token expired
			n.page(http.MethodDelete, "tokens", nil, nil)
		}
		service := n.service(ns, fmt.Sprintf("shaky-%d", i), tcp("http", 80))
		n.slice(service, service.Name+"-a", "10.1.0.10", "10.1.1.10")
		pod := n.pod(ns, fmt.Sprintf("shaky-%d", i), "node-a", fmt.Sprintf("10.1.0.%d", 100+i))
		edit(n, pod, func(pod *corev1.Pod) {
			setAnnotation(pod, midonetv1.AnnotationMACAddress, fmt.Sprintf("0a:58:0a:01:00:%02x", 100+i))
		})
		if i > 0 {
			n.delete(podOf(ns, fmt.Sprintf("shaky-%d", i-1)), sliceOf(ns, fmt.Sprintf("shaky-%d-a", i-1)))
			edit(n, serviceOf(ns, fmt.Sprintf("shaky-%d", i-1)), func(s *corev1.Service) { s.Spec.Ports[0].Port = 8080 })
		}
		eventually(n.t, func(context.Context) error { // the fault was injected
			seen := n.requests()
			for _, c := range seen.Counts {
				// A login counts only when it got no response: a comparison may have been first to notice that the token ended.
				if code, set := fault["status"]; set && c.Code == code || !set && c.Method != http.MethodGet && (c.Path != "/login" || c.Code == 0) {
					return nil
				}
			}
			return fmt.Errorf("nothing was hit: %+v", seen)
		})
		n.heal()
		n.settled()
	}
	n.stays()
}
