// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OptOutAnnotation with the value OptOutValue on a PersistentVolume, a PersistentVolumeClaim or a Namespace keeps it,
// or what is in it, from being deleted.
const (
	OptOutAnnotation = "groundskeeper.io/local-volume-cleanup"
	OptOutValue      = "disabled"
)

// Action is what is to be done with an object of a node that is gone.
type Action string

// The actions.
const (
	// Keep leaves it alone.
	Keep Action = "Keep"
	// Wait leaves it alone until a point in time.
	Wait Action = "Wait"
	// Delete deletes it.
	Delete Action = "Delete"
)

// Decision says what is to be done, and why nothing is.
type Decision struct {
	Action Action
	// Until is when a Wait is over.
	Until time.Time
	// Skipped tells people why an object that looks as if it should be deleted is not; empty when that is as usual.
	Skipped string
}

// ClaimInput is what decides about a claim.
type ClaimInput struct {
	// Volume is a stale volume, Claim what its claimRef names, nil when there is none of that name.
	Volume *corev1.PersistentVolume
	Claim  *corev1.PersistentVolumeClaim
	// NamespaceOptedOut says that the namespace of the claim has the annotation.
	NamespaceOptedOut bool
	// Since is when the last of the nodes of the volume went missing, Delay how long that must be ago.
	Since time.Time
	Delay time.Duration
	Now   time.Time
}

// DecideClaim decides about the claim of a stale volume. Only the very claim that the volume is bound to is deleted,
// and only when it points back.
func DecideClaim(in ClaimInput) Decision {
	volume, claim := in.Volume, in.Claim
	switch {
	case volume.Spec.ClaimRef == nil || claim == nil:
		return Decision{Action: Keep}
	case claim.Namespace != volume.Spec.ClaimRef.Namespace || claim.Name != volume.Spec.ClaimRef.Name:
		return Decision{Action: Keep}
	case claim.UID != volume.Spec.ClaimRef.UID, claim.Spec.VolumeName != volume.Name:
		return Decision{Action: Keep}
	case !claim.DeletionTimestamp.IsZero():
		return Decision{Action: Keep}
	case optedOut(claim):
		return Decision{Action: Keep, Skipped: fmt.Sprintf("the annotation %s of the claim says %q", OptOutAnnotation, OptOutValue)}
	case optedOut(volume):
		return Decision{Action: Keep, Skipped: fmt.Sprintf("the annotation %s of volume %s says %q", OptOutAnnotation, volume.Name, OptOutValue)}
	case in.NamespaceOptedOut:
		return Decision{Action: Keep, Skipped: fmt.Sprintf("the annotation %s of the namespace says %q", OptOutAnnotation, OptOutValue)}
	}
	if until := in.Since.Add(in.Delay); in.Now.Before(until) {
		return Decision{Action: Wait, Until: until}
	}
	return Decision{Action: Delete}
}

// settleTime is how long a node has to be missing before its unclaimed volumes go. It spares a node that is made anew
// at once, and shows how many nodes go together before the first volume does.
const settleTime = time.Second

// VolumeInput is what decides about a volume.
type VolumeInput struct {
	// Volume is a stale volume.
	Volume *corev1.PersistentVolume
	// NamespaceOptedOut says that the namespace of its claimRef has the annotation.
	NamespaceOptedOut bool
	// IncludeFailed treats the phase Failed as Released.
	IncludeFailed bool
	// Since is when the last of the nodes of the volume went missing.
	Since time.Time
	Now   time.Time
}

// DecideVolume decides about a stale volume itself: nobody may have it, or nobody may want what was on it.
func DecideVolume(in VolumeInput) Decision {
	volume := in.Volume
	if !volume.DeletionTimestamp.IsZero() {
		return Decision{Action: Keep}
	}
	deletes := volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	switch phase := volume.Status.Phase; {
	case phase == corev1.VolumeAvailable:
	case phase == corev1.VolumeReleased && deletes:
	case phase == corev1.VolumeReleased:
		return Decision{Action: Keep, Skipped: fmt.Sprintf("its reclaim policy is %s", volume.Spec.PersistentVolumeReclaimPolicy)}
	case phase == corev1.VolumeFailed && deletes && in.IncludeFailed:
	case phase == corev1.VolumeFailed && deletes:
		return Decision{Action: Keep, Skipped: "its phase is Failed, and volumes that failed are not included"}
	default:
		return Decision{Action: Keep}
	}
	switch {
	case optedOut(volume):
		return Decision{Action: Keep, Skipped: fmt.Sprintf("its annotation %s says %q", OptOutAnnotation, OptOutValue)}
	case in.NamespaceOptedOut:
		return Decision{Action: Keep, Skipped: fmt.Sprintf("the annotation %s of the namespace of its claim says %q", OptOutAnnotation, OptOutValue)}
	}
	if until := in.Since.Add(settleTime); in.Now.Before(until) {
		return Decision{Action: Wait, Until: until}
	}
	return Decision{Action: Delete}
}

func optedOut(object metav1.Object) bool {
	return object.GetAnnotations()[OptOutAnnotation] == OptOutValue
}
