// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"groundskeeper.io/groundskeeper/pkg/policyparams"
)

// resync is the period of the library's informers for parameters.
const resync = 10 * time.Minute

// informer reads the parameters of one kind, and knows whether it is allowed to.
type informer struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer

	mu     sync.Mutex
	denied error
}

func newInformer(objects dynamic.Interface, resource schema.GroupVersionResource) *informer {
	i := &informer{resource: resource}
	i.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := objects.Resource(resource).List(ctx, options)
			i.observe(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := objects.Resource(resource).Watch(ctx, options)
			i.observe(ctx, err)
			return events, err
		},
	}, objects), &unstructured.Unstructured{}, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	// Both fail only for an informer that has started.
	_ = i.informer.SetTransform(typed)
	_ = i.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if !isDenial(err) { // observe has logged a denial once
			cache.DefaultWatchErrorHandler(ctx, r, err)
		}
	})
	return i
}

// typed converts an object of a kind of Kubernetes to its Go type, so that expressions see the same as in a kube-apiserver.
func typed(object any) (any, error) {
	content, ok := object.(*unstructured.Unstructured)
	if !ok || !clientgoscheme.Scheme.Recognizes(content.GroupVersionKind()) {
		return object, nil
	}
	converted, err := clientgoscheme.Scheme.New(content.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, converted); err != nil {
		return nil, fmt.Errorf("convert %s %s/%s: %w", content.GroupVersionKind(), content.GetNamespace(), content.GetName(), err)
	}
	converted.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return converted, nil
}

// isDenial reports whether an error is the response to a request that the server is not allowed to make.
func isDenial(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// observe records the outcome of a request. Without a response, what was known remains true.
func (i *informer) observe(ctx context.Context, err error) {
	if err != nil && !isDenial(err) {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	logger := klog.FromContext(ctx).WithValues("resource", i.resource.GroupResource().String())
	switch {
	case err == nil && i.denied != nil:
		logger.Info("Reads the parameters of admission policies again")
		i.denied = nil
	case err != nil:
		if i.denied == nil {
			logger.Info("Not allowed to read the parameters of admission policies, whose failurePolicy decides about the requests that they match",
				"label", policyparams.AggregationLabel, "err", err)
		}
		i.denied = fmt.Errorf("groundskeeper-apiserver is not allowed to read %s, the parameters of the policy: "+
			"create a ClusterRole that allows get, list and watch, with the label %s=true: %w",
			i.resource.GroupResource(), policyparams.AggregationLabel, err)
	}
}

// denial returns why the parameters cannot be read, nil while they can.
func (i *informer) denial() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.denied
}

// Informer implements informers.GenericInformer.
func (i *informer) Informer() cache.SharedIndexInformer { return settled{i.informer, i} }

// Lister implements informers.GenericInformer.
func (i *informer) Lister() cache.GenericLister {
	return lister{cache.NewGenericLister(i.informer.GetIndexer(), i.resource.GroupResource()), i.unreadable}
}

// unreadable returns why the cache must not be used, nil when it is complete and may be read. An incomplete cache would mean that
// parameters do not exist, which a policy may allow.
func (i *informer) unreadable() error {
	if err := i.denial(); err != nil {
		return err
	}
	if !i.informer.HasSynced() {
		return fmt.Errorf("%s, the parameters of the policy, are not yet synced", i.resource.GroupResource())
	}
	return nil
}

// settled is an informer that need not be waited for once it is known that it cannot sync.
type settled struct {
	cache.SharedIndexInformer
	informer *informer
}

// HasSynced implements cache.SharedIndexInformer.
func (s settled) HasSynced() bool {
	return s.SharedIndexInformer.HasSynced() || s.informer.denial() != nil
}

// lister reads a cache while it may be used. Its error is one of the binding, for which the failurePolicy decides.
type lister struct {
	cache.GenericLister
	unreadable func() error
}

// List implements cache.GenericLister.
func (l lister) List(selector labels.Selector) ([]runtime.Object, error) {
	if err := l.unreadable(); err != nil {
		return nil, err
	}
	return l.GenericLister.List(selector)
}

// Get implements cache.GenericLister.
func (l lister) Get(name string) (runtime.Object, error) {
	if err := l.unreadable(); err != nil {
		return nil, err
	}
	return l.GenericLister.Get(name)
}

// ByNamespace implements cache.GenericLister.
func (l lister) ByNamespace(namespace string) cache.GenericNamespaceLister {
	return namespaceLister{l.GenericLister.ByNamespace(namespace), l.unreadable}
}

type namespaceLister struct {
	cache.GenericNamespaceLister
	unreadable func() error
}

// List implements cache.GenericNamespaceLister.
func (l namespaceLister) List(selector labels.Selector) ([]runtime.Object, error) {
	if err := l.unreadable(); err != nil {
		return nil, err
	}
	return l.GenericNamespaceLister.List(selector)
}

// Get implements cache.GenericNamespaceLister.
func (l namespaceLister) Get(name string) (runtime.Object, error) {
	if err := l.unreadable(); err != nil {
		return nil, err
	}
	return l.GenericNamespaceLister.Get(name)
}
