// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// TestTranslations walks one network through its life, on one plane and in this order.
func TestTranslations(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	ns := n.namespace("tr")
	for _, step := range []struct {
		name string
		run  func(n *network, ns string)
	}{
		{"a cluster converges in one reconciliation", converge},
		{"kubectl shows it and waits for it", showTranslations},
		{"objects change", lifecycles},
		{"a restart writes nothing", restartWithoutWrites},
		{"a service is deleted unobserved", deletedWhileDown},
		{"what others change in the backend is repaired in its place", repairDrift},
		{"everything is deleted", deleteEverything},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(n.on(t), ns) }) {
			return
		}
	}
}

// converge makes three nodes, pods and services. Every resource is written once, and nothing is rejected.
func converge(n *network, ns string) {
	for i, name := range []string{"node-a", "node-b", "node-c"} {
		n.node(name, fmt.Sprintf("10.1.%d.0/24", i), fmt.Sprintf("192.0.2.%d", i+1))
		for j := range 3 {
			n.pod(ns, fmt.Sprintf("web-%d-%d", i, j), name, fmt.Sprintf("10.1.%d.%d", i, 10+j))
		}
	}
	for i := range 3 {
		dns := tcp("dns", 53)
		dns.Protocol = corev1.ProtocolUDP
		service := n.service(ns, fmt.Sprintf("web-%d", i), tcp("http", 80), dns)
		n.slice(service, service.Name+"-a", "10.1.0.10", "10.1.1.10")
		n.slice(service, service.Name+"-b", "10.1.1.10", "10.1.2.10") // one address in two slices, as during rebalancing
	}
	n.settled()
	seen := n.requests()
	if len(seen.Rejected) > 0 {
		n.t.Errorf("rejected: %+v", seen.Rejected)
	}
	translations, err := n.translations(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	resources := 0
	for _, tr := range translations {
		resources += len(tr.Resources)
	}
	if got := seen.by(http.MethodPost); got != resources {
		n.t.Errorf("%d POSTs for %d resources", got, resources)
	}
	if got := seen.by(http.MethodPut, http.MethodDelete); got != 0 {
		n.t.Errorf("%d PUTs and DELETEs", got)
	}
}

// showTranslations is what a user sees.
func showTranslations(n *network, ns string) {
	run := func(args ...string) string {
		cmd := exec.CommandContext(n.t.Context(), n.Kubectl(), append([]string{"--kubeconfig=" + n.AdminKubeconfig(), "-n", ns}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			n.t.Fatalf("kubectl %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	if out := run("wait", "--for=condition=Synced", "translations", "--all", "--timeout=2m"); strings.Count(out, "condition met") < 10 {
		n.t.Errorf("wait: %s", out)
	}
	if out := strings.Fields(strings.SplitN(run("get", "tr", "pod.4.web-0-0"), "\n", 3)[1]); len(out) != 6 || !slices.Equal(out[:5], []string{"pod.4.web-0-0", "True", "Pod/web-0-0", "2", "True"}) {
		n.t.Errorf("get: %v", out)
	}
}

// lifecycles changes objects in all ways that add, change and remove resources.
func lifecycles(n *network, ns string) {
	for _, change := range []struct {
		what string
		do   func()
	}{
		{"a pod gets a dedicated address", func() {
			edit(n, podOf(ns, "web-0-0"), func(p *corev1.Pod) { setAnnotation(p, midonetv1.AnnotationMACAddress, "0a:58:0a:01:00:0a") })
		}},
		{"and another", func() {
			edit(n, podOf(ns, "web-0-0"), func(p *corev1.Pod) { setAnnotation(p, midonetv1.AnnotationMACAddress, "0a:58:0a:01:00:0b") })
		}},
		{"and none", func() {
			edit(n, podOf(ns, "web-0-0"), func(p *corev1.Pod) { delete(p.Annotations, midonetv1.AnnotationMACAddress) })
		}},
		{"a pod ends", func() {
			editStatus(n, podOf(ns, "web-0-1"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		}},
		{"a pod is deleted", func() { n.delete(podOf(ns, "web-1-1")) }},
		{"a service gets a port", func() {
			edit(n, serviceOf(ns, "web-0"), func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, tcp("https", 443)) })
		}},
		{"a port changes its number", func() {
			edit(n, serviceOf(ns, "web-0"), func(s *corev1.Service) { s.Spec.Ports[0].Port = 8080 })
		}},
		{"a port changes its name", func() {
			edit(n, serviceOf(ns, "web-1"), func(s *corev1.Service) { s.Spec.Ports[0].Name = "web" })
		}},
		{"a port is deleted", func() {
			edit(n, serviceOf(ns, "web-0"), func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1] })
		}},
		{"an endpoint is not ready", func() {
			edit(n, sliceOf(ns, "web-2-a"), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = new(false) })
		}},
		{"an endpoint is moved to another slice", func() {
			edit(n, sliceOf(ns, "web-2-b"), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.1.2.12"} })
		}},
		{"a slice is deleted", func() { n.delete(sliceOf(ns, "web-2-b")) }},
		{"a service is deleted", func() { n.delete(serviceOf(ns, "web-2")) }},
		{"a node gets an external address", func() {
			editStatus(n, nodeOf("node-b"), func(node *corev1.Node) {
				node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.9"})
			})
		}},
		{"and loses it", func() {
			editStatus(n, nodeOf("node-b"), func(node *corev1.Node) { node.Status.Addresses = node.Status.Addresses[:1] })
		}},
		{"a node gets a dedicated address", func() {
			edit(n, nodeOf("node-a"), func(node *corev1.Node) { setAnnotation(node, midonetv1.AnnotationMACAddress, "0a:58:0a:01:00:02") })
		}},
		{"a node's tunnels end elsewhere", func() {
			edit(n, nodeOf("node-c"), func(node *corev1.Node) { setAnnotation(node, midonetv1.AnnotationTunnelEndpointIP, "192.0.2.33") })
		}},
		{"a service comes back under its name", func() {
			service := n.service(ns, "web-2", tcp("http", 80))
			n.slice(service, "web-2-c", "10.1.2.10")
		}},
	} {
		n.t.Log(change.what)
		n.clearRequests()
		change.do()
		n.settled()
		for _, rejected := range n.requests().Rejected {
			// A resource that the backend deletes together with another one may not exist when its turn comes, or when it is
			// checked.
			absent := rejected.Method == http.MethodDelete || rejected.Method == http.MethodGet
			if !absent || rejected.Code != http.StatusNotFound {
				n.t.Errorf("%s: rejected: %+v", change.what, rejected)
			}
		}
	}
}

// restartWithoutWrites kills the manager. The next one loads its state from the statuses.
func restartWithoutWrites(n *network, _ string) {
	before := revisions(n)
	if err := n.Managers[0].Kill(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	n.clearRequests()
	if err := n.Managers[0].Start(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	n.compared() // it is the leader then, and has checked everything
	n.settled()
	if seen := n.requests(); seen.by(http.MethodPost, http.MethodPut, http.MethodDelete) > 0 || len(seen.Rejected) > 0 {
		n.t.Errorf("written after a restart: %+v", seen)
	}
	if after := revisions(n); fmt.Sprint(before) != fmt.Sprint(after) {
		n.t.Errorf("translations were written: before %v, after %v", before, after)
	}
}

func revisions(n *network) map[string]string {
	n.t.Helper()
	translations, err := n.translations(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	revisions := map[string]string{}
	for _, t := range translations {
		revisions[t.Namespace+"/"+t.Name] = t.ResourceVersion
	}
	return revisions
}

// deletedWhileDown deletes a Service while the manager does not run: garbage collection deletes its Translations, and
// the pusher clears up when it is back.
func deletedWhileDown(n *network, ns string) {
	if err := n.Managers[0].Stop(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	n.delete(serviceOf(ns, "web-0"), podOf(ns, "web-2-2"))
	if err := n.Managers[0].Start(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	n.settled()
}

// repairDrift changes the backend behind the pusher's back.
func repairDrift(n *network, _ string) {
	backend := n.manually()
	translations, err := n.translations(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	for _, tr := range translations {
		for _, r := range tr.Resources {
			resource, err := midonet.NewResource(r.Kind, r.Parent, r.Body)
			if err != nil {
				n.t.Fatal(err)
			}
			drift := false
			switch {
			case r.Kind == "Rule" && strings.Contains(r.Body, `"dnat"`), r.Kind == "Rule" && strings.HasPrefix(tr.Name, "midonet-global.4.chain"):
				drift = true // one of several rules in its chain
			case r.Kind == "Route" && tr.Name == "node.4.node-a", r.Kind == "Port" && strings.HasPrefix(tr.Name, "pod.4.web-1-0"):
				drift = true
			}
			if drift {
				if err := backend.Delete(n.t.Context(), resource.Ref); err != nil {
					n.t.Fatal(err)
				}
			}
		}
	}
	n.settled()
	for _, tr := range translations {
		for _, r := range tr.Resources {
			if err := tamper(n.t.Context(), backend, tr.Name, r); err != nil {
				n.t.Fatal(err)
			}
		}
	}
	n.settled()
}

// tamper changes some resources: a bridge has another name, a port no filter, a route leads elsewhere, and the rule
// that is listed last, and stands first, stands last.
func tamper(ctx context.Context, backend *midonet.Client, translation string, r midonetv1.BackendResource) error {
	var body map[string]any
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		return err
	}
	replace := false
	switch {
	case translation == "node.4.node-b" && r.Kind == "Bridge":
		body["name"] = "other"
	case translation == "node.4.node-b" && r.Kind == "Port" && body["outboundFilterId"] != nil:
		delete(body, "outboundFilterId")
	case translation == "node.4.node-b" && r.Kind == "Route":
		body["dstNetworkAddr"], replace = "10.9.9.0", true
	case r.Kind == "Rule" && body["type"] == "snat" && strings.HasPrefix(translation, "endpoints-port."):
		body["position"], replace = 2, true
	default:
		return nil
	}
	changed, err := json.Marshal(body)
	if err != nil {
		return err
	}
	resource, err := midonet.NewResource(r.Kind, r.Parent, string(changed))
	if err != nil {
		return err
	}
	if !replace {
		return backend.Update(ctx, resource)
	}
	if err := backend.Delete(ctx, resource.Ref); err != nil {
		return err
	}
	return backend.Create(ctx, resource)
}

// deleteEverything deletes all that was made manually. The globals stay, with the service of the API server.
func deleteEverything(n *network, ns string) {
	for _, kind := range []client.Object{&discoveryv1.EndpointSlice{}, &corev1.Service{}, &corev1.Pod{}} {
		if err := n.c.DeleteAllOf(n.t.Context(), kind, client.InNamespace(ns), client.GracePeriodSeconds(0)); err != nil {
			n.t.Fatal(err)
		}
	}
	n.delete(nodeOf("node-a"), nodeOf("node-b"), nodeOf("node-c"))
	n.settled()
}

func podOf(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func serviceOf(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func sliceOf(namespace, name string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func nodeOf(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func setAnnotation(object client.Object, key, value string) {
	object.SetAnnotations(with(object.GetAnnotations(), key, value))
}
