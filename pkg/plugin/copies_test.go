// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// TestWhyCopiedService checks that a copied Service without a ready endpoint is reported, with what is known of the reason.
func TestWhyCopiedService(t *testing.T) {
	copied := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "us-web", Labels: map[string]string{gimbalv1.LabelBackend: "us"}}}
	copied.Spec.Type, copied.Spec.ClusterIP = corev1.ServiceTypeClusterIP, corev1.ClusterIPNone
	own := copied.DeepCopy()
	own.Labels = nil
	slice := func(service string, ready bool) client.Object {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			Endpoints:  []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		}
	}
	backend := func(status gimbalv1.DiscoveryBackendStatus) client.Object {
		return &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: "us"}, Status: status}
	}
	routes := &gimbalv1.RouteStatus{WithoutEndpoints: &gimbalv1.RouteNames{Names: []string{"HTTPProxy shop/web"}, Count: 1}}
	const fails = "requests that routes send to it fail: check the Service in backend us"
	for name, tc := range map[string]struct {
		service *corev1.Service
		objects []client.Object
		want    string
	}{
		"ready":                      {copied, []client.Object{slice("us-web", true)}, "nothing blocks it"},
		"without slices":             {copied, nil, fails},
		"not ready":                  {copied, []client.Object{slice("us-web", false), slice("us-other", true)}, fails},
		"routes":                     {copied, []client.Object{slice("us-web", false), backend(gimbalv1.DiscoveryBackendStatus{Routes: routes})}, "counts 1 routes"},
		"withheld":                   {copied, []client.Object{slice("us-web", false), backend(gimbalv1.DiscoveryBackendStatus{EndpointsDrained: true})}, "while backend us is in maintenance"},
		"it is no copy of a backend": {own, nil, "nothing blocks it"},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := on(t, nil, append([]client.Object{tc.service.DeepCopy()}, tc.objects...)...)
			c.config = clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: "shop"}})
			_ = c.why(t.Context(), serviceKind(), "us-web", "") // whether there are findings is in what it prints
			if !strings.Contains(out.String(), tc.want) {
				t.Errorf("printed\n%s\nwant %q in it", out, tc.want)
			}
		})
	}
}
