// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// existing are the objects that are there as the copy of one source. They are this backend's.
type existing struct {
	Service *corev1.Service
	Slices  []*discoveryv1.EndpointSlice
}

// Empty reports whether there is nothing.
func (e existing) Empty() bool { return e.Service == nil && len(e.Slices) == 0 }

// verb is what an operation does.
type verb string

// Verbs of operations.
const (
	verbCreate verb = "create"
	verbUpdate verb = "update"
	verbDelete verb = "delete"
)

// operation is one write: of a Service or of an EndpointSlice.
type operation struct {
	Verb verb
	// Object is what is created, or what was read of what is updated or deleted.
	Object metav1.Object
	// Patch is the JSON merge patch of an update. It holds for the object in the state that was read, and for no other.
	Patch []byte
	// Vanished reports about a deletion that it follows from something missing in the backend, and from nothing else.
	Vanished bool
}

// planCopy returns the operations that make of what is there what is wanted, in the order in which they are to be done: the Service
// first, because its name decides whether the copy may be there at all; what is added before what is removed, so that a Service has
// endpoints all the time. Nothing is written when nothing differs. annotations are the keys of the annotations that are copied;
// others belong to users. want is nil when the source does not exist, or not to be copied: the last parameter reports which.
func planCopy(want *desired.Objects, have existing, annotations []string, vanished bool) ([]operation, error) {
	if want == nil {
		return planRemoval(have, vanished), nil
	}
	var operations []operation
	service, err := planService(want.Service, have.Service, annotations)
	if err != nil {
		return nil, err
	}
	operations = append(operations, service...)
	found := make(map[string]*discoveryv1.EndpointSlice, len(have.Slices))
	for _, slice := range have.Slices {
		found[slice.Name] = slice
	}
	for _, slice := range want.Slices {
		current := found[slice.Name]
		delete(found, slice.Name)
		more, err := planSlice(slice, current)
		if err != nil {
			return nil, err
		}
		operations = append(operations, more...)
	}
	for _, slice := range have.Slices {
		if found[slice.Name] != nil {
			operations = append(operations, operation{Verb: verbDelete, Object: slice, Vanished: true})
		}
	}
	return operations, nil
}

func planRemoval(have existing, vanished bool) []operation {
	var operations []operation
	if have.Service != nil {
		operations = append(operations, operation{Verb: verbDelete, Object: have.Service, Vanished: vanished})
	}
	for _, slice := range have.Slices {
		operations = append(operations, operation{Verb: verbDelete, Object: slice, Vanished: vanished})
	}
	return operations
}

func planService(want, have *corev1.Service, annotations []string) ([]operation, error) {
	switch {
	case have == nil:
		return []operation{{Verb: verbCreate, Object: want}}, nil
	case have.Spec.ClusterIP != "" && have.Spec.ClusterIP != corev1.ClusterIPNone && want.Spec.ClusterIP != "":
		// A cluster IP cannot be removed from a Service.
		return []operation{{Verb: verbDelete, Object: have}, {Verb: verbCreate, Object: want}}, nil
	}
	patch, err := servicePatch(want, have, annotations)
	if patch == nil || err != nil {
		return nil, err
	}
	return []operation{{Verb: verbUpdate, Object: have, Patch: patch}}, nil
}

// planSlice returns the operations that make of an EndpointSlice, which may be nil, the wanted one.
func planSlice(want, have *discoveryv1.EndpointSlice) ([]operation, error) {
	switch {
	case have == nil:
		return []operation{{Verb: verbCreate, Object: want}}, nil
	case have.AddressType != want.AddressType: // which cannot be changed
		return []operation{{Verb: verbDelete, Object: have}, {Verb: verbCreate, Object: want}}, nil
	}
	patch, err := slicePatch(want, have)
	if patch == nil || err != nil {
		return nil, err
	}
	return []operation{{Verb: verbUpdate, Object: have, Patch: patch}}, nil
}
