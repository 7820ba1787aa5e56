// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// TestWhyFollows checks that an object of Kubernetes is explained by what it depends on.
func TestWhyFollows(t *testing.T) {
	pod := func(change func(*corev1.Pod)) client.Object {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "p"}, Spec: corev1.PodSpec{NodeName: "node-a"},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
		if change != nil {
			change(p)
		}
		return p
	}
	proxy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": map[string]any{"namespace": "shop", "name": "web"},
		"spec": map[string]any{"routes": []any{map[string]any{"services": []any{map[string]any{"name": "us-web", "port": int64(80)}}}}},
	}}
	copied := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "us-web", Labels: map[string]string{gimbalv1.LabelBackend: "us"}}}
	drained := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: "us"}, Cluster: gimbalv1.Cluster{ClusterStatus: gimbalv1.ClusterMaintenance},
		Status: gimbalv1.DiscoveryBackendStatus{Conditions: []metav1.Condition{condition("Ready", "True", "Ready", ""), condition("Drained", "True", "Drained", "")}, EndpointsDrained: true}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", Annotations: map[string]string{midonetv1.AnnotationOVNChassisProblem: "OVN has no chassis x"}}}
	failing := translated("shop", "pod.4.web", "p")
	failing.Status.Conditions = []metav1.Condition{condition("Ready", "False", "Conflict", "409"), condition("Stalled", "True", "Conflict", "409")}
	apart := translated("shop", "pod.4.web", "p")
	apart.Status.Conditions = append(apart.Status.Conditions, condition("Realized", "False", "NotConnected", "No interface"))
	nodeApart, otherNode := translated("default", "node.4.node-a", "n"), translated("default", "node.4.node-b", "")
	nodeApart.Status.Conditions, otherNode.Status.Conditions = apart.Status.Conditions, apart.Status.Conditions
	healthy := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", UID: "n"}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{gardenerv1beta1.LabelProjectName: "shop"},
		DeletionTimestamp: at(-time.Hour), Finalizers: []string{"kubernetes"}}}
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Status: readyProject()}
	for name, tc := range map[string]struct {
		what     string
		objects  []client.Object
		want     []string
		findings bool
	}{
		"a pod": {"pod/web", []client.Object{pod(nil)}, []string{"shop/web: nothing blocks it", "Not checked: network policies"}, false},
		"a pod that is not scheduled": {"pod/web", []client.Object{pod(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node"}}
		})}, []string{"! shop/web ", "is not scheduled: Unschedulable: no node"}, true},
		"a pod on a Node without chassis": {"pod/web", []client.Object{pod(nil), node}, []string{"! node-a ", "OVN has no chassis x"}, true},
		"a pod with a Translation":        {"pod/web", []client.Object{pod(nil), failing}, []string{"! shop/pod.4.web ", "Conflict: 409"}, true},
		"a pod that is not connected":     {"pod/web", []client.Object{pod(nil), apart}, []string{"! shop/pod.4.web ", "is not Realized: NotConnected: No interface"}, true},
		"a Node that is not connected":    {"node/node-a", []client.Object{healthy, nodeApart, otherNode}, []string{"! default/node.4.node-a ", "is not Realized: NotConnected: No interface"}, true},
		"another Node":                    {"node/node-a", []client.Object{healthy, otherNode}, []string{"node-a: nothing blocks it"}, false},
		"a Node without a UID":            {"node/node-a", []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}, otherNode}, []string{"node-a: nothing blocks it"}, false},
		"a pod in a deleted namespace":    {"pod/web", []client.Object{pod(nil), namespace, project}, []string{"~ shop ", "is being deleted, for 60 minutes"}, true},
		"a route to nothing":              {"httpproxy/web", []client.Object{proxy}, []string{"! shop/web ", "refers to Service shop/us-web, which does not exist"}, true},
		"a route to a drained backend":    {"httpproxy/web", []client.Object{proxy, copied, drained}, []string{"· gimbal-discovery/us ", "is in maintenance and drained", "has no ready endpoint while backend us is in maintenance"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := on(t, nil, tc.objects...)
			c.config = clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: "shop"}})
			k, object, err := parse([]string{tc.what})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.why(t.Context(), k, object, ""); errors.Is(err, errFindings) != tc.findings || err != nil && !tc.findings {
				t.Errorf("error = %v, want findings: %v", err, tc.findings)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("printed\n%s\nwant %q in it", out, want)
				}
			}
		})
	}
}

// TestWhyNamesTheNamespace checks that an object that does not exist is searched in the other namespaces.
func TestWhyNamesTheNamespace(t *testing.T) {
	for name, want := range map[string]string{"web": "in namespace default, but in garden-shop: add -n garden-shop", "other": "in namespace default, nor in another one"} {
		c, _ := on(t, nil, stalled())
		if err := c.why(t.Context(), kinds()[1], name, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %q in it", name, err, want)
		}
	}
}
