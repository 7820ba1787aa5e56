// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/readiness"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// service is what is kept of a Service or a ServiceImport.
type service struct {
	// backend is the one that its labels name, "" when they name none.
	backend      string
	externalName bool
	// withoutSlices is set for a ServiceImport whose controller reports that it writes no EndpointSlices: its endpoints are unknown.
	withoutSlices bool
	ports         []servicePort
}

type servicePort struct{ number, name, protocol, appProtocol string }

// slice is what is kept of an EndpointSlice.
type slice struct {
	// service and imported are the Service and the ServiceImport that it belongs to, in its namespace.
	service, imported string
	// backend is the one that its labels name.
	backend string
	// ready is set when an endpoint is, copied when a discoverer wrote the slice.
	ready, copied bool
	// ports are the names of its ports.
	ports []string
}

// serviceOf keeps of a Service what decides who receives.
func serviceOf(object *corev1.Service) any {
	kept := &service{backend: desired.BackendOf(object.Labels), externalName: object.Spec.Type == corev1.ServiceTypeExternalName}
	for _, port := range object.Spec.Ports {
		kept.ports = append(kept.ports, servicePort{
			number: strconv.Itoa(int(port.Port)), name: port.Name, protocol: cmp.Or(string(port.Protocol), string(corev1.ProtocolTCP)),
			appProtocol: ptr.Deref(port.AppProtocol, ""),
		})
	}
	return kept
}

// importOf keeps of a ServiceImport what decides who receives.
func importOf(content map[string]any) any {
	object := &unstructured.Unstructured{Object: content}
	kept := &service{backend: desired.BackendOf(object.GetLabels())}
	slices, _, _ := unstructured.NestedString(content, "status", "endpointSliceObjects")
	kept.withoutSlices = slices == "Absent"
	ports, _, _ := unstructured.NestedSlice(content, "spec", "ports")
	for _, port := range ports {
		port, _ := port.(map[string]any)
		number, _ := port["port"].(int64)
		kept.ports = append(kept.ports, servicePort{
			number: strconv.FormatInt(number, 10), name: textIn(port, "name"),
			protocol: cmp.Or(textIn(port, "protocol"), string(corev1.ProtocolTCP)), appProtocol: textIn(port, "appProtocol"),
		})
	}
	return kept
}

// sliceOf keeps of an EndpointSlice whether an endpoint responds.
func sliceOf(object *discoveryv1.EndpointSlice) any {
	kept := &slice{
		service: object.Labels[discoveryv1.LabelServiceName], imported: object.Labels[desired.LabelImport],
		backend: desired.BackendOf(object.Labels), copied: readiness.IsCopy(object),
	}
	kept.ready = slices.ContainsFunc(object.Endpoints, func(endpoint discoveryv1.Endpoint) bool {
		return ptr.Deref(endpoint.Conditions.Ready, true)
	})
	for _, port := range object.Ports {
		kept.ports = append(kept.ports, ptr.Deref(port.Name, ""))
	}
	return kept
}

// targetChanged reports whether a Service or a ServiceImport came, went, or changed in what decides who receives.
func targetChanged(e resourcewatch.Event) bool {
	return !reflect.DeepEqual(valueOf[service](e.Old), valueOf[service](e.New))
}

// sliceChanged reports whether a change of a slice may change who receives.
func sliceChanged(before, after *slice) bool {
	switch {
	case before == nil && after == nil:
		return false
	case before == nil:
		return after.ready
	case after == nil:
		return before.ready
	}
	return !reflect.DeepEqual(before, after)
}

// target is what is behind the ports of a Service or a ServiceImport.
type target struct {
	service *service
	slices  []*slice
}

// of returns what package drain needs to know about it. There is none for a Service that does not exist.
func (t *target) of(port string) drain.Target {
	if t == nil {
		return drain.Target{Missing: true}
	}
	is := func(p servicePort) bool { return port != "" && (p.number == port || p.name == port) }
	i := slices.IndexFunc(t.service.ports, is)
	if i < 0 {
		return drain.Target{Missing: true}
	}
	found := t.service.ports[i]
	target := drain.Target{Protocol: found.protocol, AppProtocol: found.appProtocol, ExternalName: t.service.externalName}
	for _, other := range t.service.ports[i+1:] {
		if is(other) && other.protocol != found.protocol {
			target.OtherProtocol = other.protocol
		}
	}
	target.Empty = !target.ExternalName && !t.service.withoutSlices &&
		!slices.ContainsFunc(t.slices, func(s *slice) bool { return s.ready && slices.Contains(s.ports, found.name) })
	return target
}

// backendOf returns the backend of the object that this is: the one that its labels name, else for a ServiceImport the one whose copied
// endpoints are behind it.
func (t *target) backendOf(object drain.Object) string {
	if t.service.backend != "" || !object.Import {
		return t.service.backend
	}
	backend := ""
	for _, s := range t.slices {
		if s.copied && (backend == "" || s.backend < backend) {
			backend = s.backend
		}
	}
	return backend
}

// services returns the Services whose copied endpoints are behind an object: a Service itself, and those of a ServiceImport that exists.
func (t *target) services(object drain.Object) []types.NamespacedName {
	switch {
	case !object.Import:
		return []types.NamespacedName{object.NamespacedName}
	case t == nil:
		return nil
	}
	var all []types.NamespacedName
	for _, s := range t.slices {
		if s.copied && s.service != "" {
			all = append(all, types.NamespacedName{Namespace: object.Namespace, Name: s.service})
		}
	}
	return all
}

// ready reports whether an endpoint of the Service is ready, of those that a discoverer copied or of the others.
func (t *target) ready(copied bool) bool {
	return t != nil && slices.ContainsFunc(t.slices, func(s *slice) bool { return s.ready && s.copied == copied })
}
