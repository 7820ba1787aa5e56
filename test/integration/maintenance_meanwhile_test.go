// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// listOf returns an empty list of the kind of a route.
func listOf(route *unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	kind := route.GroupVersionKind()
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	return list
}

// rules changes the rules of a route in place.
func rules(route *unstructured.Unstructured, field string, how func([]any) []any) {
	found, _, _ := unstructured.NestedSlice(route.Object, "spec", field)
	_ = unstructured.SetNestedSlice(route.Object, how(found), "spec", field)
}

// weigh sets the weight of a reference in a rule; a negative one takes it away.
func weigh(references string, rule, reference int, weight int64) func([]any) []any {
	return func(rules []any) []any {
		list := rules[rule].(map[string]any)[references].([]any)
		if fields := list[reference].(map[string]any); weight < 0 {
			delete(fields, "weight")
		} else {
			fields["weight"] = weight
		}
		return rules
	}
}

// routesMeanwhile: in maintenance a new route is drained, an edit is what is restored, and a route that is being deleted has been
// deleted.
func (s *shop) routesMeanwhile() {
	proxy, absent := s.apply("user", proxyManifest), s.apply("user", tcpRouteManifest)
	s.drain(s.us)
	route := s.apply("user", httpRouteManifest)
	s.weights(route, "[0 1][0 30]")
	s.edit(proxy, func(proxy *unstructured.Unstructured) {
		rules(proxy, "routes", weigh("services", 0, 0, 5))
		rules(proxy, "routes", weigh("services", 0, 1, 6))
		rules(proxy, "routes", weigh("services", 1, 1, 40))
	})
	s.weights(proxy, "[0 6][0 40]")
	if err := s.c.Delete(s.Context(), absent); err != nil {
		s.Fatal(err)
	}
	eventually(s.T, func(ctx context.Context) error {
		if err := s.c.Get(ctx, client.ObjectKeyFromObject(s.us), s.us); err != nil {
			return err
		}
		if routes := s.us.Status.Routes; routes.Matching != 2 || routes.Drained != 2 {
			return fmt.Errorf("routes: %+v", routes)
		}
		return nil
	})
	s.enable(s.us)
	s.weights(proxy, "[5 6][70 40]")
	s.weights(route, "[1 1][70 30]")
	if annotations := s.read(proxy).GetAnnotations(); len(annotations) != 1 {
		s.Errorf("annotations: %v", annotations)
	}
}

// oddShapes: the same Service twice in a rule, several ports, another namespace, rules that move, a tcpproxy.
func (s *shop) oddShapes() {
	other := s.newNamespace()
	s.create(&corev1.Service{ // without a backend
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "plain"},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	s.create(&discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.namespace, Name: "plain-0", Labels: map[string]string{discoveryv1.LabelServiceName: "plain"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.2.9"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
	})
	proxy := s.read(s.apply("user", `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: odd}
spec:
  virtualhost: {fqdn: odd.example.com, tls: {passthrough: true}}
  tcpproxy:
    services: [{name: us-web, port: 81}, {name: eu-web, port: 81}]
  routes:
  - conditions: [{prefix: /twice}]
    services: [{name: us-web, port: 80, weight: 1}, {name: us-web, port: 80, weight: 2}, {name: us-web, port: 81, weight: 3}, {name: eu-web, port: 80, weight: 4}]
  - conditions: [{prefix: /other}]
    services: [{name: us-web, port: 80, weight: 10}, {name: plain, port: 80, weight: 5}]
`))
	crossed := s.parse(strings.ReplaceAll(httpRouteManifest, "port: 80", "port: 80, namespace: "+s.namespace))
	crossed.SetNamespace(other)
	if err := s.c.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(crossed), client.FieldOwner("user")); err != nil {
		s.Fatal(err)
	}
	crossed = s.read(crossed)
	s.drain(s.us)
	s.weights(proxy, "[0 0 0 4][0 5][0 1]")
	s.weights(crossed, "[0 1][0 30]")
	s.edit(proxy, func(proxy *unstructured.Unstructured) {
		rules(proxy, "routes", func(all []any) []any { slices.Reverse(all); return all })
	})
	s.weights(proxy, "[0 5][0 0 0 4][0 1]")
	s.enable(s.us)
	s.weights(proxy, "[10 5][1 2 3 4][- -]")
	s.unchanged(crossed)
}

func (s *shop) newNamespace() string {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(s.T, "other")}}
	s.create(namespace)
	return namespace.Name
}

// mirrors to a drained backend are removed, and put back where they were.
func (s *shop) mirrors() {
	proxy := s.read(s.apply("user", `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: mirrored}
spec:
  virtualhost: {fqdn: mirrored.example.com}
  routes:
  - services: [{name: us-web, port: 80, mirror: true}, {name: eu-web, port: 80}]
`))
	route := s.read(s.apply("user", `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: mirrored}
spec:
  rules:
  - filters:
    - type: RequestMirror
      requestMirror: {backendRef: {name: us-web, port: 80}}
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: a, value: b}]}
    backendRefs: [{name: eu-web, port: 80}]
`))
	s.drain(s.us)
	s.weights(proxy, "[-]")
	filters := func() int {
		count := 0
		rules(s.read(route), "rules", func(all []any) []any {
			count = len(all[0].(map[string]any)["filters"].([]any))
			return all
		})
		return count
	}
	eventually(s.T, func(context.Context) error {
		if got := filters(); got != 1 {
			return fmt.Errorf("%d filters in maintenance", got)
		}
		return nil
	})
	s.enable(s.us)
	s.unchanged(proxy)
	s.unchanged(route)
}

// forced: a user sets the weights back again and again, and loses.
func (s *shop) forced() {
	route, before := s.apply("user", httpRouteManifest), s.forcedBack()
	s.drain(s.us)
	for range 5 {
		s.edit(route, func(route *unstructured.Unstructured) {
			rules(route, "rules", weigh("backendRefs", 0, 0, 1))
			rules(route, "rules", weigh("backendRefs", 1, 0, 70))
		})
		s.weights(route, "[0 1][0 30]")
	}
	eventually(s.T, func(context.Context) error { // they are counted after they were written
		if got := s.forcedBack() - before; got < 10 {
			return fmt.Errorf("%v weights were counted as forced", got)
		}
		return nil
	})
	s.is(s.us, "True/Drained")
	s.enable(s.us)
	s.weights(route, "[1 1][70 30]")
}

// fast: a backend that is being deleted and comes back before all is done leaves no trace.
func (s *shop) fast() {
	var before []*unstructured.Unstructured
	for i := range 30 {
		before = append(before, s.read(s.apply("user", strings.Replace(httpRouteManifest, "name: http", fmt.Sprintf("name: http-%d", i), 1))))
	}
	for range 3 {
		s.set(s.us, gimbalv1.ClusterMaintenance)
		s.set(s.us, gimbalv1.ClusterEnabled)
	}
	s.is(s.us, "False/Enabled")
	s.set(s.us, gimbalv1.ClusterMaintenance)
	s.weights(before[7], "[0 1][0 30]") // some of them
	s.enable(s.us)
	for _, route := range before {
		s.unchanged(route)
	}
}

// recordRemoved: a record that a user removed is put back, as long as the controller remembers it.
func (s *shop) recordRemoved() {
	route := s.read(s.apply("user", httpRouteManifest))
	s.drain(s.us)
	s.weights(route, "[0 1][0 30]")
	record := s.read(route).GetAnnotations()[gimbalv1.AnnotationSavedWeights]
	s.edit(route, func(route *unstructured.Unstructured) { route.SetAnnotations(nil) })
	eventually(s.T, func(context.Context) error {
		if s.read(route).GetAnnotations()[gimbalv1.AnnotationSavedWeights] == "" {
			return errors.New("no record")
		}
		return nil
	})
	if record == "" {
		s.Error("there was none")
	}
	s.enable(s.us)
	s.weights(route, "[1 1][70 30]")
	if len(s.us.Status.Errors) > 0 {
		s.Errorf("errors: %+v", s.us.Status.Errors)
	}
}

// recordDamaged: the controller manager that wrote a record heals it, and no weight is lost.
func (s *shop) recordDamaged() {
	proxy := s.read(s.apply("user", proxyManifest))
	s.drain(s.us)
	s.weights(proxy, "[0 1][0 30]")
	s.edit(proxy, func(route *unstructured.Unstructured) {
		route.SetAnnotations(map[string]string{gimbalv1.AnnotationSavedWeights: "{"})
	})
	s.enable(s.us)
	s.weights(proxy, "[- -][70 30]")
	if errs := s.us.Status.Errors; len(errs) > 0 {
		s.Errorf("errors: %+v", errs)
	}
}

// rejections: a policy rejects changes of a route. That is reported by name, all others are drained, and when the policy has been
// deleted, so is this one.
func (s *shop) rejected() {
	proxy, route := s.read(s.apply("user", proxyManifest)), s.read(s.apply("user", httpRouteManifest))
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: new(admissionregistrationv1.Fail),
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"projectcontour.io"}, APIVersions: []string{"*"}, Resources: []string{"httpproxies"}},
			}}},
		},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "frozen"}},
	}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: s.namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}}
	s.create(policy, binding)
	// A policy works a moment after it was created.
	eventually(s.T, func(ctx context.Context) error {
		labelled := s.read(proxy)
		labelled.SetLabels(map[string]string{"a": "b"})
		if err := s.c.Update(ctx, labelled, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "frozen") {
			return fmt.Errorf("the policy does not work yet: %w", err)
		}
		return nil
	})
	s.set(s.us, gimbalv1.ClusterMaintenance)
	s.is(s.us, "False/Refused")
	s.weights(route, "[0 1][0 30]")
	if errs := s.us.Status.Errors; len(errs) != 1 || errs[0].Type != gimbalv1.ErrorRouteRefused || !strings.Contains(errs[0].Message, "HTTPProxy "+s.namespace+"/proxy") || !strings.Contains(errs[0].Message, "frozen") {
		s.Errorf("errors: %+v", errs)
	}
	if err := errors.Join(s.c.Delete(s.Context(), binding), s.c.Delete(s.Context(), policy)); err != nil {
		s.Fatal(err)
	}
	// A change of the route is a reason to try again immediately.
	eventually(s.T, func(ctx context.Context) error {
		return s.c.Patch(ctx, proxy.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`)), client.FieldOwner("editor"))
	})
	s.is(s.us, "True/Drained")
	s.weights(proxy, "[0 1][0 30]")
	s.enable(s.us)
	s.unchanged(route)
	s.weights(proxy, "[- -][70 30]")
}

// reach: a backend outside the admin namespaces drains routes of its namespace, and no Service elsewhere becomes its by a label.
func (s *shop) reach() {
	proxy := s.read(s.apply("user", proxyManifest))
	local := s.backend(s.namespace, "lo")
	s.service(local, "lo-web")
	own := s.apply("user", strings.NewReplacer("us-web", "lo-web", "name: http", "name: own").Replace(httpRouteManifest))
	elsewhere := s.newNamespace()
	crossed := s.parse(strings.NewReplacer("us-web, port: 80", "lo-web, port: 80, namespace: "+s.namespace, "name: http", "name: crossed").Replace(httpRouteManifest))
	crossed.SetNamespace(elsewhere)
	if err := s.c.Create(s.Context(), crossed, client.FieldOwner("user")); err != nil {
		s.Fatal(err)
	}
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "taken", Labels: map[string]string{gimbalv1.LabelBackend: local.Name}}}
	foreign.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	s.create(foreign)
	taken := s.apply("user", strings.NewReplacer("us-web, port: 80", "taken, port: 80, namespace: "+elsewhere, "name: http", "name: taken").Replace(httpRouteManifest))
	s.drain(local)
	s.weights(own, "[0 1][0 30]")
	s.weights(crossed, "[1 1][70 30]")
	s.weights(taken, "[1 1][70 30]")
	s.unchanged(proxy)
	s.reports(local, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		return status.Routes.Matching == 1 && status.Routes.Drained == 1
	})
	s.enable(local)
	s.weights(own, "[1 1][70 30]")
}

// labelsChange: a Service that becomes one of the backend is drained, and one that stops to be is not any more.
func (s *shop) labelsChange() {
	s.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "late"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	route := s.apply("user", strings.NewReplacer("us-web", "late").Replace(httpRouteManifest))
	s.drain(s.us)
	s.weights(route, "[1 1][70 30]")
	label := func(value string) {
		late := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "late"}}
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, gimbalv1.LegacyLabelBackend, value)
		if err := s.c.Patch(s.Context(), late, client.RawPatch(types.MergePatchType, patch)); err != nil {
			s.Fatal(err)
		}
	}
	label(`"` + s.us.Name + `"`)
	s.weights(route, "[0 1][0 30]")
	label("null")
	s.weights(route, "[1 1][70 30]")
	label(`"` + s.us.Name + `"`)
	s.weights(route, "[0 1][0 30]")
	// A Service that has been deleted is still that of the backend, by the record.
	if err := s.c.Delete(s.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "late"}}); err != nil {
		s.Fatal(err)
	}
	s.edit(route, func(route *unstructured.Unstructured) { route.SetLabels(map[string]string{"a": "b"}) })
	s.is(s.us, "True/Drained")
	s.weights(route, "[0 1][0 30]")
	s.enable(s.us)
	s.weights(route, "[1 1][70 30]")
}

// gracePeriod: a backend counts as drained when the time for open connections is over.
func (s *shop) gracePeriod() {
	s.apply("user", httpRouteManifest)
	if err := s.c.Patch(s.Context(), s.us, client.RawPatch(types.MergePatchType, []byte(`{"cluster":{"drainGracePeriod":"10s"}}`))); err != nil {
		s.Fatal(err)
	}
	s.set(s.us, gimbalv1.ClusterMaintenance)
	s.is(s.us, "False/GracePeriod")
	s.is(s.us, "True/Drained")
	c := meta.FindStatusCondition(s.us.Status.Conditions, gimbalv1.ConditionDrained)
	if took := c.LastTransitionTime.Sub(s.us.Status.Routes.DrainedTime.Time); took < 10*time.Second {
		s.Errorf("drained %s after the last route was rewritten", took)
	}
	s.enable(s.us)
}
