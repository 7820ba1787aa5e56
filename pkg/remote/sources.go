// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// lister is a typed client of one kind in one namespace.
type lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func listWatch[L runtime.Object](client kubernetes.Interface, selector string, typed lister[L]) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return typed.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return typed.Watch(ctx, options)
		},
	}, client)
}

// Services returns where the Services come from that a label selector selects.
func Services(client kubernetes.Interface, selector string) Source {
	return func(namespace string) cache.ListerWatcher {
		return listWatch(client, selector, client.CoreV1().Services(namespace))
	}
}

// EndpointSlices returns where the EndpointSlices come from that a label selector selects.
func EndpointSlices(client kubernetes.Interface, selector string) Source {
	return func(namespace string) cache.ListerWatcher {
		return listWatch(client, selector, client.DiscoveryV1().EndpointSlices(namespace))
	}
}

// Namespaces returns where the Namespaces come from.
func Namespaces(client kubernetes.Interface) Source {
	return func(string) cache.ListerWatcher { return listWatch(client, "", client.CoreV1().Namespaces()) }
}
