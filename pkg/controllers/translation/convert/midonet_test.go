// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestServiceLimits checks that unsupported features of a Service are reported, with one problem per cause.
func TestServiceLimits(t *testing.T) {
	// single is a Service with one endpoint of each port.
	single := func(p *pair) { p.EndpointSlices = p.EndpointSlices[:1] }
	with := func(edit func(*corev1.Service)) func(*pair) {
		return func(p *pair) {
			single(p)
			edit(p.Service)
		}
	}
	ingress := func(ingress ...corev1.LoadBalancerIngress) func(*pair) {
		return with(func(s *corev1.Service) {
			s.Spec.Type, s.Status.LoadBalancer.Ingress = corev1.ServiceTypeLoadBalancer, ingress
		})
	}
	for name, tc := range map[string]struct {
		edit  func(*pair)
		types []corev1.ServiceType
		want  []Problem
	}{
		"nothing": {single, settings().ServiceTypes, nil},
		"defaults": {with(func(s *corev1.Service) {
			s.Spec.SessionAffinity, s.Spec.ExternalTrafficPolicy, s.Spec.InternalTrafficPolicy = corev1.ServiceAffinityNone, corev1.ServiceExternalTrafficPolicyCluster, new(corev1.ServiceInternalTrafficPolicyCluster)
		}), settings().ServiceTypes, nil},
		"session affinity": {with(func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }), settings().ServiceTypes,
			[]Problem{{ReasonSessionAffinityNotSupported, "spec.sessionAffinity is ClientIP: MidoNet has no session affinity"}}},
		"node ports": {with(func(s *corev1.Service) {
			s.Spec.Type, s.Spec.Ports[0].NodePort, s.Spec.Ports[2].NodePort = corev1.ServiceTypeNodePort, 30053, 30093
		}), settings().ServiceTypes,
			[]Problem{{ReasonNodePortNotSupported, "node ports 30053, 30093 are not served: MidoNet serves the cluster IP only"}}},
		"external IPs": {with(func(s *corev1.Service) {
			s.Spec.ExternalIPs = []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"}
		}), settings().ServiceTypes,
			[]Problem{{ReasonExternalIPsNotSupported, "spec.externalIPs 203.0.113.1, 203.0.113.2, 203.0.113.3, … are not served: MidoNet serves the cluster IP only"}}},
		"load balancer": {ingress(corev1.LoadBalancerIngress{IP: "203.0.113.1"}, corev1.LoadBalancerIngress{IP: "203.0.113.2", IPMode: new(corev1.LoadBalancerIPModeVIP)}), settings().ServiceTypes,
			[]Problem{{ReasonLoadBalancerAddressNotSupported, "status.loadBalancer.ingress 203.0.113.1, 203.0.113.2 is not served: MidoNet serves the cluster IP only"}}},
		"load balancer of another place": {ingress(corev1.LoadBalancerIngress{Hostname: "lb.example.com"}, corev1.LoadBalancerIngress{IP: "203.0.113.1", IPMode: new(corev1.LoadBalancerIPModeProxy)}),
			settings().ServiceTypes, nil},
		"traffic policies": {with(func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy, s.Spec.InternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal, new(corev1.ServiceInternalTrafficPolicyLocal)
			s.Spec.TrafficDistribution = new(corev1.ServiceTrafficDistributionPreferClose)
		}), settings().ServiceTypes,
			[]Problem{{ReasonTrafficPolicyNotSupported, "spec.externalTrafficPolicy is Local, spec.internalTrafficPolicy is Local, spec.trafficDistribution is PreferClose: " +
				"MidoNet does not choose endpoints by where they are"}}},
		"several endpoints": {nil, settings().ServiceTypes,
			[]Problem{{ReasonManyEndpointsNotSupported, "a port has more than one endpoint: MidoNet sends all connections to one of them, and to another one when that has been deleted"}}},
		"all concurrently": {func(p *pair) {
			p.Service.Spec.SessionAffinity, p.Service.Spec.ExternalIPs = corev1.ServiceAffinityClientIP, []string{"203.0.113.1"}
		}, settings().ServiceTypes, []Problem{
			{ReasonExternalIPsNotSupported, "spec.externalIPs 203.0.113.1 are not served: MidoNet serves the cluster IP only"},
			{ReasonManyEndpointsNotSupported, "a port has more than one endpoint: MidoNet sends all connections to one of them, and to another one when that has been deleted"},
			{ReasonSessionAffinityNotSupported, "spec.sessionAffinity is ClientIP: MidoNet has no session affinity"},
		}},
		"type that is not selected": {with(func(s *corev1.Service) { s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30053 }), []corev1.ServiceType{corev1.ServiceTypeClusterIP},
			[]Problem{{ReasonServiceTypeNotSelected, "type NodePort is not in controllers.translation.serviceTypes: add it there to have the cluster IP served"}}},
		"headless, of a type that is not selected": {with(func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }), nil, nil},
		"external name": {with(func(s *corev1.Service) { s.Spec.Type, s.Spec.ClusterIP = corev1.ServiceTypeExternalName, "" }), nil, nil},
		"not served at all": {with(func(s *corev1.Service) {
			s.Spec.ClusterIP, s.Spec.SessionAffinity = "fd00::1", corev1.ServiceAffinityClientIP
		}), settings().ServiceTypes, []Problem{{ReasonIPv6NotSupported, `spec.clusterIP is "fd00::1": MidoNet takes IPv4 addresses only`}}},
	} {
		t.Run(name, func(t *testing.T) {
			pair := load(t, "endpoints")
			edited(&pair, tc.edit)
			config := settings()
			config.ServiceTypes = tc.types
			result := MidoNet{config}.Service(pair.Service, pair.EndpointSlices, nil)
			expect(t, result.Skipped, tc.want)
			expect(t, names(result), names(Join(Service(pair.Service, config), Endpoints(pair.Service, pair.EndpointSlices, config))))
		})
	}
}

func TestGlobals(t *testing.T) {
	config := settings()
	config.TunnelZoneName = "Second <zone>"
	result := Globals(config)
	zone := fields(t, resources(t, result, "midonet-global.4.tunnel-zone")[0])
	expect(t, zone["name"], any("Second <zone>"))
	expect(t, zone["id"], any("51329ede-9b0f-5923-98ee-bf4ef08af54f")) // the same zone under another name
	for _, translation := range result.Translations {
		if translation.Namespace != "kube-system" || len(translation.OwnerReferences) > 0 {
			t.Errorf("%s/%s has the owners %v", translation.Namespace, translation.Name, translation.OwnerReferences)
		}
	}
}
