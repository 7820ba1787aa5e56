// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Driver is the name of the CSI driver of Cinder, and of its provisioner.
	Driver = "cinder.csi.openstack.org"
	// MetadataCluster is the key of the metadata of volumes and snapshots that reports about which cluster they are.
	MetadataCluster = Driver + "/cluster"
	// FinalizerVolume is on each PersistentVolume with policy Delete, until its volume is deleted.
	FinalizerVolume = "external-provisioner.volume.kubernetes.io/finalizer"

	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"
	annotationSelectedNode  = "volume.kubernetes.io/selected-node"

	pathVolumes = "block-storage/volumes"
)

// block is a volume or a snapshot of Cinder.
type block struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

// claim makes a volume for a claim of a class of the driver. The controller of volumes binds it.
func (s *Standin) claim(ctx context.Context, k key) error {
	core := s.config.Kubernetes.CoreV1()
	claim, err := core.PersistentVolumeClaims(k.namespace).Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	name := claim.Spec.StorageClassName
	if claim.Spec.VolumeName != "" || !claim.DeletionTimestamp.IsZero() || name == nil || *name == "" {
		return nil
	}
	class, err := s.config.Kubernetes.StorageV1().StorageClasses().Get(ctx, *name, metav1.GetOptions{})
	if err != nil {
		return client.IgnoreNotFound(err) // its creation is seen
	}
	late := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	if class.Provisioner != Driver || late && claim.Annotations[annotationSelectedNode] == "" {
		return nil
	}
	_, err = core.PersistentVolumes().Get(ctx, "pvc-"+string(claim.UID), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	const gib = 1 << 30
	made, err := s.ensureBlock(ctx, pathVolumes, "volumes", "volume", "pvc-"+string(claim.UID), map[string]any{
		"size": max(1, (request.Value()+gib-1)/gib),
		"metadata": map[string]string{MetadataCluster: s.config.ClusterID, "csi.storage.k8s.io/pvc/name": claim.Name,
			"csi.storage.k8s.io/pvc/namespace": claim.Namespace, "csi.storage.k8s.io/pv/name": "pvc-" + string(claim.UID)},
	})
	if err != nil {
		return err
	}
	_, err = core.PersistentVolumes().Create(ctx, volumeFor(claim, class, made.ID), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// volumeFor returns the PersistentVolume of a volume of Cinder, meant for a claim.
func volumeFor(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, id string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID), Annotations: map[string]string{annotationProvisionedBy: Driver}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: id, FSType: "ext4"}},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete, StorageClassName: class.Name, MountOptions: class.MountOptions,
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name,
				UID: claim.UID, ResourceVersion: claim.ResourceVersion},
		},
	}
	if class.ReclaimPolicy != nil {
		v.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		v.Finalizers = []string{FinalizerVolume}
	}
	return v
}

// ensureBlock makes a volume or a snapshot with a name, when there is none of that name, and waits until it is there. One
// that failed is deleted.
func (s *Standin) ensureBlock(ctx context.Context, path, many, one, name string, fields map[string]any) (block, error) {
	for made := false; ; {
		found, err := find[block](ctx, s.cloud, path+"/detail", many, url.Values{"name": {name}})
		if err != nil {
			return block{}, err
		}
		var there *block
		for i := range found {
			if found[i].Name == name {
				there = &found[i]
			}
		}
		switch {
		case there == nil && made:
			return block{}, fmt.Errorf("%s %s has been deleted again", one, name)
		case there == nil:
			fields["name"] = name
			if err := s.cloud.call(ctx, http.MethodPost, path, map[string]any{one: fields}, nil); err != nil {
				return block{}, err
			}
			made = true
			s.log("made %s %s", one, name)
			continue
		case there.Status == "available":
			return *there, nil
		case there.Status != "creating":
			return block{}, errors.Join(fmt.Errorf("%s %s is %s", one, name, there.Status), s.cloud.remove(ctx, path+"/"+there.ID))
		}
		if err := pause(ctx, retryPeriod); err != nil {
			return block{}, err
		}
	}
}
