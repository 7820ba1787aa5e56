// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package registry stores and serves kinds. What all kinds have in common is here, once: the store, the status subresource, the
// strategy around creation and update, and the table that kubectl prints. What differs from kind to kind is a Kind, in a dedicated
// package below this one.
package registry

import (
	"fmt"
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

// Object is what every kind is.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind describes a kind to NewStorage: its names, its columns and the rules that only it has.
type Kind[T Object] struct {
	// GroupVersion is the one version that is served and stored.
	GroupVersion schema.GroupVersion
	// Resource is the plural, Singular the singular name in paths and on the command line.
	Resource, Singular string
	// ShortNames are further names on the command line, Categories the groups it belongs to there.
	ShortNames, Categories []string
	// Namespaced reports whether objects live in namespaces.
	Namespaced bool
	// Finalizer is on every object from its creation to its deletion; "" for none.
	Finalizer string
	// AllOrNone makes a DELETECOLLECTION delete nothing when admission rejects the deletion of one of the objects.
	AllOrNone bool
	// DesiredFields are the top-level JSON fields that users write: neither metadata nor status.
	DesiredFields []string

	// New and NewList return an empty object and an empty list.
	New     func() T
	NewList func() runtime.Object
	// Desired returns what DesiredFields hold, to compare; a change raises the generation.
	Desired func(T) any
	// CopyStatus copies the status from one object to another, Assign copies all of it: *to = *from.
	CopyStatus, Assign func(to, from T)
	// Normalize brings an object to the one form in which it is stored. It is idempotent. It may be nil.
	Normalize func(T)
	// Summarize writes the conditions that summarize the others. It is called before each write of an object, when all else of
	// it is known, with the object before the write, an empty one for a new object. It does not change lists that another
	// object may share. It may be nil.
	Summarize func(obj, old T, now time.Time)
	// Warn returns the warnings for a user that makes a valid change, dry runs included. It may be nil.
	Warn func(obj, old T) []string
	// SelectableFields are what field selectors can request beside name and namespace. It may be nil.
	SelectableFields func(T) fields.Set
	// IndexedFields are the selectable fields that the watch cache keeps an index of.
	IndexedFields []string
	// Columns are what kubectl prints between name and age.
	Columns []Column[T]

	// Rules are the steps of creation and update that only this kind has.
	Rules Rules[T]
}

// Rules are the steps of creation and update that differ from kind to kind. They see the object before it is
// normalised, and validate it after.
type Rules[T Object] interface {
	// PrepareForCreate sets what the server decides. Name, namespace and uid are known. It is idempotent.
	PrepareForCreate(obj T)
	// PrepareForUpdate carries over what a new version of an object lacks but cannot lose.
	PrepareForUpdate(obj, old T)
	// Validate checks a new object.
	Validate(obj T) field.ErrorList
	// ValidateUpdate checks a change.
	ValidateUpdate(obj, old T) field.ErrorList
	// ValidateStatusUpdate checks a change of the status.
	ValidateStatusUpdate(obj, old T) field.ErrorList
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
	attrs, indexers := kind.attributes(), cache.Indexers{}
	store.PredicateFunc = func(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
		return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attrs, IndexFields: kind.IndexedFields}
	}
	for _, name := range kind.IndexedFields {
		indexers[storage.FieldIndex(name)] = func(obj any) ([]string, error) {
			o, ok := obj.(T)
			if !ok {
				return nil, fmt.Errorf("cannot index a %T", obj)
			}
			return []string{kind.SelectableFields(o)[name]}, nil
		}
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options, AttrFunc: attrs, Indexers: &indexers}); err != nil {
		return nil, fmt.Errorf("cannot store %s.%s: %w", kind.Resource, kind.GroupVersion.Group, err)
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

// attributes returns what label and field selectors see of an object.
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
