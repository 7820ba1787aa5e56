// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// cacheRetryPeriod is the interval at which a watch cache that is not filled yet is queried again.
const cacheRetryPeriod = time.Second

// Resummarize writes the objects whose conditions another version of the server summarized differently, or not at all. It
// returns how many it wrote: none if all are as this version summarizes them.
func (r *StatusREST) Resummarize(ctx context.Context) (int, error) {
	var objects runtime.Object
	err := wait.PollUntilContextCancel(ctx, cacheRetryPeriod, true, func(ctx context.Context) (bool, error) {
		var err error
		// The watch cache has all objects. One that it does not have yet is written by this version.
		objects, err = r.store.List(genericapirequest.WithNamespace(ctx, metav1.NamespaceAll), &internalversion.ListOptions{ResourceVersion: "0"})
		if apierrors.IsTooManyRequests(err) { // the cache is being filled
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", r.info.Resource, err)
	}
	return resummarize(objects, r.isOutdated, func(o metav1.Object) error {
		info := r.info
		info.Namespace, info.Name = o.GetNamespace(), o.GetName()
		as := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, current runtime.Object) (runtime.Object, error) {
			return current.DeepCopyObject(), nil // with the summary of the strategy
		})
		ctx := genericapirequest.WithRequestInfo(genericapirequest.WithNamespace(ctx, info.Namespace), &info)
		_, _, err := r.store.Update(ctx, info.Name, as, nil, nil, false, &metav1.UpdateOptions{})
		return err
	})
}

// resummarize writes the outdated objects of a list. An object that cannot be written does not stop the others.
func resummarize(list runtime.Object, isOutdated func(runtime.Object) bool, write func(metav1.Object) error) (written int, err error) {
	var failed []error
	err = meta.EachListItem(list, func(object runtime.Object) error {
		o, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		if !isOutdated(object) {
			return nil
		}
		switch err := write(o); {
		case err == nil:
			written++
		case !apierrors.IsNotFound(err): // it has been deleted
			failed = append(failed, fmt.Errorf("summarize the conditions of %s/%s: %w", o.GetNamespace(), o.GetName(), err))
		}
		return nil
	})
	return written, errors.Join(append(failed, err)...)
}

// outdated returns a function that reports whether an object has another summary than this version writes.
func outdated[T Object](kind Kind[T]) func(runtime.Object) bool {
	return func(object runtime.Object) bool {
		if kind.Summarize == nil {
			return false
		}
		next := object.DeepCopyObject().(T)
		kind.Summarize(next, object.(T), time.Now())
		return !apiequality.Semantic.DeepEqual(object, runtime.Object(next))
	}
}
