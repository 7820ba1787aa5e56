// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package predicates has the predicates with which controllers drop updates that cannot affect them, such as their own status updates.
package predicates

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Updates admits the updates of objects of one type for which a function is true.
func Updates[T client.Object](admitted func(before, after T) bool) predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(T)
		after, is := e.ObjectNew.(T)
		return was && is && admitted(before, after)
	}}
}

// Changed admits the updates for which a function is true, objects that were recreated with the same name, and resyncs, by which a
// controller finds what it missed.
func Changed[T client.Object](relevant func(before, after T) bool) predicate.Funcs {
	return Updates(func(before, after T) bool {
		return before.GetResourceVersion() == after.GetResourceVersion() || before.GetUID() != after.GetUID() || relevant(before, after)
	})
}
