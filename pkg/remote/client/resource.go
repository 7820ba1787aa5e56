// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// pointer is an API object, or a list of them.
type pointer[O any] interface {
	*O
	runtime.Object
}

// object is an API object with a name.
type object[O any] interface {
	pointer[O]
	metav1.Object
}

// resource has the objects of type O, whose lists are of type L.
type resource[O, L any, T object[O], TL pointer[L]] struct {
	client          rest.Interface
	name, namespace string
}

func typed[O, L any, T object[O], TL pointer[L]](client rest.Interface, name, namespace string) Typed[T, TL] {
	return &resource[O, L, T, TL]{client: client, name: name, namespace: namespace}
}

// of makes a request one about this resource, with options.
func (r *resource[O, L, T, TL]) of(request *rest.Request, options runtime.Object) *rest.Request {
	return request.NamespaceIfScoped(r.namespace, r.namespace != "").Resource(r.name).VersionedParams(options, parameters)
}

// Create implements Typed.
func (r *resource[O, L, T, TL]) Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error) {
	created := T(new(O))
	return created, r.of(r.client.Post(), &options).Body(object).Do(ctx).Into(created)
}

// Update implements Typed.
func (r *resource[O, L, T, TL]) Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error) {
	updated := T(new(O))
	return updated, r.of(r.client.Put(), &options).Name(object.GetName()).Body(object).Do(ctx).Into(updated)
}

// Patch implements Typed.
func (r *resource[O, L, T, TL]) Patch(
	ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string,
) (T, error) {
	patched := T(new(O))
	return patched, r.of(r.client.Patch(kind), &options).Name(name).SubResource(subresources...).Body(patch).Do(ctx).Into(patched)
}

// Delete implements Typed.
func (r *resource[O, L, T, TL]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	// The options are the body: the server takes no conditions from the parameters.
	return r.client.Delete().NamespaceIfScoped(r.namespace, r.namespace != "").Resource(r.name).Name(name).Body(&options).Do(ctx).Error()
}

// Get implements Typed.
func (r *resource[O, L, T, TL]) Get(ctx context.Context, name string, options metav1.GetOptions) (T, error) {
	found := T(new(O))
	return found, r.of(r.client.Get(), &options).Name(name).Do(ctx).Into(found)
}

// List implements Typed.
func (r *resource[O, L, T, TL]) List(ctx context.Context, options metav1.ListOptions) (TL, error) {
	list := TL(new(L))
	return list, r.of(r.client.Get(), &options).Timeout(timeout(options)).Do(ctx).Into(list)
}

// Watch implements Typed.
func (r *resource[O, L, T, TL]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return r.of(r.client.Get(), &options).Timeout(timeout(options)).Watch(ctx)
}

// timeout returns how long the server may take, 0 when the options do not specify it.
func timeout(options metav1.ListOptions) time.Duration {
	if options.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*options.TimeoutSeconds) * time.Second
}
