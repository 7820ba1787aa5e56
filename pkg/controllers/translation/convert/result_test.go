// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// TestDeterministic converts the same objects with their lists in another order: the result is the same byte for byte.
func TestDeterministic(t *testing.T) {
	convert := func(random *rand.Rand) string {
		node, pod, service := load(t, "node"), load(t, "pod"), load(t, "endpoints")
		node.Node.Status.Addresses = append(node.Node.Status.Addresses,
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::1"}, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "fd00::2"},
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.168.10.12"})
		service.EndpointSlices = append(service.EndpointSlices, service.EndpointSlices[0].DeepCopy())
		moved(&service)
		if random != nil {
			shuffle(random, node.Node.Status.Addresses)
			shuffle(random, service.EndpointSlices)
			for _, slice := range service.EndpointSlices {
				shuffle(random, slice.Endpoints)
				shuffle(random, slice.Ports)
			}
		}
		results := []Result{
			Globals(settings()), Node(node.Node, settings()), Pod(pod.Pod, pod.Node, settings()),
			Service(service.Service, settings()), Endpoints(service.Service, service.EndpointSlices, settings()),
		}
		encoded, err := json.Marshal(results)
		if err != nil {
			t.Fatal(err)
		}
		if random != nil {
			shuffle(random, results)
		}
		joined, err := json.Marshal(Join(results...))
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded) + string(joined)
	}
	want := convert(nil)
	for seed := range uint64(50) {
		if got := convert(rand.New(rand.NewPCG(seed, 0))); got != want {
			t.Fatalf("seed %d: %s\nis not\n%s", seed, got, want)
		}
	}
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// TestConvertDoesNotModifyObjects guards the cache that the objects are from.
func TestConvertDoesNotModifyObjects(t *testing.T) {
	node, pod, service := load(t, "node"), load(t, "pod"), load(t, "endpoints")
	config := settings()
	node.Node.Spec.PodCIDRs = append(make([]string, 0, 8), "10.1.0.0/24")
	before := []any{node.Node.DeepCopy(), pod.Pod.DeepCopy(), pod.Node.DeepCopy(), service.Service.DeepCopy(), service.EndpointSlices[0].DeepCopy()}
	Join(Node(node.Node, config), Pod(pod.Pod, pod.Node, config), Service(service.Service, config),
		Endpoints(service.Service, service.EndpointSlices, config))
	expect(t, []any{node.Node, pod.Pod, pod.Node, service.Service, service.EndpointSlices[0]}, before)
	expect(t, config, settings())
}

func TestJoin(t *testing.T) {
	waiting := problem(ReasonNodeMissing, "node %s is not known", "a")
	skipped := *problem(ReasonIPv6NotSupported, "x")
	translation := Owner{}.Translation
	got := Join(
		Result{Translations: append(Result{}.Translations, translation("B", "b")), Skipped: []Problem{skipped}},
		Result{Waiting: waiting},
		Result{Translations: append(Result{}.Translations, translation("A", "a")), Skipped: []Problem{skipped}, Waiting: problem(ReasonHostIDMissing, "y")},
	)
	expect(t, names(got), []string{"a.4.a", "b.4.b"})
	expect(t, got.Skipped, []Problem{skipped})
	expect(t, got.Waiting, waiting)
	expect(t, Join(), Result{})
}

// TestProblemsAreShort keeps messages within what an event takes, 1024 bytes, whatever a field holds.
func TestProblemsAreShort(t *testing.T) {
	long := strings.Repeat("\xff", 100000)
	for name, edit := range map[string]func(*corev1.Node){
		"host-id":         func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationHostID] = long },
		"podCIDR":         func(n *corev1.Node) { n.Spec.PodCIDR = long },
		"MAC address":     func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationMACAddress] = long },
		"tunnel zone":     func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationTunnelZoneID] = long },
		"tunnel endpoint": func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationTunnelEndpointIP] = long },
		"zone of IPv6":    func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationTunnelEndpointIP] = "fe80::1%" + long },
		"address":         func(n *corev1.Node) { n.Status.Addresses[1].Address = long },
	} {
		t.Run(name, func(t *testing.T) {
			result := Node(edited(load(t, "node").Node, edit), settings())
			all := result.Skipped
			if result.Waiting != nil {
				all = append(all, *result.Waiting)
			}
			expect(t, len(all), 1)
			if message := all[0].Message; len(message) > 1024 || !utf8.ValidString(message) {
				t.Errorf("%d bytes: %.200s", len(message), message)
			}
		})
	}
}

// BenchmarkEndpoints converts a Service of three ports with 100 endpoints: 300 Translations.
func BenchmarkEndpoints(b *testing.B) {
	pair := load(b, "endpoints")
	pair.EndpointSlices = pair.EndpointSlices[:1]
	slice := pair.EndpointSlices[0]
	slice.Endpoints = nil
	for i := range 100 {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprint("10.1.2.", i)}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if made := len(Endpoints(pair.Service, pair.EndpointSlices, settings()).Translations); made != 300 {
			b.Fatal(made)
		}
	}
}

// BenchmarkConvert converts one object of each kind.
func BenchmarkConvert(b *testing.B) {
	node, pod, service := load(b, "node").Node, load(b, "pod").Pod, load(b, "service").Service
	for name, convert := range map[string]func() Result{
		"node":    func() Result { return Node(node, settings()) },
		"pod":     func() Result { return Pod(pod, node, settings()) },
		"service": func() Result { return Service(service, settings()) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(convert().Translations) == 0 {
					b.Fatal("nothing is made of it")
				}
			}
		})
	}
}

func TestNote(t *testing.T) {
	for name, test := range map[string]struct{ message, want string }{
		"short":       {"one thing", "one thing"},
		"two lines":   {"one\ntwo", "one; two"},
		"too long":    {strings.Repeat("x", 2000), strings.Repeat("x", 1021) + "…"},
		"a broken ü":  {strings.Repeat("x", 1020) + strings.Repeat("ü", 10), strings.Repeat("x", 1020) + "…"},
		"just enough": {strings.Repeat("x", 1024), strings.Repeat("x", 1024)},
	} {
		t.Run(name, func(t *testing.T) { expect(t, Problem{Message: test.message}.Note(), test.want) })
	}
}
