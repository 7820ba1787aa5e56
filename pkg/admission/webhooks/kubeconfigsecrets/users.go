// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubeconfigsecrets

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// live reads from the API server; a namespace has few Klusters and DiscoveryBackends.
type live struct{ client versioned.Interface }

// NewUsers returns users that are read from the API server of config, by its client.
func NewUsers(config *rest.Config, client *http.Client) (Users, error) {
	objects, err := versioned.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", Name, err)
	}
	return live{objects}, nil
}

// Klusters implements Users.
func (l live) Klusters(ctx context.Context, namespace, secret string) (bool, error) {
	list, err := l.client.KubernikusV1().Klusters(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) { // not served
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("list Klusters in namespace %q: %w", namespace, err)
	}
	return slices.ContainsFunc(list.Items, func(k kubernikusv1.Kluster) bool { return slices.Contains(k.SecretNames(), secret) }), nil
}

// Backends implements Users.
func (l live) Backends(ctx context.Context, namespace, secret string) (bool, error) {
	list, err := l.client.GimbalV1().DiscoveryBackends(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) { // not served
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("list DiscoveryBackends in namespace %q: %w", namespace, err)
	}
	return slices.ContainsFunc(list.Items, func(b gimbalv1.DiscoveryBackend) bool {
		return b.Cluster.Type == gimbalv1.BackendKubernetes && b.Cluster.SecretName() == secret
	}), nil
}
