// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfigsecrets is the webhook that rejects kubeconfigs which Groundskeeper's processes would not accept, when
// they are written: in project namespaces, and in the Secrets of Klusters and DiscoveryBackends everywhere.
package kubeconfigsecrets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/pkg/admission/webhooks"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/pkg/remote/kubeconfig"
)

// Name is the name of the webhook in its path.
const Name = "validate-kubeconfig-secrets"

// Keys of a Secret that have a kubeconfig.
const (
	// klusterKey is that of a Kluster's Secret.
	klusterKey = "kubeconfig"
	// backendKey is that of the Secret of a DiscoveryBackend of type kubernetes.
	backendKey = "config"
)

// Users returns which objects use a Secret. It is called only for a Secret that would be rejected.
type Users interface {
	// Klusters reports whether a Kluster of the namespace uses the Secret.
	Klusters(ctx context.Context, namespace, secret string) (bool, error)
	// Backends reports whether a DiscoveryBackend of the namespace that is a Kubernetes cluster uses the Secret.
	Backends(ctx context.Context, namespace, secret string) (bool, error)
}

// New returns the webhook. It accepts kubeconfigs with a proxy if that is allowed.
func New(users Users, allowProxy bool) webhooks.Reviewer { return reviewer{users, allowProxy} }

type reviewer struct {
	users      Users
	allowProxy bool
}

// Review implements webhooks.Reviewer. No message has any of the Secret in it.
func (r reviewer) Review(ctx context.Context, request *admissionv1.AdmissionRequest) webhooks.Verdict {
	if request.Resource.Group != "" || request.Resource.Resource != "secrets" || request.SubResource != "" ||
		request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return webhooks.Allow()
	}
	secret, old := &corev1.Secret{}, &corev1.Secret{}
	if err := json.Unmarshal(request.Object.Raw, secret); err != nil {
		return webhooks.FailOpen(errors.New("the review has no Secret: is the rule of the webhook CREATE and UPDATE of v1 secrets?"))
	}
	if request.Operation == admissionv1.Update && json.Unmarshal(request.OldObject.Raw, old) != nil {
		return webhooks.FailOpen(errors.New("the review of an update has no old Secret"))
	}
	// Finalizers and labels of a Secret that is broken, or going, can still be changed.
	if !secret.DeletionTimestamp.IsZero() {
		return webhooks.Allow()
	}
	for _, key := range []string{klusterKey, backendKey} {
		data, ok := secret.Data[key]
		if before, was := old.Data[key]; !ok || was && bytes.Equal(data, before) {
			continue
		}
		problem := kubeconfig.Check(data, r.allowProxy)
		if problem == nil {
			continue
		}
		guarded, err := r.guards(ctx, request.Namespace, secretName(secret, request), key)
		if err != nil {
			return webhooks.FailOpen(fmt.Errorf("data[%s] has no kubeconfig that a Kluster or DiscoveryBackend could use: %w (whether one uses it "+
				"is unknown)", key, problem))
		}
		if guarded {
			return webhooks.Deny("data[%s] is not acceptable: %s", key, problem)
		}
	}
	return webhooks.Allow()
}

// secretName returns the name that the Secret has or, for one that gets its name later, none that anybody refers to.
func secretName(secret *corev1.Secret, request *admissionv1.AdmissionRequest) string {
	if request.Name != "" {
		return request.Name
	}
	return secret.Name
}

// guards reports whether what is in the key has to be a kubeconfig.
func (r reviewer) guards(ctx context.Context, namespace, name, key string) (bool, error) {
	if key == backendKey {
		return r.users.Backends(ctx, namespace, name)
	}
	if namespace == gardenerv1beta1.GardenNamespace || strings.HasPrefix(namespace, gardenerv1beta1.ProjectNamespacePrefix) {
		return true, nil
	}
	return r.users.Klusters(ctx, namespace, name)
}

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
