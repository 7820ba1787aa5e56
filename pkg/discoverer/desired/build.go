// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// MaxEndpoints is how many endpoints the API server takes in one EndpointSlice.
const MaxEndpoints = 1000

// Objects are the copy of a source: a Service and its EndpointSlices.
type Objects struct {
	Service *corev1.Service
	Slices  []*discoveryv1.EndpointSlice
}

// All returns the objects, the Service first, if there is one.
func (o *Objects) All() []metav1.Object {
	var all []metav1.Object
	if o.Service != nil {
		all = append(all, o.Service)
	}
	for _, slice := range o.Slices {
		all = append(all, slice)
	}
	return all
}

// Refs names the objects.
func (o *Objects) Refs() []Ref {
	var refs []Ref
	for _, object := range o.All() {
		refs = append(refs, RefOf(object))
	}
	return refs
}

// Build returns the copy of a source. The Service has no selector and no cluster IP: it is a name for routes to refer
// to. The slices are those of the source, one for one, so that one change there is one write here; one with more than
// MaxEndpoints is split. The result shares what it can with the source.
func Build(backend string, source *Source) *Objects {
	name := CopyName(backend, source.Name)
	objects := &Objects{Service: &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: source.Namespace, Name: name,
			Labels: labelsOf(backend, source, source.Labels), Annotations: source.Annotations,
		},
		Spec: corev1.ServiceSpec{Ports: ServicePorts(source.Ports)},
	}}
	if source.ExternalName != "" {
		objects.Service.Spec.Type, objects.Service.Spec.ExternalName = corev1.ServiceTypeExternalName, source.ExternalName
		return objects
	}
	objects.Service.Spec.Type, objects.Service.Spec.ClusterIP = corev1.ServiceTypeClusterIP, corev1.ClusterIPNone
	for i := range source.Slices {
		objects.Slices = append(objects.Slices, buildSlices(backend, name, source, &source.Slices[i])...)
	}
	return objects
}

func buildSlices(backend, service string, source *Source, slice *Slice) []*discoveryv1.EndpointSlice {
	labels := labelsOf(backend, source, nil)
	labels[discoveryv1.LabelServiceName] = service
	labels[discoveryv1.LabelManagedBy] = Manager
	if source.Exported {
		labels[LabelImport], labels[LabelSourceCluster] = service, backend
	}
	endpoints := Endpoints(slice.Endpoints)
	var built []*discoveryv1.EndpointSlice
	for part := 0; part == 0 || len(endpoints) > 0; part++ {
		id := slice.ID
		if part > 0 {
			id += "/" + strconv.Itoa(part)
		}
		count := min(len(endpoints), MaxEndpoints)
		built = append(built, &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: source.Namespace, Name: SliceName(service, id), Labels: labels},
			AddressType: slice.AddressType,
			Ports:       EndpointPorts(slice.Ports),
			Endpoints:   endpoints[:count:count],
		})
		endpoints = endpoints[count:]
	}
	return built
}

func labelsOf(backend string, source *Source, from map[string]string) map[string]string {
	labels := make(map[string]string, len(from)+5)
	maps.Copy(labels, from)
	// Metadata about the owner of the source in its own cluster has no meaning here.
	for _, legacy := range []string{gimbalv1.LegacyLabelBackend, gimbalv1.LegacyLabelService} {
		delete(labels, legacy)
	}
	labels[gimbalv1.LabelBackend] = backend
	labels[gimbalv1.LabelService] = source.Name
	labels[LabelManagedBy] = Manager
	return labels
}

// ServicePorts keeps of ports what a route can use. What the API server would fill in is filled in, so that the copy
// can be compared with what was written.
func ServicePorts(ports []corev1.ServicePort) []corev1.ServicePort {
	kept := make([]corev1.ServicePort, 0, len(ports))
	for i := range ports {
		port := &ports[i]
		target := port.TargetPort
		if target == (intstr.IntOrString{}) || target == intstr.FromString("") {
			target = intstr.FromInt32(port.Port)
		}
		kept = append(kept, corev1.ServicePort{
			Name: port.Name, Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP), Port: port.Port, TargetPort: target, AppProtocol: port.AppProtocol,
		})
	}
	return kept
}

// EndpointPorts returns ports in the form that is compared: with what the API server fills in, in order.
func EndpointPorts(ports []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	kept := make([]discoveryv1.EndpointPort, 0, len(ports))
	for i := range ports {
		port := ports[i]
		if port.Name == nil {
			port.Name = new("")
		}
		if port.Protocol == nil {
			port.Protocol = new(corev1.ProtocolTCP)
		}
		kept = append(kept, port)
	}
	slices.SortStableFunc(kept, func(a, b discoveryv1.EndpointPort) int {
		return cmp.Or(cmp.Compare(*a.Name, *b.Name), cmp.Compare(*a.Protocol, *b.Protocol),
			cmp.Compare(ptr.Deref(a.Port, 0), ptr.Deref(b.Port, 0)))
	})
	return kept
}

// Endpoints keeps of endpoints what a client reads: addresses, conditions, the hostnames that DNS serves for the pods of a
// StatefulSet, and zones, which are of the infrastructure. Nodes and pods are of another cluster. They are sorted: their order
// means nothing, and would cost a write when it changes.
func Endpoints(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	kept := make([]discoveryv1.Endpoint, 0, len(endpoints))
	for i := range endpoints {
		conditions := endpoints[i].Conditions
		kept = append(kept, discoveryv1.Endpoint{
			Addresses: endpoints[i].Addresses, Hostname: endpoints[i].Hostname, Zone: endpoints[i].Zone, Hints: zoneHints(endpoints[i].Hints),
			Conditions: discoveryv1.EndpointConditions{
				Ready: shared(conditions.Ready), Serving: shared(conditions.Serving), Terminating: shared(conditions.Terminating),
			},
		})
	}
	slices.SortStableFunc(kept, func(a, b discoveryv1.Endpoint) int {
		return slices.Compare(a.Addresses, b.Addresses)
	})
	return kept
}

// truth has the two values that the conditions of all endpoints point to: a pointer each would cost as much memory as the
// addresses. They are never written through.
var truth = [2]bool{false, true}

// Condition returns a condition of an endpoint, which is not written through.
func Condition(is bool) *bool {
	if is {
		return &truth[1]
	}
	return &truth[0]
}

func shared(value *bool) *bool {
	if value == nil {
		return nil
	}
	return Condition(*value)
}
