// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

func isHeld(secret client.Object) bool {
	return controllerutil.ContainsFinalizer(secret, kubernikusv1.SecretInUseFinalizer)
}

// hold keeps the Secret of a Kluster from going while the Kluster needs it. One that is being deleted already takes no finalizer.
func (r *reconciler) hold(ctx context.Context, secret *corev1.Secret) error {
	if isHeld(secret) || !secret.DeletionTimestamp.IsZero() {
		return nil
	}
	// The metadata alone, so that no credentials are sent.
	before := kluster.SecretMetadata()
	before.ObjectMeta = *secret.ObjectMeta.DeepCopy()
	after := before.DeepCopy()
	controllerutil.AddFinalizer(after, kubernikusv1.SecretInUseFinalizer)
	if err := r.patchMetadata(ctx, before, after); err != nil {
		return err
	}
	secret.ResourceVersion = after.ResourceVersion
	return nil
}

// releaseSecrets releases the Secrets of a namespace that are held and that no Kluster uses any more: it was released, or uses
// another one. The API server has the last word on who uses what.
func (r *reconciler) releaseSecrets(ctx context.Context, namespace string) error {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := r.client.List(ctx, secrets, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the metadata of secrets in namespace %s: %w", namespace, err)
	}
	unused := func(from client.Reader) ([]types.NamespacedName, error) {
		klusters := &kubernikusv1.KlusterList{}
		if err := from.List(ctx, klusters, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list klusters in namespace %s: %w", namespace, err)
		}
		used := make(map[string]bool, len(klusters.Items))
		for i := range klusters.Items {
			if k := &klusters.Items[i]; !isReleased(k) {
				for _, name := range k.SecretNames() {
					used[name] = true
				}
			}
		}
		var keys []types.NamespacedName
		for i := range secrets.Items {
			if secret := &secrets.Items[i]; isHeld(secret) && !used[secret.Name] {
				keys = append(keys, client.ObjectKeyFromObject(secret))
			}
		}
		return keys, nil
	}
	keys, err := unused(r.client)
	if err != nil || len(keys) == 0 {
		return err
	}
	if keys, err = unused(lists.Complete(r.live)); err != nil {
		return err
	}
	for _, key := range keys {
		before := kluster.SecretMetadata()
		if err := r.live.Get(ctx, key, before); err != nil {
			if client.IgnoreNotFound(err) == nil {
				continue
			}
			return fmt.Errorf("get the metadata of secret %s: %w", key, err)
		}
		after := before.DeepCopy()
		if !controllerutil.RemoveFinalizer(after, kubernikusv1.SecretInUseFinalizer) {
			continue
		}
		if err := r.patchMetadata(ctx, before, after); err != nil {
			return err
		}
	}
	return nil
}

// patchMetadata writes the finalizers of an object that is unchanged since it was read.
func (r *reconciler) patchMetadata(ctx context.Context, before, after client.Object) error {
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, after, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("update the finalizers of %s %s: %w", before.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(before), err)
	}
	return nil
}
