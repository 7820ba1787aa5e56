// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// OptOutAnnotation on a PersistentVolume, a PersistentVolumeClaim or a Namespace keeps it, or what is in it, from being deleted, unless
// its value is OptInValue: a misspelled OptOutValue must not delete data.
const (
	OptOutAnnotation = "groundskeeper.io/local-volume-cleanup"
	OptOutValue      = "disabled"
	OptInValue       = "enabled"
)

// Action is what is to be done with an object of a node that has been deleted.
type Action string

// The actions.
const (
	// Keep leaves it alone.
	Keep Action = "Keep"
	// Wait leaves it alone until a given time.
	Wait Action = "Wait"
	// Delete deletes it.
	Delete Action = "Delete"
	// Release removes the finalizers of its CSI driver from a volume that is being deleted.
	Release Action = "Release"
)

// Decision is the action for a volume, or the reason why there is none.
type Decision struct {
	Action Action
	// Until is when a Wait is over, or when what is kept is rechecked.
	Until time.Time
	// Skipped is the reason, for users, why an object that appears to qualify for deletion is retained. It is empty for usual cases.
	Skipped string
	// Held reports that a volume is being deleted and has finalizers that are neither Kubernetes' nor its driver's.
	Held bool
}

// ClaimInput is what decides about a claim.
type ClaimInput struct {
	// Volume is a stale volume, Claim what its claimRef names, nil when there is none of that name.
	Volume *corev1.PersistentVolume
	Claim  *corev1.PersistentVolumeClaim
	// NamespaceOptOut is the optOut of the namespace of the claim.
	NamespaceOptOut string
	// Since is when the last of the nodes of the volume went missing.
	Since time.Time
	// Unknown reports that a node of the volume was never seen.
	Unknown bool
	Delays  Delays
	Now     time.Time
}

// Delays are how long the nodes of a volume have to be missing. Unknown, if longer, is for those of which one was never seen; 0:
// indefinitely.
type Delays struct{ Known, Unknown time.Duration }

// DelaysOf returns the delays of a defaulted configuration.
func DelaysOf(config *configv1alpha1.LocalVolumeConfiguration) Delays {
	return Delays{Known: config.PVCDeletionDelay.Duration, Unknown: config.UnknownNodeDeletionDelay.Duration}
}

// Of returns how long nodes have to be missing; false: indefinitely.
func (d Delays) Of(unknown bool) (time.Duration, bool) {
	if !unknown {
		return d.Known, true
	}
	return max(d.Known, d.Unknown), d.Unknown > 0
}

// neverSeen explains why what belongs to a node that was never seen is retained: it may have been made before its node.
const neverSeen = "no such node was ever seen, it may still join"

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
		return Decision{Action: Keep, Skipped: fmt.Sprintf("the annotation %s of the claim is %s", OptOutAnnotation, optOut(claim))}
	case optedOut(volume):
		return Decision{Action: Keep, Skipped: fmt.Sprintf("the annotation %s of volume %s is %s", OptOutAnnotation, volume.Name, optOut(volume))}
	case in.NamespaceOptOut != "":
		return Decision{Action: Keep, Skipped: fmt.Sprintf("the annotation %s of the namespace is %s", OptOutAnnotation, in.NamespaceOptOut)}
	}
	delay, ends := in.Delays.Of(in.Unknown)
	if !ends {
		return Decision{Action: Keep, Skipped: neverSeen + "; set --unknown-node-deletion-delay (unknownNodeDeletionDelay) to delete such claims"}
	}
	if until := in.Since.Add(delay); in.Now.Before(until) {
		return Decision{Action: Wait, Until: until}
	}
	return Decision{Action: Delete}
}

// DecidePods decides about the pods that wait for the claim of a stale volume. The claim has to have been deleted, as the claimRef
// of the volume remembers it; they are left to Kubernetes for as long as the claim would have been.
func DecidePods(in ClaimInput) Decision {
	ref := in.Volume.Spec.ClaimRef
	if ref == nil || ref.UID == "" || in.Claim != nil && in.Claim.UID == ref.UID || optedOut(in.Volume) || in.NamespaceOptOut != "" {
		return Decision{Action: Keep}
	}
	delay, ends := in.Delays.Of(in.Unknown)
	if !ends {
		return Decision{Action: Keep}
	}
	if until := in.Since.Add(delay); in.Now.Before(until) {
		return Decision{Action: Wait, Until: until}
	}
	return Decision{Action: Delete}
}

// settleTime is how long a node has to be missing before its unclaimed volumes go. It spares a node that is recreated immediately,
// and shows how many nodes go together before the first volume does.
const settleTime = time.Second

// VolumeInput is what decides about a volume.
type VolumeInput struct {
	// Volume is a stale volume.
	Volume *corev1.PersistentVolume
	// NamespaceOptOut is the optOut of the namespace of its claimRef.
	NamespaceOptOut string
	// IncludeFailed treats the phase Failed as Released.
	IncludeFailed bool
	// Since is when the last of the nodes of the volume went missing.
	Since time.Time
	Now   time.Time
	// Unknown reports that a node of the volume was never seen, DeleteUnknown that such volumes may be deleted.
	Unknown, DeleteUnknown bool
	Delays                 Delays
	// PhaseSince is since when the volume is known to have its phase, and Grace how long Kubernetes and the provisioner or
	// driver of a volume have to delete it, unless it is a local one.
	PhaseSince time.Time
	Grace      time.Duration
	// ReleaseCSI reports that CSI volumes may be deleted and released from their driver's finalizers.
	ReleaseCSI bool
}

const failedVolumes = "its phase is Failed, and volumes that failed are not included"

// DecideVolume decides about a stale volume itself: it may have no claim, or its content may no longer be wanted.
func DecideVolume(in VolumeInput) Decision {
	volume := in.Volume
	if volume.Spec.CSI != nil {
		return decideCSI(in)
	}
	if !volume.DeletionTimestamp.IsZero() {
		return decideHeld(in)
	}
	deletes := volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	switch phase := volume.Status.Phase; {
	case phase == corev1.VolumeAvailable:
	case phase == corev1.VolumeReleased && deletes:
	case phase == corev1.VolumeReleased:
		return Decision{Action: Keep, Skipped: fmt.Sprintf("its reclaim policy is %s", volume.Spec.PersistentVolumeReclaimPolicy)}
	case phase == corev1.VolumeFailed && deletes && in.IncludeFailed:
	case phase == corev1.VolumeFailed && deletes:
		return Decision{Action: Keep, Skipped: failedVolumes}
	default:
		return Decision{Action: Keep}
	}
	if skipped := skippedByAnnotation(in); skipped != "" {
		return Decision{Action: Keep, Skipped: skipped}
	}
	if in.Unknown {
		return decideUnknown(in)
	}
	until := in.Since.Add(settleTime)
	if volume.Spec.Local == nil {
		until = later(until, later(in.Since, in.PhaseSince).Add(in.Grace))
	}
	if in.Now.Before(until) {
		return Decision{Action: Wait, Until: until}
	}
	return Decision{Action: Delete}
}

// skippedByAnnotation returns the annotation that retains a volume; empty if none does.
func skippedByAnnotation(in VolumeInput) string {
	switch {
	case optedOut(in.Volume):
		return fmt.Sprintf("its annotation %s is %s", OptOutAnnotation, optOut(in.Volume))
	case in.NamespaceOptOut != "":
		return fmt.Sprintf("the annotation %s of the namespace of its claim is %s", OptOutAnnotation, in.NamespaceOptOut)
	}
	return ""
}

// decideUnknown decides about a free volume of a node that was never seen: it may have been made before its node, manually, from a
// repository or a backup. Then its reclaim policy and its claimRef are all that reports whether anyone wants it.
func decideUnknown(in VolumeInput) Decision {
	volume := in.Volume
	delay, ends := in.Delays.Of(true)
	switch {
	case !in.DeleteUnknown:
		return Decision{Action: Keep, Skipped: neverSeen + "; set --delete-volumes-of-unknown-nodes (deleteVolumesOfUnknownNodes) to delete such volumes"}
	case !ends:
		return Decision{Action: Keep, Skipped: neverSeen + "; set --unknown-node-deletion-delay (unknownNodeDeletionDelay) to delete such volumes"}
	case volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete:
		return Decision{Action: Keep, Skipped: fmt.Sprintf("no such node was ever seen, and its reclaim policy is %s", volume.Spec.PersistentVolumeReclaimPolicy)}
	case volume.Status.Phase == corev1.VolumeAvailable && volume.Spec.ClaimRef != nil:
		return Decision{Action: Keep, Skipped: fmt.Sprintf("no such node was ever seen, and it is reserved for claim %s/%s", volume.Spec.ClaimRef.Namespace, volume.Spec.ClaimRef.Name)}
	}
	until := in.Since.Add(max(delay, settleTime))
	if volume.Spec.Local == nil {
		until = later(until, later(in.Since, in.PhaseSince).Add(in.Grace))
	}
	if in.Now.Before(until) {
		return Decision{Action: Wait, Until: until}
	}
	return Decision{Action: Delete}
}

// optOut returns the value of the annotation for users, empty if it does not retain the object. Only a known value permits a deletion:
// a user who sets any other one most likely wants the object to stay.
func optOut(object metav1.Object) string {
	switch value, ok := object.GetAnnotations()[OptOutAnnotation]; {
	case !ok || value == OptInValue:
		return ""
	case value == OptOutValue:
		return strconv.Quote(value)
	default:
		return fmt.Sprintf("%q, which is neither %q nor %q and counts as %[2]q", value, OptOutValue, OptInValue)
	}
}

func optedOut(object metav1.Object) bool { return optOut(object) != "" }
