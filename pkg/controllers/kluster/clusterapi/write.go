// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Events on a Cluster, and what was done.
const (
	actionRegister = "Register"
	actionDeorbit  = "Deorbit"

	eventRegistered = "KlusterCreated"
	eventDetached   = "KlusterDetached"
	eventDeleting   = "DeorbitRequested"
	eventCompleted  = "DeorbitCompleted"
)

// write carries a plan out, in the order of its fields.
func (r *reconciler) write(ctx context.Context, o observed, p plan) error {
	k := o.kluster
	if p.create != nil {
		if err := r.client.Create(ctx, p.create, client.FieldOwner(fieldOwner)); err != nil {
			r.reportRejected(ctx, o, err)
			return fmt.Errorf("create kluster %s: %w", client.ObjectKeyFromObject(p.create), err)
		}
		r.note(ctx, o, corev1.EventTypeNormal, eventRegistered, "Kluster "+p.create.Name+" was created for the Cluster")
	}
	if p.update != nil {
		if err := r.patchKluster(ctx, k, p.update); err != nil {
			return err
		}
		k = p.update
	}
	if p.completed != nil {
		if err := r.writeCondition(ctx, o.cluster, *p.completed); err != nil {
			return err
		}
		if p.completed.Status == string(metav1.ConditionTrue) {
			r.note(ctx, o, eventType(p.completed.Reason), eventCompleted, p.completed.Message)
		}
	}
	if err := r.writeHolds(ctx, o, p); err != nil {
		return err
	}
	if p.deletes {
		if err := r.client.Delete(ctx, k, client.Preconditions(kit.AsRead(k))); client.IgnoreNotFound(err) != nil {
			r.reportRejected(ctx, o, err)
			return fmt.Errorf("delete kluster %s: %w", client.ObjectKeyFromObject(k), err)
		}
		r.noteDeletion(ctx, o, k)
	}
	if p.prepared != nil {
		if err := r.writeCondition(ctx, o.cluster, *p.prepared); err != nil {
			return err
		}
	}
	if p.finishes {
		after := k.DeepCopy()
		controllerutil.RemoveFinalizer(after, kubernikusv1.ClusterAPIFinalizer)
		return client.IgnoreNotFound(r.patchKluster(ctx, k, after))
	}
	return nil
}

// patchKluster writes a Kluster that is unchanged since it was read.
func (r *reconciler) patchKluster(ctx context.Context, before, after *kubernikusv1.Kluster) error {
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, after, changes, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("patch kluster %s: %w", client.ObjectKeyFromObject(before), err)
	}
	return nil
}

// writeHolds writes what keeps the OpenStackCluster and the Machines.
func (r *reconciler) writeHolds(ctx context.Context, o observed, p plan) error {
	if i := o.infrastructure; p.holds != nil {
		err := r.patchMetadata(ctx, infrastructures, desired.KindOpenStackCluster, i.Namespace, i.Name, i.UID, i.ResourceVersion, func(m *metav1.PartialObjectMetadata) {
			m.Finalizers = slices.DeleteFunc(m.Finalizers, func(name string) bool { return name == desired.Finalizer })
			if p.holds.finalizer {
				m.Finalizers = append(m.Finalizers, desired.Finalizer)
			}
			switch {
			case p.holds.paused:
				metav1.SetMetaDataAnnotation(&m.ObjectMeta, desired.AnnotationPaused, desired.PausedForDeorbit)
			case m.Annotations[desired.AnnotationPaused] == desired.PausedForDeorbit:
				delete(m.Annotations, desired.AnnotationPaused)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, m := range o.machines {
		wanted, changes := p.hooks[m.Name]
		if !changes {
			continue
		}
		err := r.patchMetadata(ctx, machines, "Machine", m.Namespace, m.Name, m.UID, m.ResourceVersion, func(m *metav1.PartialObjectMetadata) {
			if delete(m.Annotations, desired.AnnotationHook); wanted {
				metav1.SetMetaDataAnnotation(&m.ObjectMeta, desired.AnnotationHook, fieldOwner)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// patchMetadata writes the metadata of an object of Cluster API that is unchanged since it was decided about. One that does not exist any
// more needs nothing.
func (r *reconciler) patchMetadata(ctx context.Context, resource schema.GroupResource, kind, namespace, name string, uid types.UID, version string,
	change func(*metav1.PartialObjectMetadata),
) error {
	before, err := r.metadataOf(resource, kind)
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if err := r.live.Get(ctx, key, before); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("get %s %s: %w", kind, key, err)
	}
	if before.UID != uid || before.ResourceVersion != version {
		return fmt.Errorf("%s %s: %w", kind, key, kit.ErrChanged)
	}
	after := before.DeepCopy()
	change(after)
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = r.client.Patch(ctx, after, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch %s %s: %w", kind, key, err)
	}
	return nil
}

// metadataOf returns the metadata of an object in the version that is served.
func (r *reconciler) metadataOf(resource schema.GroupResource, kind string) (*metav1.PartialObjectMetadata, error) {
	served, err := r.served(resource)
	if err == nil && served == nil {
		err = fmt.Errorf("%s: %w", resource, errNotServed)
	}
	if err != nil {
		return nil, err
	}
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(served.GroupVersion().WithKind(kind))
	return m, nil
}

// reportRejected reports that admission or a quota rejects a write of the Kluster: that may need a user.
func (r *reconciler) reportRejected(ctx context.Context, o observed, err error) {
	if o.cluster == nil || !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return
	}
	key := types.NamespacedName{Namespace: o.cluster.Namespace, Name: o.cluster.Name}
	rejection := desired.Rejection{Reason: reasonRejected, Message: err.Error()}
	r.report(ctx, key, o, rejection)
	r.prevented(ctx, o.cluster, rejection)
}

// prevented writes why a Cluster is not prepared, besides the error that the caller returns.
func (r *reconciler) prevented(ctx context.Context, c *desired.Cluster, why desired.Rejection) {
	wanted := conditionOf(desired.ConditionPrepared, metav1.ConditionFalse, why.Reason, why.Message)
	if c.Deleting || c.Prepared != nil && *c.Prepared == wanted {
		return
	}
	if err := r.writeCondition(ctx, c, wanted); err != nil {
		log.FromContext(ctx).V(1).Info("Failed to report why a Cluster is not prepared, retrying", "err", err)
	}
}

// note reports what happened on the Cluster, in the log and in an event.
func (r *reconciler) note(ctx context.Context, o observed, kind, reason, message string) {
	log.FromContext(ctx).Info("Cluster of Cluster API", "event", reason, "message", message)
	if o.cluster != nil {
		key := types.NamespacedName{Namespace: o.cluster.Namespace, Name: o.cluster.Name}
		r.recorder.Eventf(clusterReference(key, o.cluster), nil, kind, reason, actionDeorbit, "%s", kluster.Bounded(message))
	}
}

// noteDeletion reports that the deletion of a Kluster was requested, and why.
func (r *reconciler) noteDeletion(ctx context.Context, o observed, k *kubernikusv1.Kluster) {
	if k.Detached() {
		r.note(ctx, o, corev1.EventTypeNormal, eventDetached, "Kluster "+k.Name+" is released, and nothing of its cluster is changed")
		return
	}
	r.note(ctx, o, corev1.EventTypeNormal, eventDeleting, "Kluster "+k.Name+" is deleted: what the cluster created in OpenStack is deleted before its machines and its network")
}

// eventType returns Warning for an end that leaves something over.
func eventType(reason string) string {
	if reason == reasonDeorbited || reason == reasonDetached {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

// clusterReference returns a Cluster as events refer to it.
func clusterReference(key types.NamespacedName, c *desired.Cluster) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: desired.Group + "/v1beta1", Kind: "Cluster", Namespace: key.Namespace, Name: key.Name, UID: c.UID}
}
