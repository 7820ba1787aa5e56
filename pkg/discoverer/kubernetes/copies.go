// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

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
	err = remote.EachPage(ctx, u.Client.Services(namespace), metav1.ListOptions{}, func(list *corev1.ServiceList) {
		for i := range list.Items {
			if !u.skips(&list.Items[i]) && (exports == nil || exports.Has(keyOf(&list.Items[i]))) {
				into.Insert(desired.Ref{Kind: desired.KindService, NamespacedName: u.copyOf(keyOf(&list.Items[i]))})
			}
		}
	})
	if err != nil {
		return fmt.Errorf("list the services of the backend: %w", err)
	}
	ofServices := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName}
	err = remote.EachPage(ctx, u.Client.EndpointSlices(namespace), ofServices, func(list *discoveryv1.EndpointSliceList) {
		for i := range list.Items {
			if key := serviceOf(&list.Items[i]); exports == nil || exports.Has(key) {
				into.Insert(u.sliceRef(key, list.Items[i].Name))
			}
		}
	})
	if err != nil {
		return fmt.Errorf("list the endpoint slices of the backend: %w", err)
	}
	return nil
}

func (u *Upstream) copyOf(key types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: desired.CopyName(u.Backend, key.Name)}
}

// sliceRef returns the copy of an EndpointSlice.
func (u *Upstream) sliceRef(key types.NamespacedName, slice string) desired.Ref {
	ref := desired.Ref{Kind: desired.KindSlice, NamespacedName: u.copyOf(key)}
	ref.Name = desired.SliceName(ref.Name, slice)
	return ref
}
