// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// way is what is done to a slice, whose endpoints and annotations it may change.
type way func(*discoveryv1.EndpointSlice)

// IsCopy reports whether a discoverer of Groundskeeper wrote an EndpointSlice, in contrast to slices of other controllers, such as those
// that Kubernetes mirrors from Endpoints.
func IsCopy(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == desired.Manager || slice.Labels[desired.LabelManagedBy] == desired.Manager
}

// changed returns a slice with what is to be changed, nil when nothing has to change. As it has the UID and the resource version of the
// slice, it replaces only the very object, in the state in which it was read.
func (w way) changed(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	next := *slice
	next.Endpoints = slices.Clone(slice.Endpoints)
	w(&next)
	if equality.Semantic.DeepEqual(slice.Endpoints, next.Endpoints) && maps.Equal(slice.Annotations, next.Annotations) {
		return nil
	}
	next.ManagedFields = nil // the API server takes those of the stored object
	return &next
}

// Services are those of a backend whose endpoints are withheld. The zero value is none.
type Services struct {
	// Withhold are the Services whose endpoints are to be withheld.
	Withhold sets.Set[types.NamespacedName]
	// Leave are other Services, whose endpoints are to remain unchanged. Those of all the rest are to be restored.
	Leave sets.Set[types.NamespacedName]
}

func (s Services) equal(other Services) bool {
	return s.Withhold.Equal(other.Withhold) && s.Leave.Equal(other.Leave)
}

// differing returns the Services whose desired states may differ.
func (s Services) differing(other Services) sets.Set[types.NamespacedName] {
	return s.Withhold.SymmetricDifference(other.Withhold).Union(s.Leave.SymmetricDifference(other.Leave))
}

// way returns what is to be done to a slice.
func (s Services) way(slice *discoveryv1.EndpointSlice) way {
	service := serviceOf(slice)
	switch {
	case s.Withhold.Has(service):
		return desired.Withhold
	case s.Leave.Has(service):
		return func(*discoveryv1.EndpointSlice) {}
	}
	return desired.Restore
}

func serviceOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

// due reports whether a slice is to be changed, by what trim keeps of it.
func (s Services) due(slice *discoveryv1.EndpointSlice) bool {
	_, withheld := slice.Annotations[desired.AnnotationWithheld]
	service := serviceOf(slice)
	if !s.Withhold.Has(service) {
		return withheld && !s.Leave.Has(service)
	}
	return !withheld || slices.ContainsFunc(slice.Endpoints, func(endpoint discoveryv1.Endpoint) bool {
		return !desired.IsWithheld(endpoint.Conditions)
	})
}
