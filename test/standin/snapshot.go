// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Finalizers of snapshots and their contents.
const (
	FinalizerSnapshot       = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
	FinalizerSnapshotSource = "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"
	FinalizerContent        = "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"
)

// annotationBeingDeleted on a content reports that its snapshot is being deleted.
const annotationBeingDeleted = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"

// policyDelete deletes the snapshot of Cinder together with its objects.
const policyDelete = "Delete"

// snapshot binds a VolumeSnapshot to a content that is made for it, and lets it go when that has been deleted.
func (s *Standin) snapshot(ctx context.Context, k key) error {
	objects := s.config.Dynamic.Resource(snapshots).Namespace(k.namespace)
	snapshot, err := objects.Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	class, err := s.config.Dynamic.Resource(snapshotClasses).Get(ctx, text(snapshot, "spec", "volumeSnapshotClassName"), metav1.GetOptions{})
	if err != nil || text(class, "driver") != Driver {
		return client.IgnoreNotFound(err)
	}
	content, err := s.config.Dynamic.Resource(contents).Get(ctx, "snapcontent-"+string(snapshot.GetUID()), metav1.GetOptions{})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	bound := err == nil
	if snapshot.GetDeletionTimestamp() != nil {
		if bound && text(content, "spec", "deletionPolicy") == policyDelete {
			return s.deleteContent(ctx, content) // when that has been deleted, this comes again
		}
		return s.finalizers(ctx, snapshot, false, FinalizerSnapshot, FinalizerSnapshotSource)
	}
	if !bound {
		return s.bind(ctx, snapshot, class)
	}
	if ready, _, _ := unstructured.NestedBool(content.Object, "status", "readyToUse"); !ready {
		return nil // its change is seen
	}
	status := map[string]any{"boundVolumeSnapshotContentName": content.GetName(), "readyToUse": true}
	if text(snapshot, "status", "boundVolumeSnapshotContentName") == content.GetName() {
		return nil
	}
	snapshot.Object["status"] = status
	_, err = objects.UpdateStatus(ctx, snapshot, metav1.UpdateOptions{})
	return client.IgnoreNotFound(err)
}

// bind makes the content of a snapshot, once the claim that it is of has a volume.
func (s *Standin) bind(ctx context.Context, snapshot, class *unstructured.Unstructured) error {
	core := s.config.Kubernetes.CoreV1()
	claim, err := core.PersistentVolumeClaims(snapshot.GetNamespace()).Get(ctx, text(snapshot, "spec", "source", "persistentVolumeClaimName"), metav1.GetOptions{})
	if err != nil || claim.Spec.VolumeName == "" {
		return client.IgnoreNotFound(err)
	}
	volume, err := core.PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || volume.Spec.CSI == nil || volume.Spec.CSI.Driver != Driver {
		return client.IgnoreNotFound(err)
	}
	if err := s.finalizers(ctx, snapshot, true, FinalizerSnapshot, FinalizerSnapshotSource); err != nil {
		return err
	}
	content := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"driver": Driver, "deletionPolicy": text(class, "deletionPolicy"), "volumeSnapshotClassName": class.GetName(),
			"source": map[string]any{"volumeHandle": volume.Spec.CSI.VolumeHandle},
			"volumeSnapshotRef": map[string]any{"apiVersion": snapshotVersion.String(), "kind": string(Snapshots),
				"namespace": snapshot.GetNamespace(), "name": snapshot.GetName(), "uid": string(snapshot.GetUID())},
		},
	}}
	content.SetGroupVersionKind(snapshotVersion.WithKind(string(Contents)))
	content.SetName("snapcontent-" + string(snapshot.GetUID()))
	content.SetFinalizers([]string{FinalizerContent})
	_, err = s.config.Dynamic.Resource(contents).Create(ctx, content, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// deleteContent deletes the content of a snapshot that is being deleted.
func (s *Standin) deleteContent(ctx context.Context, content *unstructured.Unstructured) error {
	objects := s.config.Dynamic.Resource(contents)
	annotations := content.GetAnnotations()
	if annotations[annotationBeingDeleted] == "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[annotationBeingDeleted] = "yes"
		content.SetAnnotations(annotations)
		if _, err := objects.Update(ctx, content, metav1.UpdateOptions{}); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if content.GetDeletionTimestamp() != nil {
		return nil
	}
	return client.IgnoreNotFound(objects.Delete(ctx, content.GetName(), metav1.DeleteOptions{}))
}

// finalizers puts finalizers on an object, or takes them off.
func (s *Standin) finalizers(ctx context.Context, object *unstructured.Unstructured, on bool, names ...string) error {
	before := object.GetFinalizers()
	after := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(names, name) })
	if on {
		after = append(after, names...)
	}
	if len(after) == len(before) {
		return nil
	}
	object.SetFinalizers(after)
	resource := snapshots
	if object.GetNamespace() == "" {
		resource = contents
	}
	_, err := s.config.Dynamic.Resource(resource).Namespace(object.GetNamespace()).Update(ctx, object, metav1.UpdateOptions{})
	return client.IgnoreNotFound(err)
}
