// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// isGoing reports whether a Kluster is being deleted: the others are no business of Deorbit.
func isGoing(k *kubernikusv1.Kluster) bool { return !k.DeletionTimestamp.IsZero() }

// changed drops updates that change nothing here, such as those of the status. A resync passes.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, wasKluster := e.ObjectOld.(*kubernikusv1.Kluster)
		after, isKluster := e.ObjectNew.(*kubernikusv1.Kluster)
		if !wasKluster || !isKluster {
			return false
		}
		return before.ResourceVersion == after.ResourceVersion || before.Generation != after.Generation ||
			!equality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
			!equality.Semantic.DeepEqual(before.Finalizers, after.Finalizers) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			before.Status.Apiserver != after.Status.Apiserver
	}}
}
