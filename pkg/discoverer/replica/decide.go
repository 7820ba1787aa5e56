// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

const (
	// minSuspicious is the number of copies from which on deletions can be suspicious.
	minSuspicious = 10
	// settlePeriod is how long a difference in readiness is left to maintenance, which changes all copies when it starts and
	// ends. Only differences that remain are changed here. Without maintenance, there is no such delay.
	settlePeriod = 5 * time.Second
	// calmPeriod is how long after maintenance a difference in readiness may still come from it: what remains is checked after one
	// settlePeriod, left alone for another, and written in the third.
	calmPeriod = 3 * settlePeriod
)

// errBehind means that the backend has what its cache has not.
var errBehind = errors.New("the cache of the backend is behind it")

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
	// Vanished is set for a deletion that follows from something missing in the backend, and from nothing else.
	Vanished bool
}

// operations returns what is to be done for a service, and nothing while it is unknown whether that exists.
func (o *observed) operations(annotations []string) ([]operation, error) {
	if o.unknown {
		return nil, nil
	}
	return planCopy(o.want, o.have, annotations, !o.excluded)
}

// planCopy returns the operations that make of what is there what is wanted, in the order in which they are to be done: the Service
// first, because its name decides whether the copy may be there at all; what is added before what is removed, so that a Service has
// endpoints all the time. Nothing is written when nothing differs. annotations are the keys of the annotations that are copied;
// others belong to users. want is nil when the source does not exist, or is not to be copied: the last parameter reports which.
func planCopy(want *desired.Objects, have desired.Objects, annotations []string, vanished bool) ([]operation, error) {
	if want == nil {
		var operations []operation
		for _, object := range have.All() {
			operations = append(operations, operation{Verb: verbDelete, Object: object, Vanished: vanished})
		}
		return operations, nil
	}
	operations, err := planService(want.Service, have.Service, annotations)
	if err != nil {
		return nil, err
	}
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

// planService returns the operations that make of a Service, which may be nil, the wanted one.
func planService(want, have *corev1.Service, annotations []string) ([]operation, error) {
	if have == nil {
		return []operation{{Verb: verbCreate, Object: want}}, nil
	}
	// A cluster IP cannot be removed from a Service.
	fixed := have.Spec.ClusterIP != "" && have.Spec.ClusterIP != corev1.ClusterIPNone && want.Spec.ClusterIP != ""
	patch, err := servicePatch(want, have, annotations)
	return planChange(want, have, fixed, patch), err
}

// planSlice returns the operations that make of an EndpointSlice, which may be nil, the wanted one.
func planSlice(want, have *discoveryv1.EndpointSlice) ([]operation, error) {
	if have == nil {
		return []operation{{Verb: verbCreate, Object: want}}, nil
	}
	patch, err := slicePatch(want, have)
	return planChange(want, have, have.AddressType != want.AddressType, patch), err
}

// planChange returns the operations that change an object, which is replaced when it differs in what is fixed.
func planChange(want, have metav1.Object, fixed bool, patch []byte) []operation {
	switch {
	case fixed:
		return []operation{{Verb: verbDelete, Object: have}, {Verb: verbCreate, Object: want}}
	case patch == nil:
		return nil
	default:
		return []operation{{Verb: verbUpdate, Object: have, Patch: patch}}
	}
}

// permitted returns the operations without the deletions that wait for the guard, and whether there are any.
func permitted(operations []operation, isSure func(desired.Ref) bool) (now []operation, held bool) {
	now = slices.DeleteFunc(slices.Clone(operations), func(op operation) bool {
		return op.Verb == verbDelete && op.Vanished && !isSure(desired.RefOf(op.Object))
	})
	return now, len(now) < len(operations)
}

// confirmed returns the operations that may be done by those that the backend, read again, requires: without the deletions that are
// not among these. What is deleted to be recreated is not recreated before. The error is why
// something was left out.
func confirmed(key types.NamespacedName, operations, live []operation, err error) ([]operation, error) {
	doubtful := deletedBy(operations).Difference(deletedBy(live))
	if len(doubtful) == 0 {
		return operations, nil
	}
	if err == nil {
		err = fmt.Errorf("service %s: %w", key, errBehind)
	}
	return slices.DeleteFunc(slices.Clone(operations), func(op operation) bool { return doubtful.Has(desired.RefOf(op.Object)) }), err
}

func deletedBy(operations []operation) sets.Set[desired.Ref] {
	deleted := sets.New[desired.Ref]()
	for _, op := range operations {
		if op.Verb == verbDelete {
			deleted.Insert(desired.RefOf(op.Object))
		}
	}
	return deleted
}

// withoutReadiness returns the operations without those that change nothing but the readiness of endpoints, and whether one of those
// makes something ready.
func withoutReadiness(want *desired.Objects, operations []operation) (certain []operation, gives bool) {
	certain = slices.DeleteFunc(slices.Clone(operations), func(op operation) bool {
		have, isSlice := op.Object.(*discoveryv1.EndpointSlice)
		return isSlice && op.Verb == verbUpdate && slices.ContainsFunc(want.Slices, func(want *discoveryv1.EndpointSlice) bool {
			disputed := want.Name == have.Name && desired.DifferInReadiness(want.Endpoints, have.Endpoints)
			gives = gives || disputed && desired.GivesReadiness(want.Endpoints, have.Endpoints)
			return disputed
		})
	})
	return certain, gives
}

// calm reports whether endpoints are not withheld, and have not been for a while.
func (s *state) calm(now time.Time) bool { return !s.withheld && now.Sub(s.changed) >= calmPeriod }

// fresh reports whether the API server was asked a moment ago whether endpoints are withheld.
func (s *state) fresh(now time.Time) bool {
	return !s.queried.IsZero() && now.Sub(s.queried) < settlePeriod
}

// suspicious reports whether it takes a second listing to delete so many of so many copies: more than half of ten or more.
func suspicious(existing, missing int) bool {
	return existing >= minSuspicious && 2*missing > existing
}
