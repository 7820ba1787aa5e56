// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package translation stores Translations.
package translation

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/midonet/validation"
	"groundskeeper.io/groundskeeper/pkg/backendresource"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

// Kind describes Translations to the registry.
func Kind() registry.Kind[*midonetv1.Translation] {
	return registry.Kind[*midonetv1.Translation]{
		GroupVersion:  midonetv1.SchemeGroupVersion,
		Resource:      "translations",
		Singular:      "translation",
		ShortNames:    []string{"tr"},
		Categories:    []string{"groundskeeper"},
		Namespaced:    true,
		Finalizer:     midonetv1.FinalizerName,
		DesiredFields: []string{"resources"},
		New:           func() *midonetv1.Translation { return &midonetv1.Translation{} },
		NewList:       func() runtime.Object { return &midonetv1.TranslationList{} },
		Desired:       func(t *midonetv1.Translation) any { return t.Resources },
		CopyStatus:    func(to, from *midonetv1.Translation) { to.Status = from.Status },
		Assign:        func(to, from *midonetv1.Translation) { *to = *from },
		Summarize:     conditions.SetTranslation,
		Columns: []registry.Column[*midonetv1.Translation]{
			{Name: "Ready", Type: "string", Description: "Whether the object is as its spec requires.", Cell: condition(conditions.Ready)},
			{Name: "Owner", Type: "string", Description: "The object that was translated, or global.", Cell: owner},
			{Name: "Resources", Type: "integer", Description: "Number of desired backend resources.", Cell: func(t *midonetv1.Translation) any { return int64(len(t.Resources)) }},
			{Name: "Synced", Type: "string", Description: "Whether the backend has the desired state.", Cell: condition(midonetv1.ConditionSynced)},
			{Name: "Stalled", Type: "string", Description: "Whether it remains unchanged until a user repairs something.", Cell: condition(midonetv1.ConditionStalled)},
		},
		PrepareForUpdate:     recordShrink,
		Validate:             validation.ValidateTranslation,
		ValidateUpdate:       validation.ValidateTranslationUpdate,
		ValidateStatusUpdate: validation.ValidateTranslationStatusUpdate,
	}
}

func owner(t *midonetv1.Translation) any {
	if len(t.OwnerReferences) > 0 {
		return t.OwnerReferences[0].Kind + "/" + t.OwnerReferences[0].Name
	}
	if _, global := t.Labels[midonetv1.LabelGlobal]; global {
		return "global"
	}
	return ""
}

func condition(name string) func(*midonetv1.Translation) any {
	return func(t *midonetv1.Translation) any { return registry.Condition(t.Status.Conditions, name) }
}

// recordShrink adds to the status what an update removes from the list. The pusher deletes what the status has and the list has
// not, and it may have pushed a resource and died before it could write that down: with this record, in the write that takes the
// resource out, nothing that was ever wanted is discarded.
//
// An entry that the status has already remains unchanged, also when its resource is wanted again: it reports what the pusher last
// knew. What no backend can have was never pushed, and is not recorded; the kinds of all backends are, since the API server does
// not know which one is configured, and a pusher leaves out what its own cannot have.
func recordShrink(t, old *midonetv1.Translation) {
	if slices.Equal(t.Resources, old.Resources) {
		return
	}
	known := identities(t.Resources)
	for _, entry := range t.Status.Resources {
		known.Insert(backendresource.Ref{Kind: entry.Kind, Parent: entry.Parent, ID: entry.ID}.Identity())
	}
	var deleted []midonetv1.BackendResourceStatus
	for _, resource := range old.Resources {
		ref, ok := backendresource.Of(resource)
		if !ok || known.Has(ref.Identity()) {
			continue
		}
		known.Insert(ref.Identity())
		deleted = append(deleted, midonetv1.BackendResourceStatus{Kind: ref.Kind, ID: ref.ID, Parent: ref.Parent, State: midonetv1.BackendResourceDeleting})
	}
	if len(deleted) > 0 {
		t.Status.Resources = slices.Concat(t.Status.Resources, deleted) // a copy: the old object has the same array
	}
}

func identities(resources []midonetv1.BackendResource) sets.Set[backendresource.Ref] {
	set := make(sets.Set[backendresource.Ref], len(resources))
	for _, resource := range resources {
		if ref, ok := backendresource.Of(resource); ok {
			set.Insert(ref.Identity())
		}
	}
	return set
}
