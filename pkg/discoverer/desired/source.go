// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package desired computes the copy of a discovered service, and recognizes copies. It is independent of the type of the backend: each
// type converts its objects into Sources.
package desired

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Source is a service of a backend.
type Source struct {
	// Namespace is the namespace of the copy, Name the name of the service in the backend.
	Namespace, Name string
	// Labels are copied, but those that the discoverer writes itself.
	Labels map[string]string
	// Annotations are copied: they are those that may travel.
	Annotations map[string]string
	Ports       []corev1.ServicePort
	// ExternalName is the DNS name that the service stands for. Such a service has no slices.
	ExternalName string
	Slices       []Slice
	// Exported is set when the service was exported: its slices have the labels by which those of a ServiceImport are found.
	Exported bool
}

// Slice is a part of the endpoints of a service.
type Slice struct {
	// ID distinguishes the slice from the others of its service. It does not change while the backend keeps the slice.
	ID          string
	AddressType discoveryv1.AddressType
	Ports       []discoveryv1.EndpointPort
	Endpoints   []discoveryv1.Endpoint
}

// EndpointCount returns how many addresses the source has.
func (s *Source) EndpointCount() int {
	count := 0
	for i := range s.Slices {
		count += len(s.Slices[i].Endpoints)
	}
	return count
}
