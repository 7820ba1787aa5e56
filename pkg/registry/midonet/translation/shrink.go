// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// recordShrink adds to the status what an update takes out of the list. The pusher deletes what the status has and the
// list has not, and it may have pushed a resource and died before it could write that down: with this record, in the
// write that takes the resource out, nothing that was ever wanted is forgotten.
//
// An entry that the status has already stays as it is, also when its resource is wanted again: it says what the pusher
// last knew. What is no resource of the backend was never pushed, and is not recorded.
func recordShrink(t, old *midonetv1.Translation) {
	if slices.Equal(t.Resources, old.Resources) {
		return
	}
	known := identities(t.Resources)
	for _, entry := range t.Status.Resources {
		known.Insert(midonet.Ref{Kind: entry.Kind, Parent: entry.Parent, ID: entry.ID}.Identity())
	}
	var gone []midonetv1.BackendResourceStatus
	for _, resource := range old.Resources {
		ref, ok := refOf(resource)
		if !ok || known.Has(ref.Identity()) {
			continue
		}
		known.Insert(ref.Identity())
		gone = append(gone, midonetv1.BackendResourceStatus{Kind: ref.Kind, ID: ref.ID, Parent: ref.Parent, State: midonetv1.BackendResourceDeleting})
	}
	if len(gone) > 0 {
		t.Status.Resources = slices.Concat(t.Status.Resources, gone) // a copy: the old object has the same array
	}
}

func identities(resources []midonetv1.BackendResource) sets.Set[midonet.Ref] {
	set := make(sets.Set[midonet.Ref], len(resources))
	for _, resource := range resources {
		if ref, ok := refOf(resource); ok {
			set.Insert(ref.Identity())
		}
	}
	return set
}

// refOf returns what the backend calls a resource, false for one that it cannot have.
func refOf(resource midonetv1.BackendResource) (midonet.Ref, bool) {
	r, err := midonet.NewResource(resource.Kind, resource.Parent, resource.Body)
	return r.Ref, err == nil
}
