// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Typed is how objects of a kind are decoded as a Go type.
type Typed struct {
	example runtime.Object
	// value returns the part of an object to cache, or nil for an object of another type.
	value func(object any) any
}

type typedObject interface {
	runtime.Object
	metav1.Object
}

// As returns how objects are decoded as the type of an empty object. value returns the part of an object to cache with its identity.
func As[T typedObject](example T, value func(T) any) *Typed {
	return &Typed{example: example, value: func(object any) any {
		if typed, ok := object.(T); ok {
			return value(typed)
		}
		return nil
	}}
}

// of returns the part of an object to cache, or nil if the object cannot be decoded as the type.
func (t *Typed) of(object metav1.Object) any {
	content, ok := object.(*unstructured.Unstructured)
	if !ok {
		return t.value(object)
	}
	typed := t.example.DeepCopyObject()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, typed); err != nil {
		return nil
	}
	return t.value(typed)
}

// typedLister lists and watches objects that are decoded as a Go type.
type typedLister struct {
	client   func() (rest.Interface, error)
	resource string
}

func (l typedLister) list(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	request, err := l.request(namespace, &options)
	if err != nil {
		return nil, err
	}
	return request.Do(ctx).Get()
}

func (l typedLister) watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	options.Watch = true
	request, err := l.request(metav1.NamespaceAll, &options)
	if err != nil {
		return nil, err
	}
	return request.Watch(ctx)
}

func (l typedLister) request(namespace string, options *metav1.ListOptions) (*rest.Request, error) {
	client, err := l.client()
	if err != nil {
		return nil, err
	}
	return client.Get().NamespaceIfScoped(namespace, namespace != metav1.NamespaceAll).Resource(l.resource).
		VersionedParams(options, metav1.ParameterCodec), nil
}

func typedClients(mgr manager.Manager) func(example runtime.Object) (rest.Interface, error) {
	codecs := serializer.NewCodecFactory(mgr.GetScheme())
	return func(example runtime.Object) (rest.Interface, error) {
		kind, err := apiutil.GVKForObject(example, mgr.GetScheme())
		if err != nil {
			return nil, fmt.Errorf("create a client for %T: %w", example, err)
		}
		client, err := apiutil.RESTClientForGVK(kind, false, false, mgr.GetConfig(), codecs, mgr.GetHTTPClient())
		if err != nil {
			return nil, fmt.Errorf("create a client for %s: %w", kind, err)
		}
		return client, nil
	}
}
