// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// CacheOptions makes a cache keep of Nodes, Pods, Services and EndpointSlices only what is read here. Other readers of these kinds
// in that cache do not see the rest. Of Translations it keeps all except the managed fields, packed.
func CacheOptions(config configv1alpha1.TranslationConfiguration) map[client.Object]cache.ByObject {
	reduced := cache.ByObject{Transform: reduce}
	options := map[client.Object]cache.ByObject{
		&corev1.Node{}:               reduced,
		&corev1.Service{}:            reduced,
		&discoveryv1.EndpointSlice{}: reduced,
		&midonetv1.Translation{}:     {Transform: packed.Transform},
	}
	pods := reduced
	if _, ok := emitterOf(config).(isolator); ok {
		pods.Transform = reduceSelected
		options[&networkingv1.NetworkPolicy{}] = reduced
	}
	options[&corev1.Pod{}] = pods
	return options
}

// reduce returns the transform of the cache. Metadata of these kinds alone keeps what it has.
func reduce(object any) (any, error) {
	if object, ok := object.(client.Object); ok {
		return trimmed(object), nil
	}
	return object, nil // the last known state of what was deleted while there was no watch
}

// reduceSelected is reduce for a cache of Pods that NetworkPolicies select: by their labels, and by the names of their ports.
func reduceSelected(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		return selectedPod(pod), nil
	}
	return reduce(object)
}

// selectedPod returns a copy of a Pod with what is read of it where NetworkPolicies select Pods.
func selectedPod(full *corev1.Pod) *corev1.Pod {
	kept := trimmedPod(full)
	kept.CreationTimestamp = full.CreationTimestamp // the older one of two keeps an address
	for key, value := range full.Labels {
		metav1.SetMetaDataLabel(&kept.ObjectMeta, kit.Intern(key), kit.Intern(value))
	}
	kept.Spec.Containers, kept.Spec.InitContainers = withNamedPorts(full.Spec.Containers), withNamedPorts(full.Spec.InitContainers)
	return kept
}

// withNamedPorts returns the containers with named ports, with these alone.
func withNamedPorts(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for _, container := range containers {
		var ports []corev1.ContainerPort
		for _, port := range container.Ports {
			if port.Name != "" {
				ports = append(ports, corev1.ContainerPort{Name: kit.Intern(port.Name), ContainerPort: port.ContainerPort, Protocol: port.Protocol})
			}
		}
		if len(ports) > 0 {
			kept = append(kept, corev1.Container{Ports: ports})
		}
	}
	return kept
}

// trimmed returns a copy of an object with what is read of it.
func trimmed(object client.Object) client.Object {
	switch full := object.(type) {
	case *corev1.Node:
		return trimmedNode(full)
	case *corev1.Pod:
		return trimmedPod(full)
	case *corev1.Service:
		return trimmedService(full)
	case *discoveryv1.EndpointSlice:
		return trimmedSlice(full)
	case *networkingv1.NetworkPolicy:
		return &networkingv1.NetworkPolicy{ObjectMeta: trimmedMeta(full), Spec: full.Spec}
	default:
		kept, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			return object
		}
		kept.SetManagedFields(nil)
		return kept
	}
}

// trimmedNode keeps the annotations of the annotator, too, which reads Nodes from the same cache.
func trimmedNode(full *corev1.Node) *corev1.Node {
	kept := &corev1.Node{ObjectMeta: trimmedMeta(full, midonetv1.AnnotationHostID, midonetv1.AnnotationWrittenHostID,
		midonetv1.AnnotationTunnelZoneID, midonetv1.AnnotationTunnelEndpointIP, midonetv1.AnnotationWrittenTunnelEndpointIP,
		midonetv1.AnnotationMACAddress,
		midonetv1.AnnotationOVNChassis, midonetv1.AnnotationWrittenOVNChassis, midonetv1.AnnotationOVNChassisProblem,
		midonetv1.AnnotationOVNGatewayNetwork, midonetv1.AnnotationOVNGatewayAddresses, midonetv1.AnnotationOVNGatewayNextHops)}
	kept.Spec.PodCIDR, kept.Spec.PodCIDRs = full.Spec.PodCIDR, others(full.Spec.PodCIDRs)
	kept.Status.Addresses = full.Status.Addresses
	return kept
}

func trimmedPod(full *corev1.Pod) *corev1.Pod {
	kept := &corev1.Pod{ObjectMeta: trimmedMeta(full, midonetv1.AnnotationMACAddress)}
	kept.Spec.NodeName, kept.Spec.HostNetwork = kit.Intern(full.Spec.NodeName), full.Spec.HostNetwork
	kept.Status.Phase, kept.Status.PodIP, kept.Status.PodIPs = full.Status.Phase, full.Status.PodIP, others(full.Status.PodIPs)
	return kept
}

func trimmedService(full *corev1.Service) *corev1.Service {
	kept := &corev1.Service{ObjectMeta: trimmedMeta(full)}
	kept.Spec.Type, kept.Spec.ClusterIP, kept.Spec.ClusterIPs = full.Spec.Type, full.Spec.ClusterIP, others(full.Spec.ClusterIPs)
	for _, port := range full.Spec.Ports {
		kept.Spec.Ports = append(kept.Spec.Ports, corev1.ServicePort{Name: port.Name, Protocol: port.Protocol, Port: port.Port,
			NodePort: port.NodePort})
	}
	kept.CreationTimestamp = full.CreationTimestamp // the older one of two keeps an address
	keepRequested(kept, full)
	return kept
}

// keepRequested keeps what a Service requests beside its cluster IP, and not the defaults, which request nothing.
func keepRequested(kept, full *corev1.Service) {
	if full.Spec.SessionAffinity != corev1.ServiceAffinityNone {
		kept.Spec.SessionAffinity, kept.Spec.SessionAffinityConfig = full.Spec.SessionAffinity, full.Spec.SessionAffinityConfig
	}
	if full.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyCluster {
		kept.Spec.ExternalTrafficPolicy = full.Spec.ExternalTrafficPolicy
	}
	if policy := full.Spec.InternalTrafficPolicy; policy != nil && *policy != corev1.ServiceInternalTrafficPolicyCluster {
		kept.Spec.InternalTrafficPolicy = policy
	}
	kept.Spec.TrafficDistribution, kept.Spec.ExternalIPs = full.Spec.TrafficDistribution, full.Spec.ExternalIPs
	for _, address := range convert.LoadBalancerAddresses(full) {
		kept.Status.LoadBalancer.Ingress = append(kept.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: address})
	}
}

// trimmedSlice keeps the first address, as the others mean nothing, of the endpoints that are used.
func trimmedSlice(full *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	kept := &discoveryv1.EndpointSlice{ObjectMeta: trimmedMeta(full), AddressType: full.AddressType}
	if service, ok := full.Labels[discoveryv1.LabelServiceName]; ok {
		kept.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	}
	for _, endpoint := range full.Endpoints {
		use := convert.UseOf(endpoint)
		if use == convert.Unused {
			continue
		}
		reduced := discoveryv1.Endpoint{Addresses: slices.Clone(endpoint.Addresses[:1])}
		if endpoint.NodeName != nil {
			reduced.NodeName = new(kit.Intern(*endpoint.NodeName))
		}
		if use == convert.Fallback {
			reduced.Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
		}
		kept.Endpoints = append(kept.Endpoints, reduced)
	}
	for _, port := range full.Ports {
		kept.Ports = append(kept.Ports, discoveryv1.EndpointPort{Name: port.Name, Protocol: port.Protocol, Port: port.Port})
	}
	return kept
}

// isGarbageCollectors reports whether a finalizer is one by which garbage collection handles what an object owns.
func isGarbageCollectors(finalizer string) bool {
	return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
}

func trimmedMeta(object metav1.Object, annotations ...string) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Namespace: kit.Intern(object.GetNamespace()), Name: object.GetName(), UID: object.GetUID(),
		ResourceVersion: object.GetResourceVersion(), DeletionTimestamp: object.GetDeletionTimestamp(),
	}
	for _, finalizer := range object.GetFinalizers() {
		if isGarbageCollectors(finalizer) {
			kept.Finalizers = append(kept.Finalizers, kit.Intern(finalizer))
		}
	}
	for _, name := range annotations {
		if value, ok := object.GetAnnotations()[name]; ok {
			metav1.SetMetaDataAnnotation(&kept, name, value)
		}
	}
	return kept
}

// others keeps a list of several: the first is there as a dedicated field, too.
func others[T any](all []T) []T {
	if len(all) < 2 {
		return nil
	}
	return all
}
