// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
	"groundskeeper.io/groundskeeper/pkg/registry/listbudget"
)

// REST serves the objects of a kind. On a dry run it rejects a claimed name as the real request would be.
type REST[T Object] struct {
	claims.Store
	kind Kind[T]
}

var (
	_ rest.StandardStorage    = &REST[Object]{}
	_ rest.ShortNamesProvider = &REST[Object]{}
	_ rest.CategoriesProvider = &REST[Object]{}
)

// ShortNames are further names on the command line.
func (r *REST[T]) ShortNames() []string { return r.kind.ShortNames }

// Categories returns the groups of resources that the kind is part of on the command line.
func (r *REST[T]) Categories() []string { return r.kind.Categories }

// List reads objects, and reserves the memory for the response.
func (r *REST[T]) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	list, err := r.Store.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return list, listbudget.Reserve(ctx, list)
}

// StatusREST serves the status subresource of a kind.
type StatusREST struct {
	store *genericregistry.Store
	// info describes a request for the status of an object, up to its name.
	info genericapirequest.RequestInfo
	// isOutdated reports whether the conditions of an object are summarized differently by this version.
	isOutdated func(runtime.Object) bool
}

var (
	_ rest.Patcher             = &StatusREST{}
	_ rest.ResetFieldsStrategy = &StatusREST{}
	_ rest.TableConvertor      = &StatusREST{}
)

// New returns an empty object.
func (r *StatusREST) New() runtime.Object { return r.store.New() }

// Destroy does nothing: the store is shared with the REST of the objects, which closes it.
func (r *StatusREST) Destroy() {}

// Get reads an object.
func (r *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update changes the status of an object. It never creates one. The uid of a request is a precondition, also of a patch.
func (r *StatusREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	info = rest.WrapUpdatedObjectInfo(info, r.sameObject)
	return r.store.Update(ctx, name, info, createValidation, updateValidation, false, options)
}

// sameObject rejects the status of an object that was deleted meanwhile, and whose name another one has. Elsewhere a uid cannot change;
// an update of the status takes all metadata back to what it was, before that is validated.
func (r *StatusREST) sameObject(_ context.Context, obj, old runtime.Object) (runtime.Object, error) {
	now, before := obj.(metav1.Object), old.(metav1.Object)
	if uid := now.GetUID(); uid != "" && uid != before.GetUID() {
		return nil, apierrors.NewConflict(r.store.DefaultQualifiedResource, before.GetName(),
			fmt.Errorf("precondition failed: uid in the request: %s, uid of the object: %s", uid, before.GetUID()))
	}
	return obj, nil
}

// GetResetFields returns what an applier of the status does not own.
func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable returns the columns that kubectl prints.
func (r *StatusREST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, obj, options)
}
