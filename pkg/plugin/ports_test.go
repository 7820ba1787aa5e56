// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// TestWhyPorts checks that the port of a Pod, a Node and an endpoint is shown, and by name the policies that may drop its connections.
func TestWhyPorts(t *testing.T) {
	port := func(id, name, owner, addresses, more string) midonetv1.BackendResource {
		return midonetv1.BackendResource{Kind: "LogicalSwitchPort", Parent: "switch-id", Body: `{"id":"` + id + `","name":"` + name + `","addresses":["` + addresses + `"],` +
			`"options":{` + more + `},"external_ids":{"owner":"` + owner + `"}}`}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "p", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: "node-a"}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"}}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", UID: "n"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "s"}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.50"}}
	ofPod := translated("shop", "pod.4.web-0", "p", port("x", "shop_web-0", "Pod shop/web-0", "0a:58:0a:01:00:0a 10.1.0.10 fd01::a", `"requested-chassis":"host-a"`))
	ofPod.Status.Conditions = append(ofPod.Status.Conditions, condition("Realized", "True", "Realized", ""))
	ofNode := translated("default", "node.4.node-a", "n", midonetv1.BackendResource{Kind: "LogicalSwitch", Body: `{"id":"switch-id","name":"node-a"}`},
		port("y", "k8s-node-a", "Node node-a", "0a:58:0a:01:00:02 10.1.0.2", `"requested-chassis":"host-a"`), port("z", "stor-node-a", "", "router", `"router-port":"rtos-node-a"`))
	ofService := translated("shop", "service.4.web", "s", midonetv1.BackendResource{Kind: "LoadBalancer", Parent: "g",
		Body: `{"id":"b","name":"shop/web/tcp","protocol":"tcp","vips":{"10.0.0.50:80":"10.1.0.10:8080"}}`})
	policy := func(name, app string, types ...networkingv1.PolicyType) *networkingv1.NetworkPolicy {
		p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		p.Spec.PodSelector.MatchLabels, p.Spec.PolicyTypes = map[string]string{"app": app}, types
		return p
	}
	const in, out = networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	const way = "10.1.0.10 fd01::a  Pod shop/web-0, port shop_web-0 of switch node-a, chassis host-a, Realized\n"
	elsewhere := policy("elsewhere", "web")
	elsewhere.Namespace = "other"
	for name, tc := range map[string]struct {
		what    string
		objects []client.Object
		fails   map[string]error
		want    []string
		lacks   string
	}{
		"a Pod": {"pod/web-0", []client.Object{ofPod, policy("db", "db"), elsewhere}, nil, []string{way, "Not checked: DNS"}, "dropped"},
		"a Pod with policies": {"pod/web-0", []client.Object{ofPod, policy("web", "web", in), policy("all", "web", in, out)}, nil, []string{
			way + "  connections to it are dropped unless allowed by NetworkPolicy all, web\n  connections from it are dropped unless allowed by NetworkPolicy all\n",
			"web-0: nothing blocks it",
		}, "network policies"},
		"policies that the user may not read": {"pod/web-0", []client.Object{ofPod, policy("web", "web", in)}, map[string]error{"NetworkPolicyList": errForbidden},
			[]string{way, "nothing blocks it", "Not checked: network policies, DNS"}, "dropped"},
		"a Pod without a port": {"pod/web-0", []client.Object{policy("web", "web", in)}, nil, []string{"Not checked: network policies"}, "dropped"},
		"a Node":               {"node/node-a", []client.Object{ofNode}, nil, []string{"10.1.0.2  Node node-a, port k8s-node-a of switch node-a, chassis host-a\n"}, "stor-"},
		"a Service": {"service/web", []client.Object{ofNode, ofPod, ofService, policy("web", "web", in)}, nil, []string{
			"10.0.0.50:80/tcp, load balancer shop/web/tcp:\n  10.1.0.10:8080  Pod shop/web-0, port shop_web-0 of switch node-a, chassis host-a, Realized\n" +
				"    connections to it are dropped unless allowed by NetworkPolicy web\n",
		}, "network policies"},
		"a Service whose Pods the user may not read": {"service/web", []client.Object{ofNode, ofPod, ofService, policy("web", "web", in)},
			map[string]error{"PodList": errForbidden}, []string{"port shop_web-0", "Not checked: network policies"}, "dropped"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{pod.DeepCopy(), other.DeepCopy(), node.DeepCopy(), service.DeepCopy()}
			for _, object := range tc.objects {
				copied, _ := object.DeepCopyObject().(client.Object)
				objects = append(objects, copied)
			}
			c, printed := on(t, tc.fails, objects...)
			c.config = clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: "shop"}})
			k, object, err := parse([]string{tc.what})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.why(t.Context(), k, object, ""); err != nil && !errors.Is(err, errFindings) {
				t.Error(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(printed.String(), want) {
					t.Errorf("printed\n%s\nwant %q in it", printed, want)
				}
			}
			if strings.Contains(printed.String(), tc.lacks) {
				t.Errorf("printed\n%s\nwant no %q", printed, tc.lacks)
			}
		})
	}
}
