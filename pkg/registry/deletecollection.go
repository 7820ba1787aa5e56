// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// validatedPageSize is how many objects are read at a time to be validated, as many as the library deletes at a time.
const validatedPageSize = 500

// DeleteCollection deletes the objects that the list options choose. The library calls admission for each object when it is about
// to delete it, so that one that is rejected leaves those behind it, and not those before it. Where that would leave half of a
// collection deleted (Kind.AllOrNone), all objects are reviewed before the first one is deleted.
func (r *REST[T]) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *internalversion.ListOptions) (runtime.Object, error) {
	if r.kind.AllOrNone {
		if err := validateEach(ctx, r.List, validate, listOptions); err != nil {
			return nil, err
		}
	}
	return r.Store.DeleteCollection(ctx, validate, options, listOptions)
}

// validateEach validates each object that a DeleteCollection with the same list options would delete. It returns the first
// rejection, and an error when it cannot list them to the end.
func validateEach(ctx context.Context, list func(context.Context, *internalversion.ListOptions) (runtime.Object, error), validate rest.ValidateObjectFunc, options *internalversion.ListOptions) error {
	if validate == nil {
		return nil
	}
	page := &internalversion.ListOptions{}
	if options != nil {
		page = options.DeepCopy()
	}
	onlyOne := page.Limit > 0 // the library deletes no more then
	if !onlyOne {
		page.Limit = validatedPageSize
	}
	for {
		objects, err := list(ctx, page)
		if err != nil {
			return err
		}
		if err := meta.EachListItem(objects, func(object runtime.Object) error { return validate(ctx, object) }); err != nil {
			return err
		}
		accessor, err := meta.ListAccessor(objects)
		if err != nil {
			return fmt.Errorf("a %T is not a list: %w", objects, err)
		}
		if onlyOne || accessor.GetContinue() == "" {
			return nil
		}
		page.Continue, page.ResourceVersion, page.ResourceVersionMatch = accessor.GetContinue(), "", ""
	}
}
