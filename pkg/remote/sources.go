// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Lister is a typed client of one kind in one namespace.
type Lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// From returns where the objects come from that selectors select: those of a typed client for each namespace. client is what it
// belongs to; one that is made for tests reports about itself that its watches do not begin with what is there.
func From[C Lister[L], L runtime.Object](client any, selected metav1.ListOptions, typed func(namespace string) C) Source {
	return func(namespace string) cache.ListerWatcher {
		typed := typed(namespace)
		return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.LabelSelector, options.FieldSelector = selected.LabelSelector, selected.FieldSelector
				return typed.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.LabelSelector, options.FieldSelector = selected.LabelSelector, selected.FieldSelector
				return typed.Watch(ctx, options)
			},
		}, client)
	}
}

// EndpointSlices returns where the EndpointSlices come from that a label selector selects, by a clientset of Kubernetes.
// It does not name the type of the clientset, which would bring all kinds into programs that need few.
func EndpointSlices[G interface{ EndpointSlices(namespace string) C }, C Lister[*discoveryv1.EndpointSliceList]](
	clientset interface{ DiscoveryV1() G }, selector string,
) Source {
	return From(clientset, metav1.ListOptions{LabelSelector: selector}, clientset.DiscoveryV1().EndpointSlices)
}
