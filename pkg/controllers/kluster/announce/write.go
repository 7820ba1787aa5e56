// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

// write executes the plan: the Secret first, so that the backend finds it. The condition has the API server's rejections.
func (r *reconciler) write(ctx context.Context, k *kubernikusv1.Kluster, there seen, p plan, kubeconfig []byte) (*metav1.Condition, error) {
	if err := r.writeSecret(ctx, k, there.secret, p.secret, kubeconfig); err != nil {
		if !isRejection(err) {
			return nil, err
		}
		// A rejection may repeat its content.
		return notAnnounced(ReasonRefused, "the API server rejects a write of Secret %s/%s (%s): is namespace %s there, and is there a policy or a quota that rejects it?",
			k.Spec.Discovery.Namespace, secretName(k), apierrors.ReasonForError(err), k.Spec.Discovery.Namespace), nil
	}
	err := r.writeBackend(ctx, k, there.backend, p.backend)
	switch {
	case err == nil:
		return announced(k), nil
	case !isRejection(err):
		return nil, err
	}
	return r.rejected(ctx, k, err)
}

// rejected returns the condition of a Kluster whose backend the API server rejects, mostly because of another backend's name.
func (r *reconciler) rejected(ctx context.Context, k *kubernikusv1.Kluster, rejection error) (*metav1.Condition, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackendList"))
	if err := r.live.List(ctx, all); isUnknown(err) {
		return nil, errNotServed
	} else if err != nil {
		return nil, fmt.Errorf("list the names of all DiscoveryBackends: %w", err)
	}
	if other := neighbour(k.Name, all.Items); other != nil && !isOwn(k, other) {
		return notAnnounced(ReasonNameTaken, "DiscoveryBackend %s/%s has the name %q already, or the services of the two could get one name: register the cluster under a name that neither begins with %q nor is the beginning of it",
			other.Namespace, other.Name, other.Name, other.Name+"-"), nil
	}
	return notAnnounced(ReasonRefused, "the API server rejects DiscoveryBackend %s/%s: %v", k.Spec.Discovery.Namespace, k.Name, rejection), nil
}

// isRejection reports whether an API server understood a write and does not do it, however often it is sent. A conflict is none:
// another client was quicker.
func isRejection(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsMethodNotSupported(err)
}

// writeSecret brings the Secret next to the backend to what it should have. Other keys of it stay.
func (r *reconciler) writeSecret(ctx context.Context, k *kubernikusv1.Kluster, there *corev1.Secret, todo change, kubeconfig []byte) error {
	name := client.ObjectKey{Namespace: k.Spec.Discovery.Namespace, Name: secretName(k)}
	data := map[string][]byte{keyConfig: kubeconfig}
	var err error
	switch todo {
	case changeNone:
		return nil
	case changeCreate:
		err = r.client.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Labels: labelsOf(k)}, Data: data},
			client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	case changeUpdate:
		err = r.client.Apply(ctx, coreapply.Secret(name.Name, name.Namespace).WithUID(there.UID).WithResourceVersion(there.ResourceVersion).
			WithLabels(labelsOf(k)).WithData(data), client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", name, err)
	}
	log.FromContext(ctx).Info("Wrote the credentials with which a Kluster is announced", "secret", name)
	return nil
}

// writeBackend brings Groundskeeper's fields of the backend to what they should be.
func (r *reconciler) writeBackend(ctx context.Context, k *kubernikusv1.Kluster, there *gimbalv1.DiscoveryBackend, todo change) error {
	name := client.ObjectKey{Namespace: k.Spec.Discovery.Namespace, Name: k.Name}
	var err error
	switch todo {
	case changeNone:
		return nil
	case changeCreate:
		err = r.client.Create(ctx, &gimbalv1.DiscoveryBackend{
			ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Labels: labelsOf(k)},
			Cluster:    gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: secretName(k), DrainPolicy: drainPolicyOf(k)},
		}, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	case changeUpdate:
		err = r.client.Apply(ctx, desired(k, there), client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	}
	if err != nil {
		return fmt.Errorf("write DiscoveryBackend %s: %w", name, err)
	}
	log.FromContext(ctx).Info("Wrote the backend that announces a Kluster", "backend", name)
	return nil
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
