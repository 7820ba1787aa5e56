// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func translated(namespace, name, uid string, resources ...midonetv1.BackendResource) *midonetv1.Translation {
	return &midonetv1.Translation{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{midonetv1.LabelOwnerUID: uid}}, Resources: resources,
		Status: midonetv1.TranslationStatus{Conditions: []metav1.Condition{{Type: midonetv1.ConditionSynced, Status: metav1.ConditionTrue, Reason: "Synced"}}},
	}
}

func TestWhyService(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "s"}}
	service.Spec.Type, service.Spec.ClusterIP = corev1.ServiceTypeClusterIP, "10.0.0.50"
	node := translated("default", "node.4.a", "n", midonetv1.BackendResource{Kind: "LogicalSwitch", Body: `{"id":"switch-id","name":"node-a"}`})
	pod := translated("shop", "pod.4.web-0", "p", midonetv1.BackendResource{Kind: "LogicalSwitchPort", Parent: "switch-id",
		Body: `{"id":"x","name":"shop_web-0","addresses":["0a:58:0a:01:00:0a 10.1.0.10 fd01::a"],"options":{"requested-chassis":"host-a"},"external_ids":{"owner":"Pod shop/web-0"}}`})
	gateway := translated("default", "node-gateway.4.a", "n", midonetv1.BackendResource{Kind: "ChassisTemplateVar", Body: `{"id":"v","chassis":"host-a"}`})
	balancer := func(vips string) *midonetv1.Translation {
		return translated("shop", "service.4.web", "s", midonetv1.BackendResource{Kind: "LoadBalancer", Parent: "g", Body: `{"id":"y","name":"shop/web/tcp","protocol":"tcp","vips":{` + vips + `}}`})
	}
	lost := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", Annotations: map[string]string{midonetv1.AnnotationOVNChassisProblem: "OVN has no chassis x"}}}
	waiting := balancer(`"10.0.0.50:80":"10.1.0.10:8080"`)
	waiting.Status.Conditions[0].Status, waiting.Status.Conditions[0].Reason, waiting.Status.Conditions[0].Message = metav1.ConditionFalse, "Waiting", "waits for x"
	waiting.Status.Conditions = append(waiting.Status.Conditions, condition("Realized", "False", "NotSynced", "not all"))
	apart := pod.DeepCopy()
	apart.Status.Conditions = append(apart.Status.Conditions, condition("Realized", "False", "NotConnected", "No interface"))
	headless := service.DeepCopy()
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	for name, tc := range map[string]struct {
		service  *corev1.Service
		objects  []client.Object
		want     []string
		lacks    string
		findings bool
	}{
		"two families": {service, []client.Object{node, pod, balancer(`"10.0.0.50:80":"10.1.0.10:8080","[fd00::50]:80":"[fd01::a]:8080"`)}, []string{
			"shop/web: nothing blocks it", "10.0.0.50:80/tcp, load balancer shop/web/tcp:\n  10.1.0.10:8080  Pod shop/web-0, port shop_web-0 of switch node-a, chassis host-a\n",
			"[fd00::50]:80/tcp, load balancer shop/web/tcp:\n  [fd01::a]:8080  Pod shop/web-0,",
		}, "", false},
		"node port": {service, []client.Object{node, pod, gateway, balancer(`"^groundskeeper_gateway_ipv4:30080":"10.1.0.10:8080"`)}, []string{
			"shop/web: nothing blocks it", "gateway (ipv4):30080/tcp, load balancer shop/web/tcp:\n  10.1.0.10:8080  Pod shop/web-0,",
		}, "", false},
		"node port without a gateway": {service, []client.Object{node, pod, balancer(`"^groundskeeper_gateway_ipv4:30080":"10.1.0.10:8080"`)}, []string{
			"no Node is one: set annotation groundskeeper.io/ovn-gateway-network of a Node",
		}, "", true},
		"the chassis of an endpoint is unknown": {service, []client.Object{node, pod, lost, balancer(`"10.0.0.50:80":"10.1.0.10:8080"`)}, []string{
			"! node-a ", "OVN has no chassis x", "chassis host-a",
		}, "nothing blocks it", true},
		"the port of an endpoint is not connected": {service, []client.Object{node, apart, balancer(`"10.0.0.50:80":"10.1.0.10:8080"`)}, []string{
			"! shop/web ", "endpoint 10.1.0.10:8080 of 10.0.0.50:80 is not Realized: NotConnected: No interface", "port shop_web-0 of switch node-a",
		}, "nothing blocks it", true},
		"no endpoint":      {service, []client.Object{node, pod, balancer(`"10.0.0.50:80":""`)}, []string{"10.0.0.50:80/tcp, load balancer shop/web/tcp:\n  no endpoint: connections are rejected\n"}, "", false},
		"unknown endpoint": {service, []client.Object{balancer(`"10.0.0.50:80":"192.0.2.9:80"`)}, []string{"endpoint 192.0.2.9:80 of 10.0.0.50:80 is not the address of a translated Pod", "  192.0.2.9:80\n"}, "chassis", true},
		"not in sync":      {service, []client.Object{node, pod, waiting}, []string{"shop/service.4.web", "Waiting: waits for x", "10.1.0.10:8080  Pod"}, "NotSynced", true},
		"no backend":       {service, nil, []string{"shop/web: nothing blocks it", "Not checked: network policies"}, "Translation", false},
		"not translated":   {service, []client.Object{node, pod}, []string{"has no Translation", "serviceTypes may not have the type ClusterIP"}, "load balancer", true},
		"headless":         {headless, nil, []string{"nothing blocks it"}, "load balancer", false},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := on(t, nil, append([]client.Object{tc.service.DeepCopy()}, tc.objects...)...)
			c.config = clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: "shop"}})
			err := c.why(t.Context(), serviceKind(), "web", "")
			if errors.Is(err, errFindings) != tc.findings || err != nil && !tc.findings {
				t.Errorf("error = %v, want findings: %v", err, tc.findings)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("printed\n%s\nwant %q in it", out, want)
				}
			}
			if tc.lacks != "" && strings.Contains(out.String(), tc.lacks) {
				t.Errorf("printed\n%s\nwant no %q", out, tc.lacks)
			}
		})
	}
}

// TestWhyNode checks that the problem that the annotator recorded is shown for the Node.
func TestWhyNode(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	c, out := on(t, nil, node)
	if err := c.why(t.Context(), nodeKind(), "node-a", ""); err != nil || !strings.Contains(out.String(), "node-a: nothing blocks it") {
		t.Errorf("printed %q, %v, want that nothing blocks it", out, err)
	}
	node.Annotations = map[string]string{midonetv1.AnnotationOVNChassisProblem: "OVN has no chassis x"}
	c, out = on(t, nil, node)
	if err := c.why(t.Context(), nodeKind(), "node-a", ""); !errors.Is(err, errFindings) || !strings.Contains(out.String(), "OVN has no chassis x") {
		t.Errorf("printed %q, %v, want the problem", out, err)
	}
}
