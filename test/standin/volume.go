// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// volume deletes the volume of Cinder when its PersistentVolume is released with policy Delete, and then that. As the
// real one it does not wait for Cinder: the volume may still be "deleting", and yet end as "error_deleting".
func (s *Standin) volume(ctx context.Context, k key) error {
	volumes := s.config.Kubernetes.CoreV1().PersistentVolumes()
	v, err := volumes.Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if v.Spec.CSI == nil || v.Spec.CSI.Driver != Driver || v.Annotations[annotationProvisionedBy] != Driver {
		return nil
	}
	if v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return s.release(ctx, v)
	}
	over := !v.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(v, FinalizerVolume)
	if v.Status.Phase != corev1.VolumeReleased || over {
		return nil
	}
	if err := s.cloud.remove(ctx, pathVolumes+"/"+v.Spec.CSI.VolumeHandle); err != nil {
		return err
	}
	s.log("deleted volume %s", v.Name)
	if err := volumes.Delete(ctx, v.Name, metav1.DeleteOptions{}); err != nil {
		return client.IgnoreNotFound(err)
	}
	if v, err = volumes.Get(ctx, k.name, metav1.GetOptions{}); err != nil {
		return client.IgnoreNotFound(err)
	}
	return s.release(ctx, v)
}

// release takes the finalizer off a PersistentVolume.
func (s *Standin) release(ctx context.Context, v *corev1.PersistentVolume) error {
	if !controllerutil.RemoveFinalizer(v, FinalizerVolume) {
		return nil
	}
	_, err := s.config.Kubernetes.CoreV1().PersistentVolumes().Update(ctx, v, metav1.UpdateOptions{})
	return client.IgnoreNotFound(err)
}
