// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package kluster has what the controllers of Klusters share: how they run and what they watch, the Secret of a Kluster in both layouts,
// the way into OpenStack and into the workload cluster, conditions, and pools for work that waits. No error has anything of a Secret in it.
package kluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// ErrNoSecret means that the Secret of a Kluster does not exist.
var ErrNoSecret = errors.New("the Secret does not exist")

// SecretKey is how messages name the Secret of a Kluster, or all of them.
func SecretKey(k *kubernikusv1.Kluster) types.NamespacedName {
	return types.NamespacedName{Namespace: k.Namespace, Name: strings.Join(k.SecretNames(), " and ")}
}

// Secret reads the Secret of a Kluster from the API server; of several, it is what they have together. It wraps ErrNoSecret when
// one is missing, except for one that has the kubeconfig alone: Workload reports that, and OpenStack can be used without it.
func Secret(ctx context.Context, live client.Reader, k *kubernikusv1.Kluster) (*corev1.Secret, error) {
	all, err := Secrets(ctx, live, k)
	if err != nil {
		return nil, err
	}
	return Together(k, all), nil
}

// Secrets reads the Secrets of a Kluster from the API server, in the order of their names in SecretNames. It wraps ErrNoSecret
// when one is missing, with the same exception as Secret.
func Secrets(ctx context.Context, live client.Reader, k *kubernikusv1.Kluster) ([]*corev1.Secret, error) {
	var all []*corev1.Secret
	for _, name := range k.SecretNames() {
		key, secret := types.NamespacedName{Namespace: k.Namespace, Name: name}, &corev1.Secret{}
		err := live.Get(ctx, key, secret)
		if apierrors.IsNotFound(err) && hasOnlyKubeconfig(k, name) {
			continue
		}
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("secret %s: %w: create it, or name another one in spec.secretRef", key, ErrNoSecret)
		}
		if err != nil {
			return nil, fmt.Errorf("get secret %s: %w", key, err)
		}
		all = append(all, secret)
	}
	return all, nil
}

// hasOnlyKubeconfig reports whether the Secret of a name has the kubeconfig, and another one the credentials of OpenStack. Cluster API
// writes it long after the other one.
func hasOnlyKubeconfig(k *kubernikusv1.Kluster, name string) bool {
	ref := k.Spec.SecretRef
	return ref.Kubeconfig != nil && ref.Kubeconfig.Name == name && ref.Cloud != nil && ref.Cloud.Name != name
}

// Together returns what the Secrets of a Kluster have together, in the keys of a single one. Its uid and its version change when
// those of one of them do.
func Together(k *kubernikusv1.Kluster, all []*corev1.Secret) *corev1.Secret {
	ref := k.Spec.SecretRef
	if ref.Kubeconfig == nil && ref.Cloud == nil {
		return all[0]
	}
	together := &corev1.Secret{Data: map[string][]byte{}}
	together.Namespace, together.Name = k.Namespace, SecretKey(k).Name
	byName := map[string]map[string][]byte{}
	for i, secret := range all {
		byName[secret.Name] = secret.Data
		if i > 0 {
			together.UID, together.ResourceVersion = together.UID+"+", together.ResourceVersion+"+"
		}
		together.UID, together.ResourceVersion = together.UID+secret.UID, together.ResourceVersion+secret.ResourceVersion
	}
	clouds := byName[k.SecretName()]
	if ref.Cloud != nil {
		clouds = byName[ref.Cloud.Name]
	}
	for key, value := range clouds {
		if !slices.Contains(workloadKeys, key) {
			together.Data[key] = value
		}
	}
	if ref.Cloud != nil && ref.Cloud.CloudName != "" {
		together.Data[openstack.KeyCloud] = []byte(ref.Cloud.CloudName)
	}
	if ref.Cloud != nil && ref.Cloud.RegionName != "" {
		together.Data[openstack.KeyRegion] = []byte(ref.Cloud.RegionName)
	}
	if ref.Kubeconfig != nil {
		if data, exists := byName[ref.Kubeconfig.Name]; exists {
			together.Data[KeyKubeconfig] = data[kubeconfigKey(ref.Kubeconfig)]
		}
		return together
	}
	for _, key := range workloadKeys {
		if value, ok := byName[k.SecretName()][key]; ok {
			together.Data[key] = value
		}
	}
	return together
}

// kubeconfigKey returns the key that has the kubeconfig in a Secret of another writer, such as Cluster API.
func kubeconfigKey(ref *kubernikusv1.KubeconfigReference) string {
	return cmp.Or(ref.Key, keyClusterAPI)
}

// CloudHost returns the host of the cloud that the Secret of a Kluster leads to. The error is an *openstack.Error.
func CloudHost(secret *corev1.Secret) (string, error) {
	credentials, err := openstack.CredentialsOf(secret.Data)
	if err != nil {
		err = fmt.Errorf("secret %s: %w", client.ObjectKeyFromObject(secret), err)
		return "", &openstack.Error{Op: "read the credentials", Reason: openstack.ReasonCredentialsInvalid, Err: err}
	}
	return credentials.Host(), nil
}

// SecretMetadata returns the kind that the metadata of Secrets is watched as.
func SecretMetadata() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}
