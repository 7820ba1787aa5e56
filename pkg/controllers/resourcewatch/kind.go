// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcewatch watches resources that the API server may not serve. A watch starts when discovery reports the resource and ends
// when the resource is no longer served. While the existing objects are unknown, readers get an error instead of an incomplete list.
//
// Only the identity of an object is cached, and the value that its kind selects. The controllers of a manager share one Set, so that
// each resource is watched once.
package resourcewatch

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/objectmeta"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Kind is a kind to watch. With only GroupResource set, its metadata is watched.
type Kind struct {
	schema.GroupResource
	// Versions are the supported versions in order of preference. If empty, the version that the server prefers is used.
	Versions []string
	// OnlyVersions makes it an error if the server serves the resource only in versions that are not in Versions: objects exist that
	// cannot be read, so the result must not be an empty list.
	OnlyVersions bool
	// Value returns the part of the content of an object to cache with its identity. It may be nil.
	Value func(content map[string]any) any
	// Typed is the alternative to Value for a kind with a Go type, of the only version in Versions. If the Source has clients for types,
	// the objects are requested as protobuf, which both sides encode and decode with less CPU time than JSON. It may be nil.
	Typed *Typed
	// Metadata is the equivalent of Value for kinds whose metadata is sufficient. It may be nil.
	Metadata func(object metav1.Object) any
	// Indexes are index functions by name.
	Indexes map[string]func(*Object) []string
	// While lists kinds that precede this one in the Set. This one is watched only while one of them is. If empty, it is always watched.
	While []schema.GroupResource
}

// Object is a cached object: its identity, and the value that its kind selects.
type Object struct {
	Identity
	// Value is what Kind.Value returned.
	Value any
}

// Identity is the cached metadata. There may be 100,000 objects, and complete metadata needs three times the memory.
type Identity struct {
	objectmeta.ReadOnly
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

// Query selects objects of a kind. Empty fields match all objects.
type Query struct {
	Namespace, Name string
	// Index and Value select by an index of the kind.
	Index, Value string
	// Any allows the reader to return only one of the objects, for callers that check whether one exists.
	Any bool
}

// isWhole reports whether complete objects are read, in contrast to their metadata.
func (k *Kind) isWhole() bool { return k.Value != nil || k.Typed != nil }

// object returns the cached form of a decoded object, of which only the metadata may have been read.
func (k *Kind) object(from metav1.Object) *Object {
	kept := &Object{Identity: Identity{
		Namespace: kit.Intern(from.GetNamespace()), Name: from.GetName(), UID: from.GetUID(), ResourceVersion: from.GetResourceVersion(),
		Generation: from.GetGeneration(), CreationTimestamp: from.GetCreationTimestamp(),
	}}
	content, _ := from.(*unstructured.Unstructured)
	switch {
	case k.Typed != nil:
		kept.Value = k.Typed.of(from)
	case k.Value != nil && content != nil:
		kept.Value = k.Value(content.Object)
	case k.Metadata != nil:
		kept.Value = k.Metadata(from)
	}
	return kept
}

func (k *Kind) selects(query Query, object *Object) bool {
	if query.Namespace != "" && object.Namespace != query.Namespace || query.Name != "" && object.Name != query.Name {
		return false
	}
	return query.Index == "" || slices.Contains(k.Indexes[query.Index](object), query.Value)
}
