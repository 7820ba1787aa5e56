// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package backendresource identifies the resources of Translations in the backends. The API server does not know which
// backend is configured, so this package covers the kinds of all backends: for admission, which reserves a resource for one
// Translation, for the record of the resources that an update removes, and for the controller that writes them.
package backendresource

import (
	kjson "sigs.k8s.io/json"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// Ref names one resource, as the status of a Translation keeps it.
type Ref struct {
	// Kind is the type of the resource in the API of its backend.
	Kind string
	// Parent is the id of the resource that it lies under, empty for a kind that stands alone.
	Parent string
	// ID distinguishes it from others of the kind. It is empty for a kind of which a parent has one.
	ID string
}

// Of returns the identity of a resource of a Translation, and false for one that no backend can have. MidoNet's kinds are
// identified by the ids in their paths; all others by the field id, which is a string.
func Of(resource midonetv1.BackendResource) (Ref, bool) {
	if _, known := midonet.KindNamed(resource.Kind); known {
		r, err := midonet.NewResource(resource.Kind, resource.Parent, resource.Body)
		return Ref(r.Ref), err == nil
	}
	var body struct {
		ID string `json:"id"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(resource.Body), &body); err != nil || body.ID == "" {
		return Ref{}, false
	}
	return Ref{Kind: resource.Kind, Parent: resource.Parent, ID: body.ID}, true
}

// Identity returns the Ref without its parent, where the backend does not need the parent to find the resource. Two Refs
// with one Identity are one resource, that was moved from one parent to another.
func (r Ref) Identity() Ref {
	if _, known := midonet.KindNamed(r.Kind); known {
		return Ref(midonet.Ref(r).Identity())
	}
	r.Parent = ""
	return r
}

// String returns the resource as messages name it.
func (r Ref) String() string { return midonet.Ref(r).String() }
