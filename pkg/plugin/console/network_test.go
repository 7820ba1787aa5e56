// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
)

// translations are what the converter makes of objects, with all resources in sync.
func translations(t *testing.T, driver understands, results ...convert.Result) (all []client.Object) {
	t.Helper()
	for _, result := range results {
		if result.Waiting != nil || len(result.Translations) == 0 {
			t.Fatalf("nothing was converted: %+v", result)
		}
		for i := range result.Translations {
			one := result.Translations[i].DeepCopy()
			for _, listed := range one.Resources {
				r, err := driver.Resolve(itemOf(listed))
				if err != nil {
					t.Fatal(err)
				}
				one.Status.Resources = append(one.Status.Resources, midonetv1.BackendResourceStatus{Kind: r.Kind, ID: r.ID, Parent: r.Parent, State: midonetv1.BackendResourceSynced})
			}
			all = append(all, one)
		}
	}
	return all
}

// networkObjects are a Node with a Pod, and a Service that the Pod serves, with their Translations.
func networkObjects(t *testing.T, ovn bool) []client.Object {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", UID: "uid-node", Annotations: map[string]string{
		midonetv1.AnnotationHostID: "3fd2e4a1-9ddf-4a0c-a94e-53dd8bb54b3f"}}, Spec: corev1.NodeSpec{PodCIDR: "10.1.0.0/24"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "uid-pod"}, Spec: corev1.PodSpec{NodeName: "node-a"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.1.0.7"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-service"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.9", Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.7"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web-0", UID: "uid-pod"}}}}
	config := convert.Config{Tenant: "midokube", TunnelZoneName: "zone", ServiceTypes: []corev1.ServiceType{corev1.ServiceTypeClusterIP}}
	slices := []*discoveryv1.EndpointSlice{slice}
	if ovn {
		o := convert.OVN{Config: config}
		return append(translations(t, &ovnbackend.Backend{}, o.Globals(), o.Node(node, nil), o.Pod(pod, node, convert.Scope{}), o.Service(service, slices, nil)), node, pod, service, slice)
	}
	m := convert.MidoNet{Config: config}
	return append(translations(t, &midonetbackend.Backend{}, m.Globals(), m.Node(node, nil), m.Pod(pod, node, convert.Scope{}), m.Service(service, slices, nil)), node, pod, service, slice)
}

// The graph of an object has its resources, those of connected objects, and what these refer to.
func TestNetwork(t *testing.T) {
	objects := networkObjects(t, false)
	for _, object := range objects {
		if one, ok := object.(*midonetv1.Translation); ok && strings.HasPrefix(one.Name, "pod.4.") {
			one.Status.Resources[0].State, one.Status.Resources[0].Message = midonetv1.BackendResourceDrifted, "deleted by another client"
		}
	}
	_, reading := newWorld(t, objects...)
	b := open(t, optionsOf(reading))
	for name, want := range map[string]struct {
		query     string
		own       []string
		neighbour string
		globals   bool
	}{
		"Node":    {"kind=Node&name=node-a", []string{"Bridge", "Chain", "HostInterfacePort", "Port", "PortLink", "Route", "Rule"}, "Pod shop/web-0", true},
		"Pod":     {"kind=Pod&namespace=shop&name=web-0", []string{"HostInterfacePort", "Port"}, "Node node-a", true},
		"Service": {"kind=Service&namespace=shop&name=web", []string{"Chain", "Rule"}, "Pod shop/web-0", true},
	} {
		var view Network
		b.read("/api/network?"+want.query, &view)
		if !slices.Equal(view.Neighbours, []string{want.neighbour}) || len(view.Problems) > 0 {
			t.Errorf("%s: neighbours = %q, problems %q, want %s", name, view.Neighbours, view.Problems, want.neighbour)
		}
		ids, kinds, drifted := map[string]bool{}, []string{}, 0
		for _, n := range view.Nodes {
			if ids[n.ID] {
				t.Errorf("%s: %s twice", name, n.ID)
			}
			ids[n.ID] = true
			if n.Own && !slices.Contains(kinds, n.Kind) {
				kinds = append(kinds, n.Kind)
			}
			if n.State == "Drifted" && n.Message == "deleted by another client" && n.Owner == "Pod shop/web-0" {
				drifted++
			}
		}
		slices.Sort(kinds)
		if !slices.Equal(kinds, want.own) || drifted != 1 {
			t.Errorf("%s: own kinds = %q, %d drifted, want %q and 1", name, kinds, drifted, want.own)
		}
		referred := map[string]bool{}
		for _, e := range view.Edges {
			if !ids[e.From] || !ids[e.To] {
				t.Errorf("%s: edge %+v between resources that are not listed", name, e)
			}
			referred[e.To] = true
		}
		globals := 0
		for _, n := range view.Nodes {
			if n.Translation != "" && n.Owner == "" {
				globals++
				if !referred[n.ID] {
					t.Errorf("%s: %s of the cluster is shown although nothing refers to it", name, n.ID)
				}
			}
		}
		if (globals > 0) != want.globals {
			t.Errorf("%s: %d resources of the cluster", name, globals)
		}
	}
	if code, body := b.get("/api/network?kind=Secret&name=x"); code != http.StatusNotFound || !strings.Contains(body, "Service, Node or Pod") {
		t.Errorf("network of a Secret = %d %s, want 404", code, body)
	}
	if code, _ := b.get("/api/network?kind=Node&name=none"); code != http.StatusNotFound {
		t.Errorf("network of a missing Node = %d, want 404", code)
	}
}

// Resources of OVN are understood, too.
func TestNetworkOnOVN(t *testing.T) {
	_, reading := newWorld(t, networkObjects(t, true)...)
	b := open(t, optionsOf(reading))
	for _, query := range []string{"kind=Node&name=node-a", "kind=Pod&namespace=shop&name=web-0", "kind=Service&namespace=shop&name=web"} {
		var view Network
		b.read("/api/network?"+query, &view)
		own := 0
		for _, n := range view.Nodes {
			if n.Own {
				own++
			}
			if n.Translation != "" && (n.Message != "" || n.State != string(midonetv1.BackendResourceSynced)) {
				t.Errorf("%s: resource %+v, want it understood and in sync", query, n)
			}
		}
		if own == 0 || len(view.Edges) == 0 || len(view.Neighbours) != 1 {
			t.Errorf("%s: %d own resources, edges %v, neighbours %v", query, own, view.Edges, view.Neighbours)
		}
	}
}

// An object without Translations has an empty graph, which is a list for the page.
func TestNetworkWithoutTranslations(t *testing.T) {
	_, reading := newWorld(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}})
	code, body := open(t, optionsOf(reading)).get("/api/network?kind=Service&namespace=shop&name=web")
	if want := `{"nodes":[],"edges":[],"translations":0,"neighbours":[],"omitted":0,"problems":[]}`; code != http.StatusOK || strings.TrimSpace(body) != want {
		t.Errorf("network = %d %s, want %s", code, body, want)
	}
}

// A resource that is still to be deleted, one that is not understood, and one that no Translation lists are shown, too.
func TestGraphOfUnusualResources(t *testing.T) {
	g := newGraph()
	g.add(&midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "t"},
		Resources: []midonetv1.BackendResource{{Kind: "Bridge", Body: `{"id": "13fb0355-e2d9-5a9f-83a6-1efd43edebbc", "inboundFilterId": "23fb0355-e2d9-5a9f-83a6-1efd43edebbc"}`}, {Kind: "Port", Body: "{"}},
		Status: midonetv1.TranslationStatus{Resources: []midonetv1.BackendResourceStatus{
			{Kind: "Chain", ID: "33fb0355-e2d9-5a9f-83a6-1efd43edebbc", State: midonetv1.BackendResourceDeleting}}}}, true)
	nodes, edges := g.done(len(g.nodes))
	got := []string{}
	for _, n := range nodes {
		got = append(got, n.Kind+" "+n.State)
	}
	if want := []string{"Bridge Pending", "Port Pending", "Chain Deleting", "Chain "}; !slices.Equal(got, want) || len(edges) != 1 || nodes[1].Message == "" {
		t.Errorf("nodes = %q %+v, edges %+v, want %q", got, nodes, edges, want)
	}
}
