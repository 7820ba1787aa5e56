// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// changed drops updates that change nothing here, such as the controller's own of the status. A resync passes.
func changed() predicate.Predicate {
	return updates(func(before, after *kubernikusv1.Kluster) bool {
		return before.ResourceVersion == after.ResourceVersion || basisOf(before) != basisOf(after) ||
			!equality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
	})
}

// rangeChanged admits what changes which addresses of which router are whose.
func rangeChanged() predicate.Predicate {
	return updates(func(before, after *kubernikusv1.Kluster) bool {
		return before.RouterID() != after.RouterID() || before.PodRanges() != after.PodRanges() || before.UsesRouter() != after.UsesRouter()
	})
}

func updates(passes func(before, after *kubernikusv1.Kluster) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, wasKluster := e.ObjectOld.(*kubernikusv1.Kluster)
		after, isKluster := e.ObjectNew.(*kubernikusv1.Kluster)
		return wasKluster && isKluster && passes(before, after)
	}}
}

// basis is what reconciles once worth making before its time.
type basis struct {
	generation int64
	router     string
	// reachable is whether OpenStack is, in the words of the condition: credentials may have been repaired.
	reachable string
}

func basisOf(k *kubernikusv1.Kluster) basis {
	b := basis{generation: k.Generation, router: k.RouterID()}
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionOpenStackReachable); c != nil {
		b.reachable = string(c.Status)
	}
	return b
}
