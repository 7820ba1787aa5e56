// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

// Read returns a Service with its endpoints as the backend has it now, whatever the caches have. It lists what has the name, because
// the credentials need no more permissions for that than a discoverer has.
func (u *Upstream) Read(ctx context.Context, key types.NamespacedName, _ time.Time) (source *desired.Source, excluded bool, err error) {
	if err := u.verify(ctx); err != nil {
		return nil, false, err
	}
	service, err := u.readService(ctx, key)
	if service == nil || err != nil {
		return nil, false, err
	}
	if exported, err := u.readExport(ctx, key); !exported || err != nil {
		return nil, false, err
	}
	slices, err := u.readSlices(ctx, key)
	if err != nil {
		return nil, false, err
	}
	source, excluded = u.sourceOf(service, slices)
	return source, excluded, nil
}

// named selects the object with a name.
func named(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
}

func (u *Upstream) readService(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
	list, err := u.Client.Services(key.Namespace).List(ctx, named(key.Name))
	if err != nil {
		return nil, fmt.Errorf("list service %s of the backend: %w", key, err)
	}
	for i := range list.Items {
		if list.Items[i].Name == key.Name {
			return u.trimService(&list.Items[i]), nil
		}
	}
	return nil, nil
}

func (u *Upstream) readExport(ctx context.Context, key types.NamespacedName) (exported bool, err error) {
	if u.Exports == nil {
		return true, nil
	}
	list, err := u.Exports.Client(key.Namespace).List(ctx, named(key.Name))
	if err != nil {
		return false, fmt.Errorf("list service export %s of the backend: %w", key, err)
	}
	for i := range list.Items {
		if list.Items[i].Name == key.Name {
			return true, nil
		}
	}
	return false, nil
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
