// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/ovn"
)

// TestOVNDerives checks that each id that a converter makes is found by the name of its Translation, and by no other name or tenant.
func TestOVNDerives(t *testing.T) {
	o, other := ovnEmitter(), ovnEmitter()
	other.Config.Tenant = "other"
	policy := testPolicy(from([]networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, "http-alt"), port(corev1.ProtocolTCP, 80)},
		networkingv1.NetworkPolicyPeer{PodSelector: labelled("client")}, block("192.0.2.0/24")), to([]networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, "dns")}))
	policy.Name = "allow-web-from-clients"
	ports := []corev1.ContainerPort{{Name: "http-alt", Protocol: corev1.ProtocolTCP, ContainerPort: 8080}, {Name: "dns", Protocol: corev1.ProtocolUDP, ContainerPort: 53}}
	local := ovnService(func(s *corev1.Service) {
		s.Name, s.Spec.Type, s.Spec.ExternalTrafficPolicy = "web-front", corev1.ServiceTypeNodePort, corev1.ServiceExternalTrafficPolicyLocal
		s.Spec.Ports[0].NodePort, s.Spec.ExternalIPs = 30080, []string{"198.51.100.9"}
	})
	slice := ovnSlice("s", "+10.1.0.5")
	slice.Endpoints[0].NodeName = new("node-a")
	results := Join(o.Globals(), o.Namespace(testNamespaces()[0]),
		o.Node(ovnNode(gatewayNode("physnet1", "198.51.100.11/24,2001:db8::11/64", "198.51.100.1,2001:db8::1")), nil),
		o.Pod(ovnPod(), ovnNode(), Scope{Translated: func(*Policy, string) bool { return true }}),
		o.Service(ovnService(func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30081 }), []*discoveryv1.EndpointSlice{slice}, nil),
		o.Service(local, []*discoveryv1.EndpointSlice{slice}, nil),
		o.NetworkPolicy(ReadPolicy(policy), testNamespaces(), []*corev1.Pod{member("default", "a", "web", ports...)}, Logging{Deny: "info"}))
	kinds := map[string]bool{}
	for _, translation := range results.Translations {
		name := types.NamespacedName{Namespace: translation.Namespace, Name: translation.Name}
		for _, resource := range translation.Resources {
			parsed, err := ovn.Parse(resource.Kind, resource.Parent, resource.Body)
			if err != nil {
				t.Fatal(err)
			}
			kinds[resource.Kind] = true
			t.Run(translation.Name+"/"+resource.Kind, func(t *testing.T) {
				for what, tc := range map[string]struct {
					by   OVN
					name types.NamespacedName
					want bool
				}{
					"its own":             {o, name, true},
					"another tenant":      {other, name, false},
					"another Translation": {o, types.NamespacedName{Namespace: name.Namespace, Name: TranslationName(KindPod, "other")}, false},
					"one of a user":       {o, types.NamespacedName{Namespace: name.Namespace, Name: "mine"}, false},
				} {
					if got := tc.by.Derives(tc.name, parsed.ID); got != tc.want {
						t.Errorf("%s: %s derives %s = %v, want %v", what, tc.name, resource.Body, got, tc.want)
					}
				}
			})
		}
	}
	for _, k := range ovn.Kinds() {
		if k.Name != "AddressSet" && !kinds[k.Name] { // only users write address sets
			t.Errorf("no %s was converted", k.Name)
		}
	}
}

// TestOVNDerivesByHand checks which id a Translation of a user proves, and that what is no id, or no name of a converter, proves nothing.
func TestOVNDerivesByHand(t *testing.T) {
	o := ovnEmitter()
	mine := types.NamespacedName{Namespace: "default", Name: "mine"}
	for name, tc := range map[string]struct {
		translation types.NamespacedName
		id          string
		want        bool
	}{
		"its own":          {mine, o.ids().ForKey("Translation", "default/mine").String(), true},
		"of another":       {mine, o.ids().ForKey("Translation", "other/mine").String(), false},
		"no id":            {mine, "x", false},
		"no hash":          {types.NamespacedName{Namespace: "default", Name: "service-local.4.a-b-0123456789012345678901234567890123456789"}, o.ids().ForKey("Service", "default/a/tcp/node/b").String(), false},
		"another version":  {types.NamespacedName{Namespace: "default", Name: "pod.3.web-0"}, o.ids().ForKey(KindPod, "default/web-0").String(), false},
		"a key is missing": {types.NamespacedName{Namespace: "default", Name: "pod." + midonetv1.TranslationVersion}, o.ids().ForKey(KindPod, "default/").String(), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := o.Derives(tc.translation, tc.id); got != tc.want {
				t.Errorf("%s derives %s = %v, want %v", tc.translation, tc.id, got, tc.want)
			}
		})
	}
}
