// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// Manifests of a route of each kind, with Services of both backends.
const (
	proxyManifest = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: proxy, labels: {team: shop}, annotations: {note: Groundskeeper's}}
spec:
  virtualhost: {fqdn: shop.example.com}
  routes:
  - conditions: [{prefix: /a}]
    services: [{name: us-web, port: 80}, {name: eu-web, port: 80}]
  - conditions: [{prefix: /b}]
    services: [{name: us-web, port: 80, weight: 70}, {name: eu-web, port: 80, weight: 30}]
`
	httpRouteManifest = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: http}
spec:
  parentRefs: [{name: gateway}]
  rules:
  - backendRefs: [{name: us-web, port: 80}, {name: eu-web, port: 80}]
  - backendRefs: [{name: us-web, port: 80, weight: 70}, {name: eu-web, port: 80, weight: 30}]
`
	grpcRouteManifest = `
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: grpc}
spec:
  parentRefs: [{name: gateway}]
  rules:
  - backendRefs: [{name: us-web, port: 80, weight: 3}, {name: eu-web, port: 80}]
`
	tcpRouteManifest = `
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: tcp}
spec:
  parentRefs: [{name: gateway}]
  rules:
  - backendRefs: [{name: us-web, port: 80, weight: 3}, {name: eu-web, port: 80}]
`
	tlsRouteManifest = `
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: tls}
spec:
  hostnames: [shop.example.com]
  parentRefs: [{name: gateway}]
  rules:
  - backendRefs: [{name: us-web, port: 80, weight: 3}, {name: eu-web, port: 80}]
`
	udpRouteManifest = `
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: udp}
spec:
  parentRefs: [{name: gateway}]
  rules:
  - backendRefs: [{name: us-web, port: 80, weight: 3}, {name: eu-web, port: 80}]
`
	ingressRouteManifest = `
apiVersion: contour.heptio.com/v1beta1
kind: IngressRoute
metadata: {name: old}
spec:
  virtualhost: {fqdn: old.example.com}
  routes:
  - match: /a
    services: [{name: us-web, port: 80}, {name: eu-web, port: 80}]
  - match: /b
    services: [{name: us-web, port: 80, weight: 70}, {name: eu-web, port: 80, weight: 30}]
`
)

func TestMaintenance(t *testing.T) {
	t.Parallel()
	d := newDrainPlane(t)
	t.Run("flows", func(t *testing.T) {
		for name, flow := range map[string]func(*shop){
			"every kind":                 (*shop).everyKind,
			"applied meanwhile":          (*shop).appliedMeanwhile,
			"applied by kubectl":         (*shop).appliedByKubectl,
			"one after the other":        (*shop).oneAfterTheOther,
			"sole backend":               (*shop).soleBackend,
			"sole backend is kept":       (*shop).soleBackendIsKept,
			"ServiceImports":             (*shop).serviceImports,
			"blue and green":             (*shop).blueAndGreen,
			"routes come, change and go": (*shop).routesMeanwhile,
			"odd shapes":                 (*shop).oddShapes,
			"mirrors":                    (*shop).mirrors,
			"forced":                     (*shop).forced,
			"fast":                       (*shop).fast,
			"record removed":             (*shop).recordRemoved,
			"record damaged":             (*shop).recordDamaged,
			"refused":                    (*shop).rejected,
			"reach":                      (*shop).reach,
			"labels change":              (*shop).labelsChange,
			"finalizer comes back":       (*shop).finalizerComesBack,
			"deleted in maintenance":     (*shop).deletedInMaintenance,
			"grace period":               (*shop).gracePeriod,
			"unreachable":                (*shop).unreachable,
			"fails over":                 (*shop).failsOver,
			"same cluster":               (*shop).sameCluster,
			"two of three":               (*shop).twoOfThree,
			"its own cluster":            (*shop).ownCluster,
			"plugin of kubectl":          testPlugin,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				flow(d.newShop(t))
			})
		}
	})
	t.Run("kinds come and go", func(t *testing.T) { d.newShop(t).kindsComeAndGo() })
	t.Run("real discoverers", d.realDiscoverers)
	t.Run("killed", func(t *testing.T) { d.newShop(t).killed() })
	t.Run("finalizers removed", d.finalizersRemoved)
}

// everyKind drains and restores a route of each kind that a user applied.
func (s *shop) everyKind() {
	manifests := []string{proxyManifest, httpRouteManifest, grpcRouteManifest, tcpRouteManifest, tlsRouteManifest, udpRouteManifest, ingressRouteManifest}
	drained := []string{"[0 1][0 30]", "[0 1][0 30]", "[0 1]", "[0 1]", "[0 1]", "[0 1]", "[0 1][0 30]"}
	var before []*unstructured.Unstructured
	for _, manifest := range manifests {
		before = append(before, s.read(s.apply("user", manifest)))
	}
	s.drain(s.us)
	for i, route := range before {
		s.weights(route, drained[i])
	}
	s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		got := status.Routes
		return got.Matching == 7 && got.Drained == 7 && got.WithoutAlternative == nil && got.DrainedTime != nil
	})
	s.enable(s.us)
	for _, route := range before {
		s.unchanged(route)
	}
	s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		return status.Routes.Matching == 7 && status.Routes.Drained == 0 && status.Routes.DrainedTime == nil
	})
}

// appliedMeanwhile: a user applies the same manifest during maintenance and after it, without a conflict, and takes a
// field out that he had.
func (s *shop) appliedMeanwhile() {
	for _, manifest := range []string{proxyManifest, httpRouteManifest, ingressRouteManifest} {
		s.apply("user", manifest)
	}
	proxy := s.parse(proxyManifest)
	s.drain(s.us)
	for _, manifest := range []string{proxyManifest, httpRouteManifest, ingressRouteManifest} {
		route := s.apply("user", manifest)
		s.weights(route, "[0 1][0 30]")
	}
	changed := strings.Replace(proxyManifest, "weight: 70", "weight: 60", 1)
	s.apply("user", changed)
	s.weights(proxy, "[0 1][0 30]")
	s.enable(s.us)
	s.weights(proxy, "[- -][60 30]")
	s.apply("user", strings.Replace(changed, ", annotations: {note: Groundskeeper's}", "", 1))
	got := s.read(proxy)
	if annotations := got.GetAnnotations(); len(annotations) > 0 {
		s.Errorf("annotations: %v", annotations)
	}
	for _, entry := range got.GetManagedFields() {
		if entry.Manager == "discovery-maintenance" {
			s.Errorf("maintenance still owns %s", entry.FieldsV1)
		}
	}
}

// appliedByKubectl: the same with the client-side apply of kubectl.
func (s *shop) appliedByKubectl() {
	file := write(s.T, proxyManifest)
	s.kubectl(s.T, "apply", "-n", s.namespace, "-f", file)
	before := s.read(s.parse(proxyManifest))
	s.drain(s.us)
	s.weights(before, "[0 1][0 30]")
	s.enable(s.us)
	s.unchanged(before)
	s.drain(s.us)
	s.kubectl(s.T, "apply", "-n", s.namespace, "-f", file)
	s.weights(before, "[0 1][0 30]")
	s.enable(s.us)
	s.weights(before, "[- -][70 30]")
}

// oneAfterTheOther: two backends are released in either order.
func (s *shop) oneAfterTheOther() {
	proxy, route := s.read(s.apply("user", proxyManifest)), s.read(s.apply("user", httpRouteManifest))
	third := s.backend("gimbal-discovery", "as")
	s.service(third, "as-web")
	all := s.read(s.apply("user", strings.ReplaceAll(strings.Replace(httpRouteManifest, "name: http", "name: three", 1), "{name: eu-web, port: 80", "{name: as-web, port: 80, weight: 5}, {name: eu-web, port: 80")))
	for _, order := range [][]*gimbalv1.DiscoveryBackend{{s.us, s.eu}, {s.eu, s.us}} {
		s.drain(s.us)
		s.weights(all, "[0 5 1][0 5 30]")
		s.drain(s.eu)
		s.weights(all, "[0 5 0][0 5 0]")
		s.weights(route, "[0 0][0 0]")
		s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
			without := status.Routes.WithoutAlternative
			return without != nil && without.Count == 2 && status.EndpointsDrained
		})
		s.is(s.us, "True/Drained")
		s.enable(order[0])
		s.is(order[1], "True/Drained")
		if order[0] == s.us {
			s.weights(proxy, "[1 0][70 0]")
		} else {
			s.weights(proxy, "[0 1][0 30]")
		}
		s.enable(order[1])
		s.unchanged(proxy)
		s.unchanged(route)
		s.unchanged(all)
	}
}

// slice makes an EndpointSlice with an endpoint that is ready and one that is not.
func (s *shop) slice(backend *gimbalv1.DiscoveryBackend, service string) *discoveryv1.EndpointSlice {
	s.Helper()
	return s.endpoints(backend, service, service+"-1", true, false)
}

// endpoints makes an EndpointSlice as a discoverer of Groundskeeper would, with endpoints that are ready or not.
func (s *shop) endpoints(backend *gimbalv1.DiscoveryBackend, service, name string, ready ...bool) *discoveryv1.EndpointSlice {
	s.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: map[string]string{
			gimbalv1.LabelBackend: backend.Name, discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: "groundskeeper-discoverer",
			"app.kubernetes.io/managed-by": "groundskeeper-discoverer",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("a"), Port: new(int32(8080))}, {Name: new("b"), Port: new(int32(8081))}},
	}
	for i, is := range ready {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.1.2.%d", 3+i)},
			Conditions: discoveryv1.EndpointConditions{Ready: new(is), Serving: new(is), Terminating: new(false)},
		})
	}
	s.create(slice)
	return slice
}

// ready returns the ready conditions of a slice at present.
func (s *shop) ready(slice *discoveryv1.EndpointSlice) string {
	s.Helper()
	if err := s.c.Get(s.Context(), client.ObjectKeyFromObject(slice), slice); err != nil {
		s.Fatal(err)
	}
	var all []string
	for _, endpoint := range slice.Endpoints {
		all = append(all, fmt.Sprint(*endpoint.Conditions.Ready))
	}
	return strings.Join(all, ",")
}

// Manifests of routes that only one backend serves.
const (
	soleProxyManifest = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: sole}
spec:
  virtualhost: {fqdn: sole.example.com}
  routes:
  - services: [{name: us-web, port: 80}]
`
	soleRouteManifest = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: sole}
spec:
  rules:
  - backendRefs: [{name: us-web, port: 80}]
`
	soleIngressManifest = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: sole}
spec:
  defaultBackend: {service: {name: us-web, port: {number: 80}}}
`
)

// soleBackend: where weights are of no help the endpoints are withheld, last, and are ready again first.
func (s *shop) soleBackend() {
	slice := s.slice(s.us, "us-web")
	proxy, route, ingress := s.read(s.apply("user", soleProxyManifest)), s.read(s.apply("user", soleRouteManifest)), s.read(s.apply("user", soleIngressManifest))
	eventually(s.T, func(ctx context.Context) error {
		if err := s.c.Get(ctx, client.ObjectKeyFromObject(s.us), s.us); err != nil {
			return err
		}
		if routes := s.us.Status.Routes; routes == nil || routes.WithoutAlternative == nil || routes.WithoutAlternative.Count != 3 {
			return fmt.Errorf("routes while Enabled: %+v", routes)
		}
		return nil
	})
	if len(s.us.Status.Errors) > 0 {
		s.Errorf("errors while Enabled: %+v", s.us.Status.Errors)
	}
	s.drain(s.us)
	s.weights(proxy, "[-]")
	s.weights(route, "[0]")
	if got := s.ready(slice); got != "false,false" || !s.us.Status.EndpointsDrained || s.us.Status.Routes.Drained != 3 {
		s.Errorf("ready: %s, status %+v", got, s.us.Status)
	}
	var types []string
	for _, entry := range s.us.Status.Errors {
		types = append(types, entry.Type)
	}
	if !slices.Equal(types, []string{gimbalv1.ErrorNoAlternative, gimbalv1.ErrorNoAlternative, gimbalv1.ErrorNoAlternative}) {
		s.Errorf("errors: %+v", s.us.Status.Errors)
	}
	// The route gets its weight when the endpoint is ready, and not before.
	events, err := s.c.Watch(s.Context(), listOf(route), client.InNamespace(s.namespace), since(s.read(route).GetResourceVersion()))
	if err != nil {
		s.Fatal(err)
	}
	defer events.Stop()
	s.set(s.us, gimbalv1.ClusterEnabled)
	select {
	case _, ok := <-events.ResultChan():
		if !ok {
			s.Fatal("the watch ended")
		}
	case <-time.After(time.Minute):
		s.Fatal("the weights do not come back")
	}
	if got := s.ready(slice); got != "true,false" {
		s.Errorf("when the weights came back the endpoints were %s", got)
	}
	s.is(s.us, "False/Enabled")
	if s.us.Status.EndpointsDrained || len(s.us.Status.Errors) > 0 {
		s.Errorf("status: %+v", s.us.Status)
	}
	for _, each := range []*unstructured.Unstructured{proxy, route, ingress} {
		s.unchanged(each)
	}
}

// soleBackendIsKept: with KeepSole such routes continue, and the change of mind counts immediately.
func (s *shop) soleBackendIsKept() {
	slice := s.slice(s.us, "us-web")
	proxy, route := s.read(s.apply("user", soleProxyManifest)), s.read(s.apply("user", soleRouteManifest))
	policy := func(policy gimbalv1.DrainPolicy) {
		if err := s.c.Patch(s.Context(), s.us, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"cluster":{"drainPolicy":%q}}`, policy))); err != nil {
			s.Fatal(err)
		}
	}
	policy(gimbalv1.DrainKeepSole)
	s.drain(s.us)
	s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		return s.ready(slice) == "true,false" && !status.EndpointsDrained && status.Routes.Drained == 0 && len(status.Errors) == 2
	})
	s.unchanged(proxy)
	s.unchanged(route)
	policy(gimbalv1.DrainStrict)
	s.is(s.us, "True/Drained")
	s.weights(route, "[0]")
	if got := s.ready(slice); got != "false,false" {
		s.Errorf("ready under Strict: %s", got)
	}
	policy(gimbalv1.DrainKeepSole)
	s.is(s.us, "True/Drained")
	eventually(s.T, func(context.Context) error {
		if got := s.ready(slice); got != "true,false" {
			return errors.New("ready under KeepSole again: " + got)
		}
		return nil
	})
	s.unchanged(route)
	s.enable(s.us)
	s.unchanged(proxy)
	s.unchanged(route)
}

// serviceImports: a ServiceImport with the copied endpoints of a backend behind it is drained as a Service is, and its endpoints are
// withheld where it has no alternative.
func (s *shop) serviceImports() {
	slice := s.endpoints(s.us, "us-web", "us-web-imported", true)
	slice.Labels["multicluster.kubernetes.io/service-name"] = "us-web"
	if err := s.c.Update(s.Context(), slice); err != nil {
		s.Fatal(err)
	}
	s.apply("mcs", "apiVersion: multicluster.x-k8s.io/v1beta1\nkind: ServiceImport\nmetadata: {name: us-web}\nspec: {type: ClusterSetIP, ports: [{name: a, port: 80}]}\n")
	const manifest = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s}\nspec: {rules: [{backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: us-web, port: 80, weight: 7}%s]}]}\n"
	both := s.read(s.apply("user", fmt.Sprintf(manifest, "both", ", {name: eu-web, port: 80, weight: 3}")))
	sole := s.read(s.apply("user", fmt.Sprintf(manifest, "sole", "")))
	s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		got := status.Routes
		return got.Matching == 2 && got.WithoutAlternative != nil && got.WithoutAlternative.Count == 1
	})
	s.drain(s.us)
	s.weights(both, "[0 3]")
	s.weights(sole, "[0]")
	if got := s.ready(slice); got != "false" {
		s.Errorf("the endpoints of a ServiceImport without an alternative are ready: %s", got)
	}
	s.enable(s.us)
	s.unchanged(both)
	s.unchanged(sole)
	if got := s.ready(slice); got != "true" {
		s.Errorf("afterwards the endpoints are ready: %s", got)
	}
}

// blueAndGreen: who has no weight by the user's spec gets none, even when no other client is left.
func (s *shop) blueAndGreen() {
	manifest := strings.NewReplacer("weight: 70", "weight: 100", "weight: 30", "weight: 0").Replace
	proxy, route := s.read(s.apply("user", manifest(proxyManifest))), s.read(s.apply("user", manifest(httpRouteManifest)))
	s.drain(s.us)
	s.weights(proxy, "[0 1][100 0]")
	s.weights(route, "[0 1][0 0]")
	s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		without := status.Routes.WithoutAlternative
		return without != nil && without.Count == 2 && status.EndpointsDrained
	})
	s.enable(s.us)
	s.unchanged(proxy)
	s.unchanged(route)
}
