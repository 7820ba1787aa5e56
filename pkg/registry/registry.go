// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package registry stores and serves kinds. It has the code that all kinds share: the store, the status subresource, the strategy for
// creation and update, and the table that kubectl prints. Kind-specific code is in a Kind, in one package per kind below this one.
package registry

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/client-go/tools/cache"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

// Object is implemented by every kind.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind describes a kind for NewStorage: its names, columns and kind-specific rules.
type Kind[T Object] struct {
	// GroupVersion is the only version that is served and stored.
	GroupVersion schema.GroupVersion
	// Resource is the plural, Singular the singular name in paths and on the command line.
	Resource, Singular string
	// ShortNames and Categories are those of kubectl.
	ShortNames, Categories []string
	// Namespaced reports whether the kind is namespaced.
	Namespaced bool
	// Finalizer is set at the creation of each object, unless it is empty.
	Finalizer string
	// AllOrNone makes a DELETECOLLECTION delete nothing when admission rejects the deletion of one of the objects.
	AllOrNone bool
	// DesiredFields are the top-level JSON fields with the desired state: all except metadata and status.
	DesiredFields []string

	// New and NewList return an empty object and an empty list.
	New     func() T
	NewList func() runtime.Object
	// Desired returns the values of DesiredFields. If they change, the generation is incremented.
	Desired func(T) any
	// CopyStatus copies the status of an object, Assign the complete object: *to = *from.
	CopyStatus, Assign func(to, from T)
	// Normalize converts an object to the canonical form in which it is stored. It is idempotent. It may be nil.
	Normalize func(T)
	// Summarize sets the conditions that summarize the others. It is the last step before each write of an object. The old object is
	// empty for a creation. It must not modify slices that other objects may share. It may be nil.
	Summarize func(obj, old T, now time.Time)
	// Warn returns the warnings of a valid request, including dry runs. It may be nil.
	Warn func(obj, old T) []string
	// SelectableFields returns the fields for field selectors in addition to name and namespace. It may be nil.
	SelectableFields func(T) fields.Set
	// IndexedFields are the selectable fields for which the watch cache has an index.
	IndexedFields []string
	// Indexes are further indexes of the watch cache, each with the values of an object in it. Clients cannot select by their names:
	// they are for selectors of the server that require exactly one value. It may be nil.
	Indexes map[string]func(T) []string
	// Columns are the columns that kubectl prints between name and age.
	Columns []Column[T]

	// PrepareForCreate sets the fields that the server determines, before an object is normalized. Name, namespace and UID are set. It is
	// idempotent. It may be nil.
	PrepareForCreate func(obj T)
	// PrepareForUpdate copies fields from the old object that a new version must not remove, before it is normalized. It may be nil.
	PrepareForUpdate func(obj, old T)
	// Validate checks a new object, ValidateUpdate a change, and ValidateStatusUpdate a change of the status.
	Validate                             func(obj T) field.ErrorList
	ValidateUpdate, ValidateStatusUpdate func(obj, old T) field.ErrorList
}

// NewStorage returns the REST endpoints of a kind: the objects and their status, by resource name.
func NewStorage[T Object](kind Kind[T], scheme *runtime.Scheme, options generic.RESTOptionsGetter) (map[string]rest.Storage, error) {
	s := strategy[T]{rest.DeclarativeValidation{Scheme: scheme}, names.SimpleNameGenerator, kind}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return kind.New() },
		NewListFunc:               kind.NewList,
		DefaultQualifiedResource:  schema.GroupResource{Group: kind.GroupVersion.Group, Resource: kind.Resource},
		SingularQualifiedResource: schema.GroupResource{Group: kind.GroupVersion.Group, Resource: kind.Singular},
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		TableConvertor:            table[T](kind.Columns),
	}
	attrs := kind.attributes()
	indexers, indexed := kind.indexers()
	store.PredicateFunc = func(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
		return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attrs, IndexFields: indexed}
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options, AttrFunc: attrs, Indexers: &indexers}); err != nil {
		return nil, fmt.Errorf("create the store of %s.%s: %w", kind.Resource, kind.GroupVersion.Group, err)
	}
	status := *store
	status.UpdateStrategy, status.ResetFieldsStrategy = statusStrategy[T]{s}, statusStrategy[T]{s}
	return map[string]rest.Storage{
		kind.Resource: &REST[T]{claims.Store{Store: store}, kind},
		kind.Resource + "/status": &StatusREST{&status, genericapirequest.RequestInfo{
			IsResourceRequest: true, Verb: "update", APIGroup: kind.GroupVersion.Group, APIVersion: kind.GroupVersion.Version,
			Resource: kind.Resource, Subresource: "status",
		}, outdated(kind)},
	}, nil
}

// indexers returns the indexes of the watch cache and the names of their fields. The watch cache uses the first that a selector
// requires a value of.
func (k Kind[T]) indexers() (cache.Indexers, []string) {
	indexers, names := cache.Indexers{}, slices.Clone(k.IndexedFields)
	add := func(name string, values func(T) []string) {
		indexers[storage.FieldIndex(name)] = func(obj any) ([]string, error) {
			o, ok := obj.(T)
			if !ok {
				return nil, fmt.Errorf("cannot index a %T", obj)
			}
			return values(o), nil
		}
	}
	for _, name := range k.IndexedFields {
		add(name, func(o T) []string { return []string{k.SelectableFields(o)[name]} })
	}
	for _, name := range slices.Sorted(maps.Keys(k.Indexes)) {
		add(name, k.Indexes[name])
		names = append(names, name)
	}
	return indexers, names
}

// attributes returns the labels and fields of an object for selectors.
func (k Kind[T]) attributes() storage.AttrFunc {
	return func(obj runtime.Object) (labels.Set, fields.Set, error) {
		o, ok := obj.(T)
		if !ok {
			return nil, nil, fmt.Errorf("cannot select a %T as one of %s", obj, k.Resource)
		}
		set := fields.Set{"metadata.name": o.GetName()}
		if k.Namespaced {
			set["metadata.namespace"] = o.GetNamespace()
		}
		if k.SelectableFields != nil {
			for name, value := range k.SelectableFields(o) {
				set[name] = value
			}
		}
		return o.GetLabels(), set, nil
	}
}
