// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is the number of objects per page of a list.
const pageSize = 500

// all lists the objects of a kind, page by page.
func all[L client.ObjectList, T any](ctx context.Context, c client.Reader, empty L, items func(L) []T) ([]T, error) {
	var found []T
	for next := ""; ; {
		list := empty.DeepCopyObject().(L)
		if err := c.List(ctx, list, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, err
		}
		found = append(found, items(list)...)
		if next = list.GetContinue(); next == "" {
			return found, nil
		}
	}
}

// metadataOf lists the metadata of a resource, page by page. A resource that the cluster does not have has no objects.
func (u *Uninstaller) metadataOf(ctx context.Context, resource schema.GroupVersionResource, namespace, selector string) ([]metav1.PartialObjectMetadata, error) {
	var found []metav1.PartialObjectMetadata
	for next := ""; ; {
		list, err := u.Metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: pageSize, Continue: next})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			found = append(found, *item.(*metav1.PartialObjectMetadata))
			return nil
		}); err != nil {
			return nil, err
		}
		if next = list.Continue; next == "" {
			return found, nil
		}
	}
}
