// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// skips reports whether a Service is not to be copied: those of Kubernetes itself, and copies, or two clusters that discover each
// other would fill themselves up.
func (u *Upstream) skips(service *corev1.Service) bool {
	switch {
	case service.Namespace == metav1.NamespaceSystem,
		service.Namespace == metav1.NamespaceDefault && service.Name == "kubernetes",
		desired.HasBackend(service.Labels):
		return true
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return !u.ExternalNames
	default:
		return false
	}
}

// trimService keeps of a Service what is copied.
func (u *Upstream) trimService(service *corev1.Service) *corev1.Service {
	trimmed := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: service.Name, ResourceVersion: service.ResourceVersion, Labels: service.Labels,
		},
		Spec: corev1.ServiceSpec{Type: service.Spec.Type, ExternalName: service.Spec.ExternalName, Ports: desired.ServicePorts(service.Spec.Ports)},
	}
	for _, key := range u.Annotations {
		if value, ok := service.Annotations[key]; ok {
			if trimmed.Annotations == nil {
				trimmed.Annotations = map[string]string{}
			}
			trimmed.Annotations[key] = value
		}
	}
	return trimmed
}

// trimSlice keeps of an EndpointSlice what is copied.
func trimSlice(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: slice.Namespace, Name: slice.Name, ResourceVersion: slice.ResourceVersion,
			Labels: map[string]string{discoveryv1.LabelServiceName: slice.Labels[discoveryv1.LabelServiceName]},
		},
		AddressType: slice.AddressType, Ports: desired.EndpointPorts(slice.Ports), Endpoints: desired.Endpoints(slice.Endpoints),
	}
}
