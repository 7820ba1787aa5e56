// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
	"groundskeeper.io/groundskeeper/test/plane"
)

// storm knows the objects that there are.
type storm struct {
	*network
	ns       string
	random   *rand.Rand
	made     int
	pods     []string
	services map[string][]string // the EndpointSlices of each
}

// newStorm starts a network with some objects.
func newStorm(t *testing.T, change ...func(*plane.Options)) *storm {
	t.Helper()
	n := newNetwork(t, append(change, hasty(t))...)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &storm{network: n, ns: n.namespace("storm"), random: rand.New(rand.NewPCG(seed, 0)), services: map[string][]string{}}
	for i, name := range stormNodes() {
		n.node(name, fmt.Sprintf("10.1.%d.0/24", i), fmt.Sprintf("192.0.2.%d", i+1))
	}
	for range 20 {
		s.change()
	}
	s.converged()
	return s
}

func stormNodes() []string { return plane.MidoNetHosts() }

// change changes something at random.
func (s *storm) change() {
	s.t.Helper()
	switch s.random.IntN(16) {
	case 0, 1:
		s.addPod()
	case 2:
		if name := s.anyPod(); name != "" {
			s.delete(podOf(s.ns, name))
			s.pods = slices.DeleteFunc(s.pods, func(pod string) bool { return pod == name })
		}
	case 3, 4:
		if name := s.anyPod(); name != "" {
			edit(s.network, podOf(s.ns, name), func(pod *corev1.Pod) { s.address(pod) })
		}
	case 5:
		if name := s.anyPod(); name != "" {
			editStatus(s.network, podOf(s.ns, name), func(pod *corev1.Pod) {
				pod.Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded}[s.random.IntN(2)]
			})
		}
	case 6, 7:
		s.addService()
	case 8:
		if name := s.anyService(); name != "" {
			s.delete(serviceOf(s.ns, name))
			for _, slice := range s.services[name] {
				s.delete(sliceOf(s.ns, slice))
			}
			delete(s.services, name)
		}
	case 9:
		if name := s.anyService(); name != "" {
			edit(s.network, serviceOf(s.ns, name), func(service *corev1.Service) { service.Spec.Ports = s.ports() })
		}
	case 10, 11:
		s.changeSlice()
	case 12:
		edit(s.network, nodeOf(s.anyNode()), func(node *corev1.Node) { s.address(node) })
	case 13:
		s.changeNode()
	case 14:
		s.tamper()
	case 15:
		s.deleteTranslation()
	}
}

func (s *storm) next(prefix string) string { s.made++; return fmt.Sprintf("%s-%d", prefix, s.made) }

func (s *storm) anyNode() string { nodes := stormNodes(); return nodes[s.random.IntN(len(nodes))] }

func (s *storm) anyPod() string {
	if len(s.pods) == 0 {
		return ""
	}
	return s.pods[s.random.IntN(len(s.pods))]
}

func (s *storm) anyService() string {
	if len(s.services) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(s.services))
	return names[s.random.IntN(len(names))]
}

// address gives an object a dedicated MAC address, another one, or none.
func (s *storm) address(object client.Object) {
	if annotations := object.GetAnnotations(); annotations[midonetv1.AnnotationMACAddress] != "" && s.random.IntN(2) == 0 {
		delete(annotations, midonetv1.AnnotationMACAddress)
		object.SetAnnotations(annotations)
		return
	}
	setAnnotation(object, midonetv1.AnnotationMACAddress, fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x",
		s.random.IntN(256), s.random.IntN(256), s.random.IntN(256), s.random.IntN(256)))
}

func (s *storm) addPod() {
	s.t.Helper()
	if len(s.pods) >= 20 {
		return
	}
	name, node := s.next("pod"), s.random.IntN(len(stormNodes()))
	s.pod(s.ns, name, stormNodes()[node], fmt.Sprintf("10.1.%d.%d", node, 10+s.made%200))
	s.pods = append(s.pods, name)
}

// addService makes a Service, at times under a name that it had before, with an EndpointSlice.
func (s *storm) addService() {
	s.t.Helper()
	name := fmt.Sprintf("web-%d", s.random.IntN(8))
	if _, exists := s.services[name]; exists {
		return
	}
	service := s.service(s.ns, name, s.ports()...)
	s.services[name] = nil
	s.addSlice(service)
}

func (s *storm) ports() []corev1.ServicePort {
	ports := []corev1.ServicePort{tcp("http", int32(80+s.random.IntN(3)))}
	if s.random.IntN(2) == 0 {
		ports = append(ports, tcp("https", 443))
	}
	return ports
}

func (s *storm) addSlice(service *corev1.Service) {
	s.t.Helper()
	slice := s.slice(service, s.next(service.Name), s.addresses()...)
	s.services[service.Name] = append(s.services[service.Name], slice.Name)
}

// addresses are some of a few, so that slices share them.
func (s *storm) addresses() []string {
	var addresses []string
	for i := range 5 {
		if s.random.IntN(2) == 0 {
			addresses = append(addresses, fmt.Sprintf("10.1.0.%d", 100+i))
		}
	}
	return addresses
}

// changeSlice makes, changes or deletes an EndpointSlice.
func (s *storm) changeSlice() {
	s.t.Helper()
	name := s.anyService()
	if name == "" {
		return
	}
	own := s.services[name]
	if len(own) == 0 || len(own) < 3 && s.random.IntN(3) == 0 {
		service := serviceOf(s.ns, name)
		edit(s.network, service, func(*corev1.Service) {})
		s.addSlice(service)
		return
	}
	i := s.random.IntN(len(own))
	if s.random.IntN(4) == 0 {
		s.delete(sliceOf(s.ns, own[i]))
		s.services[name] = slices.Delete(own, i, i+1)
		return
	}
	edit(s.network, sliceOf(s.ns, own[i]), func(slice *discoveryv1.EndpointSlice) {
		slice.Endpoints = nil
		for _, address := range s.addresses() {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(s.random.IntN(4) > 0)},
			})
		}
	})
}

// changeNode moves the end of a Node's tunnels, changes its addresses, or makes it again with all its Pods still there.
func (s *storm) changeNode() {
	s.t.Helper()
	i := s.random.IntN(len(stormNodes()))
	node := nodeOf(stormNodes()[i])
	switch s.random.IntN(5) {
	case 0:
		s.delete(node)
		s.node(node.Name, fmt.Sprintf("10.1.%d.0/24", i), fmt.Sprintf("192.0.2.%d", i+1))
	case 1, 2:
		edit(s.network, node, func(node *corev1.Node) {
			setAnnotation(node, midonetv1.AnnotationTunnelEndpointIP, fmt.Sprintf("192.0.2.%d", 10*(i+1)+s.random.IntN(3)))
		})
	default:
		editStatus(s.network, node, func(node *corev1.Node) {
			node.Status.Addresses = append(node.Status.Addresses[:1:1], corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: fmt.Sprintf("203.0.113.%d", s.random.IntN(200))})
		})
	}
}

// tamper deletes something in the backend manually, and what is deleted with it. It may fail: the backend does.
func (s *storm) tamper() {
	s.t.Helper()
	var content []fakemidonet.Item
	s.page(http.MethodGet, "content", nil, &content)
	content = slices.DeleteFunc(content, func(item fakemidonet.Item) bool {
		return !slices.Contains([]string{"Rule", "Chain", "Port", "Route", "Bridge", "Router"}, item.Kind) || item.Body["type"] == "Local"
	})
	if len(content) == 0 {
		return
	}
	victim := content[s.random.IntN(len(content))]
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
	defer cancel()
	_ = s.manually().Delete(ctx, midonet.Ref{Kind: victim.Kind, ID: victim.ID})
}

// deleteTranslation deletes one that is wanted. It may fail: the API server may be down.
func (s *storm) deleteTranslation() {
	s.t.Helper()
	translations, err := s.translations(s.t.Context())
	if err != nil || len(translations) == 0 {
		return
	}
	victim := &translations[s.random.IntN(len(translations))]
	_ = s.c.Delete(s.t.Context(), &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: victim.Namespace, Name: victim.Name}})
}
