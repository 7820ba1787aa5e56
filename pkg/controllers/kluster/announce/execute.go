// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// write executes the plan: the Secret first, so that the backend finds it. The condition has the API server's rejections.
func (r *reconciler) write(
	ctx context.Context, k *kubernikusv1.Kluster, there observed, p plan, kubeconfig []byte,
) (*metav1.Condition, error) {
	if p.secret {
		if err := r.writeSecret(ctx, k, there.secret, kubeconfig); isRejection(err) {
			// A rejection may repeat its content.
			return notAnnounced(reasonRefused, "the API server rejects a write of Secret %s/%s (%s): is namespace %s there, and is there a policy "+
				"or a quota that rejects it?", k.Spec.Discovery.Namespace, secretName(k), apierrors.ReasonForError(err),
				k.Spec.Discovery.Namespace), nil
		} else if err != nil {
			return nil, err
		}
	}
	if p.backend {
		if err := r.writeBackend(ctx, k, there.backend); isRejection(err) {
			return r.rejected(ctx, k, err)
		} else if err != nil {
			return nil, err
		}
	}
	return announced(k), nil
}

// isRejection reports whether an API server understood a write and does not do it, however often it is sent. A conflict is none:
// another client was quicker.
func isRejection(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsMethodNotSupported(err)
}

// applies are the options of all patches: Groundskeeper has the fields that it applies.
var applies = []client.ApplyOption{client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency}

// writeSecret brings the Secret next to the backend to what it should have. Other keys of it stay.
func (r *reconciler) writeSecret(ctx context.Context, k *kubernikusv1.Kluster, there *corev1.Secret, kubeconfig []byte) (err error) {
	name := client.ObjectKey{Namespace: k.Spec.Discovery.Namespace, Name: secretName(k)}
	data := map[string][]byte{keyConfig: kubeconfig}
	if there == nil {
		metadata := metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Labels: labelsOf(k)}
		err = r.create(ctx, &corev1.Secret{ObjectMeta: metadata, Data: data})
	} else {
		err = r.client.Apply(ctx, coreapply.Secret(name.Name, name.Namespace).WithUID(there.UID).WithResourceVersion(there.ResourceVersion).
			WithLabels(labelsOf(k)).WithData(data), applies...)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", name, err)
	}
	log.FromContext(ctx).Info("Wrote the credentials with which a Kluster is announced", "secret", name)
	return nil
}

// writeBackend brings Groundskeeper's fields of the backend to what they should be.
func (r *reconciler) writeBackend(ctx context.Context, k *kubernikusv1.Kluster, there *gimbalv1.DiscoveryBackend) (err error) {
	name := client.ObjectKey{Namespace: k.Spec.Discovery.Namespace, Name: k.Name}
	if there == nil {
		err = r.create(ctx, &gimbalv1.DiscoveryBackend{
			ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Labels: labelsOf(k)},
			Cluster:    gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: secretName(k), DrainPolicy: drainPolicyOf(k)},
		})
	} else {
		err = r.client.Apply(ctx, desired(k, there), applies...)
	}
	if err != nil {
		return fmt.Errorf("write DiscoveryBackend %s: %w", name, err)
	}
	log.FromContext(ctx).Info("Wrote the backend that announces a Kluster", "backend", name)
	return nil
}

// create writes an object that did not exist. One that exists meanwhile is read by the next reconcile.
func (r *reconciler) create(ctx context.Context, object client.Object) error {
	err := r.client.Create(ctx, object, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%w: %w", kit.ErrChanged, err)
	}
	return err
}

// desired returns what of a backend that is there is owned by Groundskeeper. Its state is not among it, so that Maintenance is
// deleted when only Groundskeeper wanted it.
func desired(k *kubernikusv1.Kluster, there *gimbalv1.DiscoveryBackend) *gimbalapply.DiscoveryBackendApplyConfiguration {
	cluster := gimbalapply.Cluster().WithType(gimbalv1.BackendKubernetes).WithDrainPolicy(drainPolicyOf(k))
	if there.Cluster.Credentials != secretName(k) { // the other name of the field
		cluster.WithSecret(secretName(k))
	}
	return gimbalapply.DiscoveryBackend(there.Name, there.Namespace).WithUID(there.UID).WithResourceVersion(there.ResourceVersion).
		WithLabels(labelsOf(k)).WithCluster(cluster)
}

// maintained returns a backend of Groundskeeper in maintenance: what Groundskeeper applies to it otherwise, unchanged, and its
// state. By whom a field was applied is remembered by the API server, so that a Kluster that is announced after all needs no note
// owned by Groundskeeper. Its deletion is confirmed by the same write, because the API server requires that of a backend that
// routes refer to.
func maintained(k *kubernikusv1.Kluster, backend *gimbalv1.DiscoveryBackend) *gimbalapply.DiscoveryBackendApplyConfiguration {
	cluster := gimbalapply.Cluster().WithType(backend.Cluster.Type)
	if backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance || holdsMaintenance(backend) {
		cluster.WithClusterStatus(gimbalv1.ClusterMaintenance)
	}
	if backend.Cluster.Secret != "" {
		cluster.WithSecret(backend.Cluster.Secret)
	}
	policy := cmp.Or(drainPolicyOf(k), backend.Cluster.DrainPolicy)
	return gimbalapply.DiscoveryBackend(backend.Name, backend.Namespace).WithUID(backend.UID).WithResourceVersion(backend.ResourceVersion).
		WithLabels(labelsOf(k)).WithAnnotations(map[string]string{gardenerv1beta1.AnnotationConfirmDeletion: "true"}).
		WithCluster(cluster.WithDrainPolicy(policy))
}

// take does the next step of the withdrawal of a backend, and reports why it is still there.
func take(
	ctx context.Context, c client.Client, k *kubernikusv1.Kluster, backend *gimbalv1.DiscoveryBackend,
) (deleted bool, reason string, err error) {
	step, reason := nextStep(k, backend)
	switch step {
	case stepMaintain:
		err = c.Apply(ctx, maintained(k, backend), applies...)
		if err == nil {
			log.FromContext(ctx).Info("Set the backend of a Kluster to Maintenance, to withdraw it", "backend", client.ObjectKeyFromObject(backend))
		}
	case stepDelete:
		err = remove(ctx, c, backend)
		deleted = err == nil
	}
	switch {
	case apierrors.IsConflict(err):
		return false, reasonChanged, nil
	case err != nil:
		return false, "", fmt.Errorf("withdraw DiscoveryBackend %s: %w", client.ObjectKeyFromObject(backend), err)
	}
	return deleted, reason, nil
}

// remove deletes the very object that was read, in the state in which it was read. One that has been deleted is fine.
func remove(ctx context.Context, c client.Client, object client.Object) error {
	kind := kindBackend
	if _, secret := object.(*metav1.PartialObjectMetadata); secret {
		kind = kindSecret
	}
	err := c.Delete(ctx, object, client.Preconditions(kit.AsRead(object)), client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", kind, client.ObjectKeyFromObject(object), err)
	}
	log.FromContext(ctx).Info("Deleted what announced a Kluster", "kind", kind, "object", client.ObjectKeyFromObject(object))
	return nil
}

// writeCondition writes the condition Announced when it reports something new; nil removes the one that is there. The Kluster is
// given it, too.
func (r *reconciler) writeCondition(ctx context.Context, k *kubernikusv1.Kluster, condition *metav1.Condition) error {
	last := current(k)
	next, changed := kluster.Condition(k, kubernikusv1.ConditionAnnounced, condition, r.clock.Now())
	if !changed {
		return nil
	}
	err := kluster.WriteStatus(ctx, r.client, k, kubernikusv1.KlusterStatus{Conditions: next}, fieldOwner)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	r.record(ctx, k, last, condition)
	if condition == nil {
		meta.RemoveStatusCondition(&k.Status.Conditions, kubernikusv1.ConditionAnnounced)
	} else {
		meta.SetStatusCondition(&k.Status.Conditions, next[0])
	}
	return nil
}
