// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// secrets remembers what was found in the Secrets of backends, so that each version of one is read once. It keeps
// nothing of their content.
type secrets struct {
	live client.Reader

	mu    sync.Mutex
	known map[types.NamespacedName]judged
}

// judged is a Secret that was checked, in one version.
type judged struct {
	name    string
	uid     types.UID
	version string
	credentials
}

func newSecrets(live client.Reader) *secrets {
	return &secrets{live: live, known: map[types.NamespacedName]judged{}}
}

// credentialsOf judges the Secret that a backend names. Cached is where the metadata of Secrets is. An error means that the Secret
// could not be read, which reports nothing of it.
func (s *secrets) credentialsOf(ctx context.Context, cached client.Reader, backend *gimbalv1.DiscoveryBackend) (credentials, error) {
	key := types.NamespacedName{Namespace: backend.Namespace, Name: backend.Cluster.SecretName()}
	metadata := secretMetadata()
	if err := cached.Get(ctx, key, metadata); err != nil {
		if apierrors.IsNotFound(err) {
			return missingSecret(key), nil
		}
		return credentials{}, fmt.Errorf("get the metadata of Secret %s: %w", key, err)
	}
	if found, ok := s.remembered(backend, metadata); ok {
		return found, nil
	}
	secret := &corev1.Secret{}
	if err := s.live.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return missingSecret(key), nil
		}
		return credentials{}, fmt.Errorf("get Secret %s: %w", key, err)
	}
	found := judge(backend.Cluster.Type, secret.Data, string(backend.UID))
	if !found.usable() {
		found.problem = fmt.Sprintf("Secret %q %s", key.Name, found.problem)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[client.ObjectKeyFromObject(backend)] = judged{name: key.Name, uid: secret.UID, version: secret.ResourceVersion, credentials: found}
	return found, nil
}

func (s *secrets) remembered(backend *gimbalv1.DiscoveryBackend, metadata *metav1.PartialObjectMetadata) (credentials, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.known[client.ObjectKeyFromObject(backend)]
	same := ok && last.name == metadata.Name && last.uid == metadata.UID && last.version == metadata.ResourceVersion
	return last.credentials, same
}

// It drops what is known for a backend that has been deleted.
func (s *secrets) discard(backend types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, backend)
}

func missingSecret(key types.NamespacedName) credentials {
	return credentials{reason: reasonSecretMissing, problem: fmt.Sprintf("Secret %q does not exist in namespace %q: create it, or name another one in cluster.secret", key.Name, key.Namespace)}
}
