// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"
)

// Metadata returns the metadata of all objects of a resource that a label selector selects, in a namespace or in all. It lists page by
// page, and fails if a page has expired: the pages of different lists may lack an object.
func Metadata(
	ctx context.Context, objects metadata.Interface, resource schema.GroupVersionResource, namespace, selector string,
) (found []metav1.PartialObjectMetadata, err error) {
	list := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return objects.Resource(resource).Namespace(namespace).List(ctx, options)
	})
	err = list.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(item runtime.Object) error {
		found = append(found, *item.(*metav1.PartialObjectMetadata)) //nolint:forcetypeassert // of a list of metadata
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	return found, nil
}
