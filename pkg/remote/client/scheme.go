// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// These do not change after startup.
var (
	scheme     = newScheme()
	codecs     = serializer.NewCodecFactory(scheme)
	parameters = runtime.NewParameterCodec(scheme)
)

// newScheme returns a scheme with the kinds of this package and no other.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Service{}, &corev1.ServiceList{}, &corev1.Namespace{}, &corev1.NamespaceList{})
	scheme.AddKnownTypes(discoveryv1.SchemeGroupVersion, &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{})
	scheme.AddKnownTypes(coordinationv1.SchemeGroupVersion, &coordinationv1.Lease{}, &coordinationv1.LeaseList{})
	scheme.AddKnownTypes(gimbalv1.SchemeGroupVersion, &gimbalv1.DiscoveryBackend{}, &gimbalv1.DiscoveryBackendList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, discoveryv1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, coordinationv1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, gimbalv1.SchemeGroupVersion)
	return scheme
}
