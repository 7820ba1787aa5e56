// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func TestNetworksOfAPIServer(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.96.0.1", "fd00::1"}}}
	endpoints := []discoveryv1.EndpointSlice{
		{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.11"}}, {Addresses: []string{"192.0.2.10"}}}},
		{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.10"}}}},
	}
	if got := networksOfAPIServer(service, endpoints); !slices.Equal(got, []string{"10.96.0.1/32", "192.0.2.10/32", "192.0.2.11/32", "fd00::1/128"}) {
		t.Error(got)
	}
	service.Spec.ClusterIPs = []string{corev1.ClusterIPNone}
	if got := networksOfAPIServer(service, nil); got != nil {
		t.Error(got)
	}
}
