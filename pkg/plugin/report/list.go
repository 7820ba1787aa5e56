// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Pages lists objects, and calls a function with each page of them, of 500 unless the options have another limit. It returns the resource
// version of the list.
func Pages(
	ctx context.Context, c client.Reader, list client.ObjectList, page func([]client.Object), options ...client.ListOption,
) (string, error) {
	for next := ""; ; {
		list := list.DeepCopyObject().(client.ObjectList) //nolint:forcetypeassert // a copy is of the same type
		if err := c.List(ctx, list, slices.Concat([]client.ListOption{client.Limit(500)}, options,
			[]client.ListOption{client.Continue(next)})...); err != nil {
			return "", err
		}
		var objects []client.Object
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			objects = append(objects, item.(client.Object)) //nolint:forcetypeassert // items of a list have metadata
			return nil
		}); err != nil {
			return "", err
		}
		page(objects)
		if next = list.GetContinue(); next == "" {
			return list.GetResourceVersion(), nil
		}
	}
}

// All lists objects page by page.
func All(ctx context.Context, c client.Reader, list client.ObjectList, namespace string) (all []client.Object, err error) {
	_, err = Pages(ctx, c, list, func(page []client.Object) { all = append(all, page...) }, client.InNamespace(namespace))
	return all, err
}
