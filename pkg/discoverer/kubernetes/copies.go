// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// pageSize is how many objects one request of a second listing returns.
const pageSize = 500

// Copies lists the backend again, in pages, and returns the copies that its Services should have.
func (u *Upstream) Copies(ctx context.Context) (sets.Set[desired.Ref], error) {
	if err := u.verify(ctx); err != nil {
		return nil, err
	}
	copies := sets.New[desired.Ref]()
	namespaces := u.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		if err := u.copies(ctx, namespace, copies); err != nil {
			return nil, err
		}
	}
	return copies, nil
}

func (u *Upstream) copies(ctx context.Context, namespace string, into sets.Set[desired.Ref]) error {
	exports, err := u.listExports(ctx, namespace)
	if err != nil {
		return err
	}
	for options := (metav1.ListOptions{Limit: pageSize}); ; {
		list, err := u.Client.Services(namespace).List(ctx, options)
		if err != nil {
			return fmt.Errorf("list the services of the backend: %w", err)
		}
		for i := range list.Items {
			if !u.skips(&list.Items[i]) && (exports == nil || exports.Has(keyOf(&list.Items[i]))) {
				into.Insert(desired.Ref{Kind: desired.KindService, NamespacedName: u.copyOf(keyOf(&list.Items[i]))})
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	for options := (metav1.ListOptions{Limit: pageSize, LabelSelector: discoveryv1.LabelServiceName}); ; {
		list, err := u.Client.EndpointSlices(namespace).List(ctx, options)
		if err != nil {
			return fmt.Errorf("list the endpoint slices of the backend: %w", err)
		}
		for i := range list.Items {
			if key := serviceOf(&list.Items[i]); exports == nil || exports.Has(key) {
				into.Insert(u.sliceRef(key, list.Items[i].Name))
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}

// copyOf returns the name of the copy of a Service.
func (u *Upstream) copyOf(key types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: desired.CopyName(u.Backend, key.Name)}
}

// sliceRef returns the copy of an EndpointSlice.
func (u *Upstream) sliceRef(key types.NamespacedName, slice string) desired.Ref {
	ref := desired.Ref{Kind: desired.KindSlice, NamespacedName: u.copyOf(key)}
	ref.Name = desired.SliceName(ref.Name, slice)
	return ref
}
