// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

// complete adds the finalizer to a Kluster that came another way than by Groundskeeper's API server.
func (r *reconciler) complete(ctx context.Context, k *kubernikusv1.Kluster) error {
	if !k.DeletionTimestamp.IsZero() {
		return nil
	}
	return r.patchFinalizers(ctx, k, controllerutil.AddFinalizer, kubernikusv1.DeorbiterFinalizer)
}

// hold keeps the Secret of a Kluster from going while the Kluster needs it. One that is being deleted already takes no finalizer.
func (r *reconciler) hold(ctx context.Context, secret *corev1.Secret) error {
	if !secret.DeletionTimestamp.IsZero() {
		return nil
	}
	// The metadata alone, so that no credentials are sent.
	metadata := kluster.SecretMetadata()
	metadata.ObjectMeta = *secret.ObjectMeta.DeepCopy()
	err := r.patchFinalizers(ctx, metadata, controllerutil.AddFinalizer, kubernikusv1.SecretInUseFinalizer)
	secret.ResourceVersion = metadata.ResourceVersion
	return err
}

// releaseSecrets releases the Secrets of a namespace that no Kluster uses any more.
func (r *reconciler) releaseSecrets(ctx context.Context, namespace string) error {
	keys, err := r.unusedSecrets(ctx, namespace)
	if err != nil {
		return err
	}
	for _, key := range keys {
		secret := kluster.SecretMetadata()
		if err := r.live.Get(ctx, key, secret); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("get the metadata of secret %s: %w", key, err)
		}
		if err := r.patchFinalizers(ctx, secret, controllerutil.RemoveFinalizer, kubernikusv1.SecretInUseFinalizer); err != nil {
			return err
		}
	}
	return nil
}

// patchFinalizers changes the finalizers of an object that is unchanged since it was read.
func (r *reconciler) patchFinalizers(
	ctx context.Context, object client.Object, change func(client.Object, string) bool, finalizer string,
) error {
	before, _ := object.DeepCopyObject().(client.Object)
	if !change(object, finalizer) {
		return nil
	}
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, object, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency); err != nil {
		kind := before.GetObjectKind().GroupVersionKind().Kind
		return fmt.Errorf("update the finalizers of %s %s: %w", kind, client.ObjectKeyFromObject(before), err)
	}
	return nil
}

// writeStatus writes what was found if it is new, and reports it.
func (r *reconciler) writeStatus(ctx context.Context, k *kubernikusv1.Kluster, found findings) error {
	next, changed := nextStatus(k, found, r.clock.Now())
	if !changed {
		return nil
	}
	if next.Openstack != nil {
		next.Openstack = next.Openstack.DeepCopy()
		next.Openstack.LBFloatingNetworkID = "" // the builder of the cluster writes it
	}
	if err := kluster.WriteStatus(ctx, r.client, k, next, fieldOwner); client.IgnoreNotFound(err) != nil {
		return err
	}
	r.announce(ctx, k, next)
	return nil
}
