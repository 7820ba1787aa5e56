// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Service is a Service that has a load balancer, or had one that is not cleaned up, or an Ingress of the Octavia ingress
// controller.
type Service struct {
	Meta
	// Ingress reports that it is an Ingress.
	Ingress bool
	// LoadBalancer reports that the type is LoadBalancer.
	LoadBalancer bool
	// Class is the loadBalancerClass, by which another provider than OpenStack's is meant.
	Class string
	// Keep reports that the floating IP is to be kept.
	Keep bool
	// BalancerID is the load balancer in Octavia that the annotation names, and Address the first of the status.
	BalancerID, Address string
}

// ServiceOf is what is kept of a Service. ok is false for one that has nothing to do with load balancers.
func ServiceOf(service *corev1.Service) (kept Service, ok bool) {
	kept = Service{
		Meta: MetaOf(service), LoadBalancer: service.Spec.Type == corev1.ServiceTypeLoadBalancer,
		Keep: service.Annotations[KeepFloatingIPAnnotation] == "true", BalancerID: service.Annotations[LoadBalancerIDAnnotation],
	}
	if ingress := service.Status.LoadBalancer.Ingress; len(ingress) > 0 {
		kept.Address = ingress[0].IP
	}
	if class := service.Spec.LoadBalancerClass; class != nil {
		kept.Class = *class
	}
	return kept, kept.LoadBalancer || kept.Finalized()
}

// IngressOf is what is kept of an Ingress. ok is false for one that is not of the Octavia ingress controller.
func IngressOf(ingress *networkingv1.Ingress) (kept Service, ok bool) {
	kept = Service{Meta: MetaOf(ingress), Ingress: true, LoadBalancer: true}
	if addresses := ingress.Status.LoadBalancer.Ingress; len(addresses) > 0 {
		kept.Address = addresses[0].IP
	}
	return kept, ingress.Annotations[IngressClassAnnotation] == IngressClassOctavia
}

// Finalized reports whether a cloud provider manages a load balancer of the Service.
func (s Service) Finalized() bool { return slices.Contains(s.Finalizers, LoadBalancerFinalizer) }
