// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds follows objects of kinds that the API server may or may not serve: a kind that appears is watched, one that is
// deleted is discarded, and while the objects that exist are unknown, readers get an error instead of an incomplete list.
//
// Of each object only its identity is kept, and what a kind requests by Value. The controllers of one manager share a Set, so that
// each kind is watched once.
package kinds

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/readonly"
	"groundskeeper.io/groundskeeper/pkg/intern"
)

// Kind is a kind to follow. The zero value of all except GroupResource is a kind of which only metadata is read.
type Kind struct {
	schema.GroupResource
	// Versions are those that can be read, the best first. Empty: whatever the server prefers.
	Versions []string
	// OnlyVersions makes it an error that the server has the resource in other versions than Versions only: its objects
	// are there and cannot be read, which is not the same as none.
	OnlyVersions bool
	// Value picks from the content of an object what is kept beyond its identity. nil: nothing.
	Value func(content map[string]any) any
	// Metadata does so for a kind without Value, of which only metadata is read.
	Metadata func(object metav1.Object) any
	// Indexes specify by which values an object is found, by the name of the index.
	Indexes map[string]func(*Object) []string
	// While names kinds of the same Set, before this one: without any of them this one is not watched. Empty: always.
	While []schema.GroupResource
}

// Object is what is kept of an object: its identity, and what its kind requests.
type Object struct {
	Identity
	// Value is what Kind.Value returned.
	Value any
}

// Identity is the metadata that is kept: there may be 100,000 objects, and all metadata takes three times as much.
type Identity struct {
	readonly.Object
	Namespace, Name   string
	UID               types.UID
	ResourceVersion   string
	Generation        int64
	CreationTimestamp metav1.Time
}

// GetNamespace implements metav1.Object.
func (i *Identity) GetNamespace() string { return i.Namespace }

// GetName implements metav1.Object.
func (i *Identity) GetName() string { return i.Name }

// GetUID implements metav1.Object.
func (i *Identity) GetUID() types.UID { return i.UID }

// GetResourceVersion implements metav1.Object.
func (i *Identity) GetResourceVersion() string { return i.ResourceVersion }

// GetGeneration implements metav1.Object.
func (i *Identity) GetGeneration() int64 { return i.Generation }

// GetCreationTimestamp implements metav1.Object.
func (i *Identity) GetCreationTimestamp() metav1.Time { return i.CreationTimestamp }

// Query selects objects of a kind. What is empty does not restrict.
type Query struct {
	Namespace, Name string
	// Index and Value select by an index of the kind.
	Index, Value string
	// Any is for who wants to know whether there are any: not all need be returned.
	Any bool
}

// object makes of a decoded object what is kept of it. The content is nil when only the metadata was read.
func (k *Kind) object(meta metav1.Object, content map[string]any) *Object {
	kept := &Object{Identity: Identity{
		Namespace: intern.String(meta.GetNamespace()), Name: meta.GetName(), UID: meta.GetUID(), ResourceVersion: meta.GetResourceVersion(),
		Generation: meta.GetGeneration(), CreationTimestamp: meta.GetCreationTimestamp(),
	}}
	switch {
	case k.Value != nil:
		kept.Value = k.Value(content)
	case k.Metadata != nil:
		kept.Value = k.Metadata(meta)
	}
	return kept
}

// selects reports whether a query selects an object.
func (k *Kind) selects(query Query, object *Object) bool {
	if query.Namespace != "" && object.Namespace != query.Namespace || query.Name != "" && object.Name != query.Name {
		return false
	}
	return query.Index == "" || slices.Contains(k.Indexes[query.Index](object), query.Value)
}
