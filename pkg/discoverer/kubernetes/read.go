// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

// Read returns a Service with its endpoints as the backend has it now, whatever the caches have.
func (u *Upstream) Read(ctx context.Context, key types.NamespacedName, _ time.Time) (source *desired.Source, excluded bool, err error) {
	if err := u.verify(ctx); err != nil {
		return nil, false, err
	}
	service, err := named[*corev1.Service](ctx, u.Client.Services(key.Namespace), key.Name)
	if err != nil {
		return nil, false, fmt.Errorf("list service %s of the backend: %w", key, err)
	}
	if service == nil {
		return nil, false, nil
	}
	if u.Exports != nil {
		export, err := named[*metav1.PartialObjectMetadata](ctx, u.Exports.Client(key.Namespace), key.Name)
		if err != nil {
			return nil, false, fmt.Errorf("list service export %s of the backend: %w", key, err)
		}
		if export == nil {
			return nil, false, nil
		}
	}
	slices, err := u.readSlices(ctx, key)
	if err != nil {
		return nil, false, err
	}
	source, excluded = u.sourceOf(u.trimService(service), slices)
	return source, excluded, nil
}

// named returns the object with a name, nil when there is none. It lists, because the credentials need no more permissions for that than a
// discoverer has.
func named[T metav1.Object, L runtime.Object](ctx context.Context, lister remote.Lister[L], name string) (found T, err error) {
	list, err := lister.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
	if err != nil {
		return found, err
	}
	return found, meta.EachListItem(list, func(object runtime.Object) error {
		if item, ok := object.(T); ok && item.GetName() == name {
			found = item
		}
		return nil
	})
}

func (u *Upstream) readSlices(ctx context.Context, key types.NamespacedName) (slices []*discoveryv1.EndpointSlice, err error) {
	ofService := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: key.Name}).String()}
	err = remote.EachPage(ctx, u.Client.EndpointSlices(key.Namespace), ofService, func(list *discoveryv1.EndpointSliceList) {
		for i := range list.Items {
			slices = append(slices, u.trimSlice(&list.Items[i]))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the endpoint slices of service %s of the backend: %w", key, err)
	}
	return slices, nil
}
