// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package access has what the controllers of Klusters share about the Secret of a Kluster, in both layouts: the way into
// OpenStack and the way into the workload cluster. No error has anything of a Secret in it.
package access

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// pausedAnnotation with the value "true" makes us leave an object alone.
const pausedAnnotation = "groundskeeper.io/paused"

// IsPaused says whether nothing is to be done about a Kluster.
func IsPaused(k *kubernikusv1.Kluster) bool { return k.Annotations[pausedAnnotation] == "true" }

// ErrNoSecret means that the Secret of a Kluster does not exist.
var ErrNoSecret = errors.New("the Secret does not exist")

// SecretKey is the name of the Secret of a Kluster.
func SecretKey(k *kubernikusv1.Kluster) types.NamespacedName {
	return types.NamespacedName{Namespace: k.Namespace, Name: k.SecretName()}
}

// Secret reads the Secret of a Kluster from the API server. It wraps ErrNoSecret when there is none.
func Secret(ctx context.Context, live client.Reader, k *kubernikusv1.Kluster) (*corev1.Secret, error) {
	key, secret := SecretKey(k), &corev1.Secret{}
	err := live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("secret %s: %w: create it, or name another one in spec.secretRef.name", key, ErrNoSecret)
	}
	if err != nil {
		return nil, fmt.Errorf("get secret %s: %w", key, err)
	}
	return secret, nil
}

// SecretMetadata is the kind that the metadata of Secrets is watched as.
func SecretMetadata() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}
