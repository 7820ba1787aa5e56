// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestServiceTranslations(t *testing.T) {
	whole := []string{
		"service-port.4.kube-system-kube-dns-dns-10.96.0.10-17-53", "service-port.4.kube-system-kube-dns-dns-tcp-10.96.0.10-6-53",
		"service-port.4.kube-system-kube-dns-metrics-10.96.0.10-6-9153", "service.4.kube-dns",
	}
	typed := func(wanted corev1.ServiceType) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Type = wanted }
	}
	for name, test := range map[string]struct {
		edit     func(*corev1.Service)
		want     []string
		problems []string
	}{
		"unchanged":     {nil, whole, nil},
		"node port":     {typed(corev1.ServiceTypeNodePort), whole, nil},
		"load balancer": {typed(corev1.ServiceTypeLoadBalancer), whole, nil},
		"external name": {typed(corev1.ServiceTypeExternalName), nil, nil},
		"headless":      {func(s *corev1.Service) { s.Spec.ClusterIP = "None" }, nil, nil},
		"no address":    {func(s *corev1.Service) { s.Spec.ClusterIP = "" }, nil, nil},
		"no ports":      {func(s *corev1.Service) { s.Spec.Ports = nil }, nil, nil},

		"IPv6":       {func(s *corev1.Service) { s.Spec.ClusterIP = "fd00::a" }, nil, []string{"IPv6NotSupported"}},
		"IPv6 alone": {func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "fd00::a", []string{"fd00::a"} }, nil, []string{"IPv6NotSupported"}},
		"IPv6 first": {func(s *corev1.Service) {
			s.Spec.ClusterIP, s.Spec.ClusterIPs = "fd00::a", []string{"fd00::a", "10.96.0.10"}
		}, whole, nil},
		"IPv6 second":       {func(s *corev1.Service) { s.Spec.ClusterIPs = []string{"10.96.0.10", "fd00::a"} }, whole, nil},
		"headless, IPv6":    {func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "None", []string{"None"} }, nil, nil},
		"address is broken": {func(s *corev1.Service) { s.Spec.ClusterIP = "10.96.0" }, nil, []string{"InvalidAddress"}},

		"one port of SCTP":  {func(s *corev1.Service) { s.Spec.Ports[1].Protocol = corev1.ProtocolSCTP }, []string{whole[0], whole[2], whole[3]}, []string{"ProtocolNotSupported"}},
		"SCTP alone":        {func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 1, Protocol: corev1.ProtocolSCTP}} }, nil, []string{"ProtocolNotSupported"}},
		"port of no name":   {func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1]; s.Spec.Ports[0].Name = "" }, []string{"service-port.4.kube-system-kube-dns--10.96.0.10-17-53", "service.4.kube-dns"}, nil},
		"another node port": {func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30053 }, whole, nil},
	} {
		t.Run(name, func(t *testing.T) {
			result := Service(edited(load(t, "service").Service, test.edit), settings())
			expect(t, names(result), test.want)
			expect(t, problems(result), test.problems)
		})
	}
}

func TestServiceTypes(t *testing.T) {
	for name, test := range map[string]struct {
		types []corev1.ServiceType
		typed corev1.ServiceType
		want  int
	}{
		"as the original": {[]corev1.ServiceType{corev1.ServiceTypeClusterIP}, corev1.ServiceTypeClusterIP, 4},
		"not configured":  {[]corev1.ServiceType{corev1.ServiceTypeClusterIP}, corev1.ServiceTypeNodePort, 0},
		"none":            {nil, corev1.ServiceTypeClusterIP, 0},
	} {
		t.Run(name, func(t *testing.T) {
			config := settings()
			config.ServiceTypes = test.types
			pair := load(t, "endpoints")
			pair.Service.Spec.Type = test.typed
			expect(t, len(Service(pair.Service, config).Translations), test.want)
			if endpoints := Endpoints(pair.Service, pair.EndpointSlices, config); (len(endpoints.Translations) > 0) != (test.want > 0) {
				t.Errorf("the endpoints make %q", names(endpoints))
			}
		})
	}
}

// TestServiceChange keeps the chains, and the endpoints that jump from them, when an address or a port changes, and
// makes new rules.
func TestServiceChange(t *testing.T) {
	before := Service(load(t, "service").Service, settings())
	for name, edit := range map[string]func(*corev1.Service){
		"address":  func(s *corev1.Service) { s.Spec.ClusterIP = "10.96.0.11" },
		"port":     func(s *corev1.Service) { s.Spec.Ports[0].Port = 54 },
		"protocol": func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolTCP },
	} {
		t.Run(name, func(t *testing.T) {
			after := Service(edited(load(t, "service").Service, edit), settings())
			expect(t, resources(t, after, "service.4."), resources(t, before, "service.4."))
			const prefix = "service-port.4.kube-system-kube-dns-dns-1"
			var old, changed = resources(t, before, prefix)[0], resources(t, after, prefix)[0]
			if fields(t, old)["id"] == fields(t, changed)["id"] {
				t.Errorf("the rule is the same, and MidoNet cannot change it: %s", changed.Body)
			}
		})
	}
}

// TestServiceChains stand in the order of the ports, and a port without a name has an empty last part.
func TestServiceChains(t *testing.T) {
	service := edited(load(t, "service").Service, func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{s.Spec.Ports[2], s.Spec.Ports[0]}
		s.Spec.Ports[1].Name = ""
	})
	result := Service(service, settings())
	chains := resources(t, result, "service.4.kube-dns")
	expect(t, len(chains), 2)
	expect(t, fields(t, chains[0])["name"], any("KUBE-SVC-kube-system/kube-dns/metrics"))
	expect(t, fields(t, chains[1])["name"], any("KUBE-SVC-kube-system/kube-dns/"))
	expect(t, fields(t, chains[1])["id"], any(NewIDs("midonetkube").ForKey("ServicePort", "kube-system/kube-dns/").String()))
}
