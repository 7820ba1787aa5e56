// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what has to be written so that a source has its copy. It compares, and does nothing.
package plan

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// Existing are the objects that are there as the copy of one source. They are this backend's.
type Existing struct {
	Service *corev1.Service
	Slices  []*discoveryv1.EndpointSlice
}

// Empty reports whether there is nothing.
func (e Existing) Empty() bool { return e.Service == nil && len(e.Slices) == 0 }

// Verb is what an Operation does.
type Verb string

// Verbs of operations.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Operation is one write: of a Service or of an EndpointSlice.
type Operation struct {
	Verb Verb
	// Object is what is created, or what was read of what is updated or deleted.
	Object metav1.Object
	// Patch is the JSON merge patch of an update. It holds for the object in the state that was read, and for no other.
	Patch []byte
	// Vanished reports about a deletion that it follows from something missing in the backend, and from nothing else.
	Vanished bool
}

// Compute returns the operations that make of what is there what is wanted, in the order in which they are to be done: the Service
// first, because its name decides whether the copy may be there at all; what is added before what is removed, so that a Service has
// endpoints all the time. Nothing is written when nothing differs. annotations are the keys of the annotations that are copied;
// others belong to users. want is nil when the source does not exist, or not to be copied: the last parameter reports which.
func Compute(want *desired.Objects, have Existing, annotations []string, vanished bool) ([]Operation, error) {
	if want == nil {
		return removal(have, vanished), nil
	}
	var operations []Operation
	service, err := serviceOperations(want.Service, have.Service, annotations)
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
		more, err := Slice(slice, current)
		if err != nil {
			return nil, err
		}
		operations = append(operations, more...)
	}
	for _, slice := range have.Slices {
		if found[slice.Name] != nil {
			operations = append(operations, Operation{Verb: Delete, Object: slice, Vanished: true})
		}
	}
	return operations, nil
}

func removal(have Existing, vanished bool) []Operation {
	var operations []Operation
	if have.Service != nil {
		operations = append(operations, Operation{Verb: Delete, Object: have.Service, Vanished: vanished})
	}
	for _, slice := range have.Slices {
		operations = append(operations, Operation{Verb: Delete, Object: slice, Vanished: vanished})
	}
	return operations
}

func serviceOperations(want, have *corev1.Service, annotations []string) ([]Operation, error) {
	switch {
	case have == nil:
		return []Operation{{Verb: Create, Object: want}}, nil
	case have.Spec.ClusterIP != "" && have.Spec.ClusterIP != corev1.ClusterIPNone && want.Spec.ClusterIP != "":
		// A cluster IP cannot be removed from a Service.
		return []Operation{{Verb: Delete, Object: have}, {Verb: Create, Object: want}}, nil
	}
	patch, err := servicePatch(want, have, annotations)
	if patch == nil || err != nil {
		return nil, err
	}
	return []Operation{{Verb: Update, Object: have, Patch: patch}}, nil
}

// Slice returns the operations that make of an EndpointSlice, which may be nil, the wanted one.
func Slice(want, have *discoveryv1.EndpointSlice) ([]Operation, error) {
	switch {
	case have == nil:
		return []Operation{{Verb: Create, Object: want}}, nil
	case have.AddressType != want.AddressType: // which cannot be changed
		return []Operation{{Verb: Delete, Object: have}, {Verb: Create, Object: want}}, nil
	}
	patch, err := slicePatch(want, have)
	if patch == nil || err != nil {
		return nil, err
	}
	return []Operation{{Verb: Update, Object: have, Patch: patch}}, nil
}
