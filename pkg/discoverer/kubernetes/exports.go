// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// Exports are clients of the ServiceExports of the backend.
type Exports struct {
	// Client queries, and has a timeout. Watching watches, and has none.
	Client, Watching func(namespace string) client.ServiceExports
}

// exportsError is that of a request for ServiceExports. Without them it is unknown what is exported.
type exportsError struct{ error }

// Unwrap returns the response.
func (e *exportsError) Unwrap() error { return e.error }

// newExports creates the cache of the ServiceExports, which notifies of Services that are exported, or are no longer exported.
func (u *Upstream) newExports() {
	exports := func(namespace string) verified[*metav1.PartialObjectMetadataList] {
		return verified[*metav1.PartialObjectMetadataList]{u.Exports.Watching(namespace), u.verify, u.limits.of("serviceexports", namespace)}
	}
	u.withdrawn = &withdrawn{keys: sets.New[types.NamespacedName](), changed: make(chan struct{}, 1)}
	source := remote.From(u.Watching, metav1.ListOptions{}, exports)
	u.exports = remote.NewInformers(u.Namespaces, source, remote.Kind[*metav1.PartialObjectMetadata]{
		Example: &metav1.PartialObjectMetadata{},
		Trim: func(export *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Namespace: export.Namespace, Name: export.Name, ResourceVersion: export.ResourceVersion,
			}}
		},
		Set: func(export *metav1.PartialObjectMetadata) {
			u.withdrawn.remove(exported(export))
			u.listener.Touch(exported(export))
		},
		Deleted: func(export *metav1.PartialObjectMetadata, watched bool) {
			if watched {
				u.withdrawn.add(exported(export))
				return
			}
			u.listener.Touch(exported(export))
		},
	})
}

// isExported reports whether a Service may be copied: every one, unless only exported ones are.
func (u *Upstream) isExported(key types.NamespacedName) bool {
	if u.exports == nil {
		return true
	}
	_, ok := u.exports.Get(key.Namespace, key.Name)
	return ok || u.withdrawn.has(key)
}

// listExports lists the ServiceExports of a namespace again, nil when all Services are copied.
func (u *Upstream) listExports(ctx context.Context, namespace string) (sets.Set[types.NamespacedName], error) {
	if u.Exports == nil {
		return nil, nil
	}
	found := sets.New[types.NamespacedName]()
	err := remote.EachPage(ctx, u.Exports.Client(namespace), metav1.ListOptions{}, func(list *metav1.PartialObjectMetadataList) {
		for i := range list.Items {
			found.Insert(exported(&list.Items[i]))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the service exports of the backend: %w", err)
	}
	return found, nil
}

// queryExports checks that the ServiceExports can be listed.
func (u *Upstream) queryExports(ctx context.Context, namespace string) error {
	if u.Exports == nil {
		return nil
	}
	if _, err := u.Exports.Client(namespace).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return &exportsError{err}
	}
	return nil
}

// exported returns the Service that a ServiceExport exports.
func exported(export *metav1.PartialObjectMetadata) types.NamespacedName {
	return types.NamespacedName{Namespace: export.Namespace, Name: export.Name}
}
