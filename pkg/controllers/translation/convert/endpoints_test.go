// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func TestEndpointsTranslations(t *testing.T) {
	const a, b = "-10.96.0.10-10.1.0.7-", "-10.96.0.10-10.1.1.7-"
	const dns, dnsTCP, metrics = "endpoints-port.4.kube-dns-dns", "endpoints-port.4.kube-dns-dns-tcp", "endpoints-port.4.kube-dns-metrics"
	first := []string{dns + a + "53-udp", dnsTCP + a + "53-tcp", metrics + a + "9153-tcp"}
	whole := []string{first[0], dns + b + "53-udp", first[1], dnsTCP + b + "53-tcp", first[2], metrics + b + "9153-tcp"}
	others := []string{whole[0], whole[2], whole[3], whole[4], whole[5]} // without the first port of the second endpoint
	second := []string{whole[1], whole[3], whole[5]}
	good, starting := discoveryv1.EndpointConditions{Ready: new(true)}, discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(false)}
	ending := discoveryv1.EndpointConditions{Ready: new(false), Terminating: new(true)}
	dying := discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
	dead := discoveryv1.EndpointConditions{Ready: new(false), Serving: new(false), Terminating: new(true)}
	ready := func(value *bool) func(*pair) {
		return func(p *pair) { p.EndpointSlices[1].Endpoints[0].Conditions.Ready = value }
	}
	for name, test := range map[string]struct {
		edit     func(*pair)
		want     []string
		problems []string
	}{
		"unchanged": {nil, whole, nil},
		"no slices": {func(p *pair) { p.EndpointSlices = nil }, nil, nil},
		"not ready": {ready(new(false)), first, nil},
		// The API defines nil as ready.
		"ready is not reported": {ready(nil), whole, nil},
		"serving while terminating": {func(p *pair) {
			p.EndpointSlices[1].Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
		}, first, nil},
		"all terminating and serving": {conditioned(dying, dying), whole, nil},
		"one terminating and serving": {conditioned(starting, dying), second, nil},
		"one ready, one terminating":  {conditioned(good, dying), first, nil},
		"serving is not reported":     {conditioned(ending, starting), first, nil},
		"terminating and not serving": {conditioned(dead, dead), nil, nil},
		"serving and not yet ready":   {conditioned(starting, starting), nil, nil},
		"one port has a ready endpoint": {func(p *pair) {
			conditioned(good, dying)(p)
			p.EndpointSlices[0].Ports = p.EndpointSlices[0].Ports[1:]
		}, []string{second[0], first[1], first[2]}, nil},
		"ready in one slice, terminating in another": {func(p *pair) {
			p.EndpointSlices = append(p.EndpointSlices, p.EndpointSlices[0].DeepCopy())
			conditioned(dying, good, good)(p)
		}, whole, nil},
		"none ready has a good address": {func(p *pair) {
			conditioned(good, dying)(p)
			p.EndpointSlices[0].Endpoints[0].Addresses = []string{"10.1.1"}
		}, second, []string{"InvalidAddress"}},
		"in two slices":    {func(p *pair) { p.EndpointSlices = append(p.EndpointSlices, p.EndpointSlices[0].DeepCopy()) }, whole, nil},
		"two in one slice": {func(p *pair) { moved(p) }, whole, nil},
		"slice of IPv6": {func(p *pair) {
			p.EndpointSlices[1].AddressType = discoveryv1.AddressTypeIPv6
			p.EndpointSlices[1].Endpoints[0].Addresses = []string{"fd00::7"}
		}, first, nil},
		"slice of names": {func(p *pair) {
			p.EndpointSlices[1].AddressType = discoveryv1.AddressTypeFQDN
			p.EndpointSlices[1].Endpoints[0].Addresses = []string{"a.example.com"}
		}, first, nil},
		"address is broken":   {func(p *pair) { p.EndpointSlices[1].Endpoints[0].Addresses = []string{"10.1.1"} }, first, []string{"InvalidAddress"}},
		"no address":          {func(p *pair) { p.EndpointSlices[1].Endpoints[0].Addresses = nil }, first, nil},
		"more addresses":      {func(p *pair) { p.EndpointSlices[1].Endpoints[0].Addresses = []string{"10.1.1.7", "10.1.1.8"} }, whole, nil},
		"port of no number":   {func(p *pair) { p.EndpointSlices[1].Ports[0].Port = nil }, others, nil},
		"port of other name":  {func(p *pair) { p.EndpointSlices[1].Ports[0].Name = new("other") }, others, nil},
		"port of no name":     {func(p *pair) { p.EndpointSlices[1].Ports[0].Name = nil }, others, nil},
		"port of no protocol": {func(p *pair) { p.EndpointSlices[1].Ports[1].Protocol = nil }, whole, nil},
		"port of other protocol": {func(p *pair) { p.EndpointSlices[1].Ports[0].Protocol = new(corev1.ProtocolTCP) },
			others, nil},
		"service without the port": {func(p *pair) { p.Service.Spec.Ports = p.Service.Spec.Ports[1:] }, whole[2:], nil},
		"service of SCTP": {func(p *pair) {
			p.Service.Spec.Ports[0].Protocol = corev1.ProtocolSCTP
			for _, slice := range p.EndpointSlices {
				slice.Ports[0].Protocol = new(corev1.ProtocolSCTP)
			}
		}, whole[2:], nil},
		"service is headless": {func(p *pair) { p.Service.Spec.ClusterIP = "None" }, nil, nil},
		"service of IPv6":     {func(p *pair) { p.Service.Spec.ClusterIP = "fd00::a" }, nil, nil},
		"service of two families": {func(p *pair) {
			p.Service.Spec.ClusterIP, p.Service.Spec.ClusterIPs = "fd00::a", []string{"fd00::a", "10.96.0.10"}
		}, whole, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pair := load(t, "endpoints")
			edited(&pair, test.edit)
			result := Endpoints(pair.Service, pair.EndpointSlices, settings())
			expect(t, names(result), test.want)
			expect(t, problems(result), test.problems)
		})
	}
}

// conditioned sets the conditions of the endpoints of each slice.
func conditioned(conditions ...discoveryv1.EndpointConditions) func(*pair) {
	return func(p *pair) {
		for i := range conditions {
			for j := range p.EndpointSlices[i].Endpoints {
				p.EndpointSlices[i].Endpoints[j].Conditions = conditions[i]
			}
		}
	}
}

// moved moves all endpoints into the first slice, as Kubernetes does when it rebalances.
func moved(p *pair) {
	for _, slice := range p.EndpointSlices[1:] {
		p.EndpointSlices[0].Endpoints = append(p.EndpointSlices[0].Endpoints, slice.Endpoints...)
		slice.Endpoints = nil
	}
}

// TestEndpointsOwnTarget checks that each chain translates to its own endpoint. midonet-kube-controllers gives all of them the
// target of the last one.
func TestEndpointsOwnTarget(t *testing.T) {
	pair := load(t, "endpoints")
	moved(&pair)
	result := Endpoints(pair.Service, pair.EndpointSlices, settings())
	for _, address := range []string{"10.1.0.7", "10.1.1.7"} {
		for prefix, number := range map[string]float64{"dns-10.96.0.10-": 53, "dns-tcp-10.96.0.10-": 53, "metrics-10.96.0.10-": 9153} {
			made := resources(t, result, "endpoints-port.4.kube-dns-"+prefix+address)
			target := fields(t, made[2])["natTargets"].([]any)[0].(map[string]any)
			expect(t, target, map[string]any{"addressFrom": address, "addressTo": address, "portFrom": number, "portTo": number})
			expect(t, fields(t, made[3])["nwSrcAddress"], any(address))
		}
	}
}

// TestEndpointsTargetPort checks that the target is the port of the slice, which can differ from that of the Service.
func TestEndpointsTargetPort(t *testing.T) {
	pair := load(t, "endpoints")
	for _, slice := range pair.EndpointSlices {
		slice.Ports[2].Port = new(int32(19153))
	}
	made := resources(t, Endpoints(pair.Service, pair.EndpointSlices, settings()), "endpoints-port.4.kube-dns-metrics-10.96.0.10-10.1.0.7-19153-tcp")
	target := fields(t, made[2])["natTargets"].([]any)[0].(map[string]any)
	expect(t, target["portFrom"], any(float64(19153)))
	expect(t, made[1].Parent, NewIDs("midonetkube").ForKey("ServicePort", "kube-system/kube-dns/metrics").String())
}

// TestEndpointsJumpFromServiceChains checks that each jump starts at a chain that Service creates.
func TestEndpointsJumpFromServiceChains(t *testing.T) {
	for name, edit := range map[string]func(*pair){
		"named": nil,
		"one without a name": func(p *pair) {
			p.Service.Spec.Ports = p.Service.Spec.Ports[:1]
			p.Service.Spec.Ports[0].Name = ""
			for _, slice := range p.EndpointSlices {
				slice.Ports = slice.Ports[:1]
				slice.Ports[0].Name = nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pair := load(t, "endpoints")
			edited(&pair, edit)
			chains := map[string]bool{}
			for _, made := range resources(t, Service(pair.Service, settings()), "service.4.") {
				chains[fields(t, made)["id"].(string)] = true
			}
			result := Endpoints(pair.Service, pair.EndpointSlices, settings())
			if len(result.Translations) == 0 {
				t.Fatal("no endpoints")
			}
			for _, translation := range result.Translations {
				if !chains[translation.Resources[1].Parent] {
					t.Errorf("%s jumps from %s, which is not a chain of the Service", translation.Name, translation.Resources[1].Parent)
				}
			}
		})
	}
}
