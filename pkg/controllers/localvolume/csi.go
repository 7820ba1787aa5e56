// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// provisionerFinalizer is the finalizer of the external provisioner: the volume stays until the driver has deleted what it stored.
// Where the driver runs on the node alone, that is indefinitely when the node has been deleted.
const provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"

// protectionFinalizer is the finalizer of Kubernetes, which removes it when no claim is bound.
const protectionFinalizer = "kubernetes.io/pv-protection"

// decideCSI decides about a stale CSI volume. It belongs to its driver, which has the grace period to delete it. Only when that is
// requested, a volume that the driver did not delete is deleted, and then released from the driver's finalizers.
func decideCSI(in VolumeInput) Decision {
	volume := in.Volume
	driver := volume.Spec.CSI.Driver
	deletes := volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	switch phase := volume.Status.Phase; {
	case phase == corev1.VolumeReleased && deletes:
	case phase == corev1.VolumeAvailable && deletes && volume.Spec.ClaimRef == nil:
	case phase == corev1.VolumeFailed && deletes && in.IncludeFailed:
	case (phase == corev1.VolumeReleased || phase == corev1.VolumeAvailable) && !deletes:
		return Decision{Action: Keep, Skipped: fmt.Sprintf("its reclaim policy is %s", volume.Spec.PersistentVolumeReclaimPolicy)}
	case phase == corev1.VolumeFailed && deletes:
		return Decision{Action: Keep, Skipped: failedVolumes}
	default:
		return Decision{Action: Keep}
	}
	if skipped := skippedByAnnotation(in); skipped != "" {
		return Decision{Action: Keep, Skipped: skipped}
	}
	if !in.ReleaseCSI {
		return Decision{Action: Keep, Skipped: fmt.Sprintf("its CSI driver %s has to delete it; if it cannot without the node, set --release-csi-volumes (releaseCSIVolumes)", driver)}
	}
	if in.Unknown {
		if decision := decideUnknown(in); decision.Action != Delete {
			return decision
		}
	}
	if until := later(in.Since, in.PhaseSince).Add(in.Grace); in.Now.Before(until) {
		return Decision{Action: Wait, Until: until}
	}
	switch {
	case volume.DeletionTimestamp.IsZero():
		return Decision{Action: Delete}
	case len(driverFinalizers(volume)) > 0:
		return Decision{Action: Release}
	}
	return decideHeld(in)
}

// decideHeld decides about a stale volume that is being deleted: when nothing is left to do for its driver, its other finalizers are
// named. They must not be removed by Groundskeeper.
func decideHeld(in VolumeInput) Decision {
	others := slices.DeleteFunc(slices.Clone(in.Volume.Finalizers), func(finalizer string) bool { return finalizer == protectionFinalizer })
	if len(others) == 0 || in.Now.Before(later(in.Since, in.PhaseSince).Add(in.Grace)) {
		return Decision{Action: Keep}
	}
	return Decision{Action: Keep, Held: true, Skipped: fmt.Sprintf("it is being deleted, and has the finalizer %s, which its owner has to remove", strings.Join(others, ", "))}
}

// driverFinalizers returns the finalizers of a CSI volume that its driver should remove: the external provisioner's, and those of
// the driver's own domain. Those of Kubernetes, and of anyone else, must not be removed by Groundskeeper.
func driverFinalizers(volume *corev1.PersistentVolume) []string {
	var found []string
	for _, finalizer := range volume.Finalizers {
		domain, _, _ := strings.Cut(finalizer, "/")
		driver := volume.Spec.CSI.Driver
		if finalizer == provisionerFinalizer || domain == driver || strings.HasSuffix(domain, "."+driver) {
			found = append(found, finalizer)
		}
	}
	return found
}

// ReleaseNotice reports what was not cleaned up.
func ReleaseNotice(subject *Subject) string {
	volume := subject.Volume
	return fmt.Sprintf("Released the volume from %s without its CSI driver %s, because %s. What the driver stored for it on the disk of the node, volume handle %q, was not cleaned up: delete it there if the disk is used again.",
		strings.Join(driverFinalizers(volume), ", "), volume.Spec.CSI.Driver, Absent(subject.Nodes), volume.Spec.CSI.VolumeHandle)
}

// ReleaseExactly removes the finalizers of its driver from the very CSI volume that was decided about, in the state in which it
// was. It reports false when the volume has been deleted or has changed.
func (s *Site) ReleaseExactly(ctx context.Context, volume *corev1.PersistentVolume) (bool, error) {
	removed := driverFinalizers(volume)
	kept := slices.DeleteFunc(slices.Clone(volume.Finalizers), func(finalizer string) bool { return slices.Contains(removed, finalizer) })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": volume.UID, "resourceVersion": volume.ResourceVersion, "finalizers": kept}})
	if err != nil {
		return false, err
	}
	named := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: volume.Name}}
	named.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolume"))
	err = s.Client.Patch(ctx, named, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}
