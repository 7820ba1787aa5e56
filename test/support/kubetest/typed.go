// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	remote "groundskeeper.io/groundskeeper/pkg/remote/client"
)

// Typed returns a client as discoverers have it. Lists with a field selector need an index of that field.
func Typed(c client.WithWatch) remote.Interface { return typed{c} }

type typed struct{ client.WithWatch }

// IsWatchListSemanticsUnSupported reports to reflectors that they have to list before they watch.
func (t typed) IsWatchListSemanticsUnSupported() bool { return true }

// Services implements remote.Interface.
func (t typed) Services(namespace string) remote.Services {
	return resource[*corev1.Service, *corev1.ServiceList]{t.WithWatch, namespace, func() *corev1.Service { return &corev1.Service{} }, func() *corev1.ServiceList { return &corev1.ServiceList{} }}
}

// EndpointSlices implements remote.Interface.
func (t typed) EndpointSlices(namespace string) remote.EndpointSlices {
	return resource[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList]{t.WithWatch, namespace, func() *discoveryv1.EndpointSlice { return &discoveryv1.EndpointSlice{} }, func() *discoveryv1.EndpointSliceList { return &discoveryv1.EndpointSliceList{} }}
}

// Namespaces implements remote.Interface.
func (t typed) Namespaces() remote.Namespaces {
	return resource[*corev1.Namespace, *corev1.NamespaceList]{t.WithWatch, "", func() *corev1.Namespace { return &corev1.Namespace{} }, func() *corev1.NamespaceList { return &corev1.NamespaceList{} }}
}

// resource has the objects of one kind in a namespace, or in all.
type resource[T client.Object, L client.ObjectList] struct {
	client    client.WithWatch
	namespace string
	empty     func() T
	none      func() L
}

// Create implements remote.Typed.
func (r resource[T, L]) Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error) {
	created := object.DeepCopyObject().(T)
	return created, r.client.Create(ctx, created, client.FieldOwner(options.FieldManager))
}

// Update implements remote.Typed.
func (r resource[T, L]) Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error) {
	updated := object.DeepCopyObject().(T)
	return updated, r.client.Update(ctx, updated, client.FieldOwner(options.FieldManager))
}

// Patch implements remote.Typed.
func (r resource[T, L]) Patch(
	ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string,
) (T, error) {
	patched := r.named(name)
	if len(subresources) > 0 {
		return patched, fmt.Errorf("a patch of %q of %s: discoverers patch no subresources", subresources, name)
	}
	return patched, r.client.Patch(ctx, patched, client.RawPatch(kind, patch), client.FieldOwner(options.FieldManager))
}

// Delete implements remote.Typed.
func (r resource[T, L]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return r.client.Delete(ctx, r.named(name), &client.DeleteOptions{Preconditions: options.Preconditions, PropagationPolicy: options.PropagationPolicy})
}

// Get implements remote.Typed.
func (r resource[T, L]) Get(ctx context.Context, name string, _ metav1.GetOptions) (T, error) {
	found := r.empty()
	return found, r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, found)
}

// List implements remote.Typed.
func (r resource[T, L]) List(ctx context.Context, options metav1.ListOptions) (L, error) {
	list := r.none()
	selected, err := r.selected(options)
	if err != nil {
		return list, err
	}
	return list, r.client.List(ctx, list, selected)
}

// Watch implements remote.Typed.
func (r resource[T, L]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	selected, err := r.selected(options)
	if err != nil {
		return nil, err
	}
	return r.client.Watch(ctx, r.none(), selected)
}

func (r resource[T, L]) named(name string) T {
	object := r.empty()
	object.SetNamespace(r.namespace)
	object.SetName(name)
	return object
}

// selected translates the options of a list.
func (r resource[T, L]) selected(options metav1.ListOptions) (*client.ListOptions, error) {
	selected := &client.ListOptions{Namespace: r.namespace, Limit: options.Limit, Continue: options.Continue}
	var err error
	if selected.LabelSelector, err = labels.Parse(options.LabelSelector); err != nil {
		return nil, err
	}
	if options.FieldSelector != "" {
		selected.FieldSelector, err = fields.ParseSelector(options.FieldSelector)
	}
	return selected, err
}
