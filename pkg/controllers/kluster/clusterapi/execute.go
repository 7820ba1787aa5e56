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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/kit"
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

func (r *reconciler) writeHolds(ctx context.Context, o observed, p plan) error {
	if i := o.infrastructure; p.holds != nil {
		decided := metav1.ObjectMeta{Namespace: i.Namespace, Name: i.Name, UID: i.UID, ResourceVersion: i.ResourceVersion}
		err := r.patchMetadata(ctx, infrastructures, desired.KindOpenStackCluster, decided, func(m *metav1.PartialObjectMetadata) {
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
		decided := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
		err := r.patchMetadata(ctx, machines, "Machine", decided, func(m *metav1.PartialObjectMetadata) {
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

// unchanged reads an object of Cluster API that is unchanged since it was decided about. It is false for one that does not exist any more.
func (r *reconciler) unchanged(ctx context.Context, decided metav1.ObjectMeta, into client.Object) (bool, error) {
	kind, key := into.GetObjectKind().GroupVersionKind().Kind, types.NamespacedName{Namespace: decided.Namespace, Name: decided.Name}
	if err := r.live.Get(ctx, key, into); apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("get %s %s: %w", kind, key, err)
	}
	if into.GetUID() != decided.UID || into.GetResourceVersion() != decided.ResourceVersion {
		return false, fmt.Errorf("%s %s: %w", kind, key, kit.ErrChanged)
	}
	return true, nil
}

// patchMetadata writes the metadata of an object of Cluster API that is unchanged since it was decided about. One that does not exist any
// more needs nothing.
func (r *reconciler) patchMetadata(
	ctx context.Context, resource schema.GroupResource, kind string, decided metav1.ObjectMeta, change func(*metav1.PartialObjectMetadata),
) error {
	before, err := r.metadataOf(resource, kind)
	if err != nil {
		return err
	}
	if exists, err := r.unchanged(ctx, decided, before); !exists {
		return err
	}
	after := before.DeepCopy()
	change(after)
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = r.client.Patch(ctx, after, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch %s %s/%s: %w", kind, decided.Namespace, decided.Name, err)
	}
	return nil
}

func (r *reconciler) writeStatus(ctx context.Context, o observed, p plan) error {
	k := o.kluster
	if k == nil || p.synced.Reason == "" || p.deletes || p.finishes {
		return nil
	}
	conditions, changed := kluster.Conditions(k, []metav1.Condition{p.synced}, r.clock.Now())
	if !changed {
		return nil
	}
	return client.IgnoreNotFound(kluster.WriteStatus(ctx, r.client, k, kubernikusv1.KlusterStatus{Conditions: conditions}, fieldOwner))
}

// writeCondition writes a condition of a Cluster that is unchanged since it was decided about.
func (r *reconciler) writeCondition(ctx context.Context, c *desired.Cluster, wanted desired.Condition) error {
	m, err := r.metadataOf(clusters, "Cluster")
	if err != nil {
		return err
	}
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(m.GroupVersionKind())
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	decided := metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}
	if exists, err := r.unchanged(ctx, decided, before); !exists {
		return err
	}
	after := before.DeepCopy()
	if err := setCondition(after, wanted, metav1.NewTime(r.clock.Now())); err != nil {
		return fmt.Errorf("write the condition of Cluster %s: %w", key, err)
	}
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = r.client.Status().Patch(ctx, after, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch the status of Cluster %s: %w", key, err)
	}
	// The next writes of the plan are not about the Cluster, and the next plan is about what this one left.
	return nil
}
