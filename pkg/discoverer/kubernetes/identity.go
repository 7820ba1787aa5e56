// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// verify checks that the cluster that responds is the one that is copied.
func (u *Upstream) verify(ctx context.Context) error {
	if u.Recognize == nil {
		return nil
	}
	observed, err := u.identity(ctx)
	if err != nil {
		return err
	}
	return u.Recognize(ctx, observed)
}

// identity reads by what the cluster is recognized, as far as the credentials permit.
func (u *Upstream) identity(ctx context.Context) ([]gimbalv1.ClusterIdentity, error) {
	var observed []gimbalv1.ClusterIdentity
	add := func(object string, found metav1.Object) {
		observed = append(observed, gimbalv1.ClusterIdentity{Object: object, ID: string(found.GetUID())})
	}
	namespace, err := u.Client.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case err == nil:
		add(clusterid.NamespaceSystem, namespace)
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("get namespace %s of the backend: %w", metav1.NamespaceSystem, err)
	}
	service, err := named[*corev1.Service](ctx, u.Client.Services(metav1.NamespaceDefault), "kubernetes")
	switch {
	case service != nil:
		add(clusterid.ServiceKubernetes, service)
	case err != nil && !apierrors.IsForbidden(err):
		return nil, fmt.Errorf("list service %s/kubernetes of the backend: %w", metav1.NamespaceDefault, err)
	}
	return observed, nil
}

// verified lists and watches only the cluster that is copied: credentials and addresses can lead to another one at any new
// connection. A list in pages is of the server that sent the first one.
type verified[L runtime.Object] struct {
	remote.Lister[L]
	verify func(context.Context) error
	// note notes the result of a request.
	note func(error)
}

// List implements remote.Lister.
func (v verified[L]) List(ctx context.Context, options metav1.ListOptions) (L, error) {
	ctx = client.AtOnce(ctx)
	if options.Continue == "" {
		if err := v.verify(ctx); err != nil {
			var none L
			return none, err
		}
	}
	list, err := v.Lister.List(ctx, options)
	v.note(err)
	return list, err
}

// Watch implements remote.Lister.
func (v verified[L]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	ctx = client.AtOnce(ctx)
	if err := v.verify(ctx); err != nil {
		return nil, err
	}
	events, err := v.Lister.Watch(ctx, options)
	v.note(err)
	return events, err
}
