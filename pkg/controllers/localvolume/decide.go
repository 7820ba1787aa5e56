// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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

const (
	// settleTime is how long a node has to be missing before its unclaimed volumes go. It spares a node that is recreated immediately,
	// and shows how many nodes go together before the first volume does.
	settleTime = time.Second
	// provisionerFinalizer is the finalizer of the external provisioner: the volume stays until the driver has deleted what it stored.
	// Where the driver runs on the node alone, that is indefinitely when the node has been deleted.
	provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"
	// protectionFinalizer is the finalizer of Kubernetes, which removes it when no claim is bound.
	protectionFinalizer = "kubernetes.io/pv-protection"

	// neverSeen explains why what belongs to a node that was never seen is retained: it may have been made before its node.
	neverSeen     = "no such node was ever seen, it may still join"
	failedVolumes = "its phase is Failed, and volumes that failed are not included"
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
	// Until is when a Wait is over.
	Until time.Time
	// Skipped is the reason, for users, why an object that appears to qualify for deletion is retained. It is empty for usual cases.
	Skipped string
	// Held reports that a volume is being deleted and has finalizers that are neither Kubernetes' nor its driver's.
	Held bool
}

// keep retains an object that appears to qualify for deletion.
func keep(why string, args ...any) Decision {
	return Decision{Action: Keep, Skipped: fmt.Sprintf(why, args...)}
}

type facts struct {
	*Subject
	config *configv1alpha1.LocalVolumeConfiguration
	now    time.Time
}

func (f facts) from(until time.Time) Decision {
	if f.now.Before(until) {
		return Decision{Action: Wait, Until: until}
	}
	return Decision{Action: Delete}
}

// decide decides about the volume, its claim, and the pods that wait for that. The volume remembers which claim that is, so that a restart
// knows it, too, and has to stay until the pods are deleted.
func (f facts) decide(podsReleased bool) {
	f.ClaimDecision, f.VolumeDecision, f.PodsDecision = f.claim(), f.volume(), Decision{Action: Keep}
	if f.ClaimDecision.Action == Delete && (f.namespace.unseen || *f.config.ProofOfLife && f.watched.IsZero()) {
		f.ClaimDecision = Decision{Action: Wait, Until: f.now.Add(PassInterval)}
	}
	if !*f.config.DeletePendingPods || *f.config.DryRun || f.namespace.unseen || podsReleased {
		return
	}
	f.PodsDecision = f.pods()
	if f.PodsDecision.Action != Keep && f.VolumeDecision.Action != Keep {
		f.VolumeDecision = Decision{Action: Wait, Until: later(f.PodsDecision.Until, f.VolumeDecision.Until, f.now.Add(PassInterval))}
	}
}

// ClaimDelay returns how long the nodes of a volume have to be missing before its claim is deleted; false: indefinitely.
func (s *Stale) ClaimDelay(config *configv1alpha1.LocalVolumeConfiguration) (time.Duration, bool) {
	delay := config.PVCDeletionDelay.Duration
	if s.class.delay != nil {
		delay = *s.class.delay
	}
	if !s.Unknown {
		return delay, true
	}
	return max(delay, config.UnknownNodeDeletionDelay.Duration), config.UnknownNodeDeletionDelay.Duration > 0
}

// claim decides about the claim of a stale volume. Only the very claim that the volume is bound to is deleted,
// and only when it points back.
func (f facts) claim() Decision {
	ref, claim := f.Volume.Spec.ClaimRef, f.Claim
	switch {
	case ref == nil || claim == nil,
		claim.Namespace != ref.Namespace || claim.Name != ref.Name,
		claim.UID != ref.UID, claim.Spec.VolumeName != f.Volume.Name,
		!claim.DeletionTimestamp.IsZero():
		return Decision{Action: Keep}
	case f.class.kept != "":
		return keep("%s", f.class.kept)
	case optedOut(claim):
		return keep("the annotation %s of the claim is %s", OptOutAnnotation, optOut(claim))
	case optedOut(f.Volume):
		return keep("the annotation %s of volume %s is %s", OptOutAnnotation, f.Volume.Name, optOut(f.Volume))
	case f.namespace.optOut != "":
		return keep("the annotation %s of the namespace is %s", OptOutAnnotation, f.namespace.optOut)
	}
	delay, ends := f.ClaimDelay(f.config)
	if !ends {
		return keep(neverSeen + "; set --unknown-node-deletion-delay (unknownNodeDeletionDelay) to delete such claims")
	}
	due := f.Since.Add(delay)
	if *f.config.ProofOfLife && !f.watched.IsZero() {
		due = later(due, f.watched.Add(silence))
	}
	return f.from(due)
}

// pods decides about the pods that wait for the claim of a stale volume. The claim has to have been deleted, as the claimRef
// of the volume remembers it; they are left to Kubernetes for as long as the claim would have been.
func (f facts) pods() Decision {
	ref := f.Volume.Spec.ClaimRef
	delay, ends := f.ClaimDelay(f.config)
	if ref == nil || ref.UID == "" || f.Claim != nil && f.Claim.UID == ref.UID || optedOut(f.Volume) || f.namespace.optOut != "" ||
		f.class.kept != "" || !ends {
		return Decision{Action: Keep}
	}
	return f.from(f.Since.Add(delay))
}

// volume decides about a stale volume itself: it may have no claim, or its content may no longer be wanted.
func (f facts) volume() Decision {
	csi := f.Volume.Spec.CSI != nil
	if !csi && !f.Volume.DeletionTimestamp.IsZero() {
		return f.held()
	}
	retained, free := f.retained()
	switch {
	case !free:
		return retained
	case csi:
		return f.csi()
	case f.Unknown:
		return f.unknown()
	}
	return f.from(f.settled(settleTime))
}

// retained returns what is decided about a volume that its phase, its reclaim policy or an annotation retains; true: none of them does.
func (f facts) retained() (Decision, bool) {
	csi, policy := f.Volume.Spec.CSI != nil, f.Volume.Spec.PersistentVolumeReclaimPolicy
	deletes := policy == corev1.PersistentVolumeReclaimDelete
	switch phase := f.Volume.Status.Phase; {
	case phase == corev1.VolumeAvailable && (!csi || deletes && f.Volume.Spec.ClaimRef == nil),
		phase == corev1.VolumeReleased && deletes,
		phase == corev1.VolumeFailed && deletes && *f.config.IncludeFailedVolumes:
	case (phase == corev1.VolumeReleased || phase == corev1.VolumeAvailable) && !deletes:
		return keep("its reclaim policy is %s", policy), false
	case phase == corev1.VolumeFailed && deletes:
		return keep(failedVolumes), false
	default:
		return Decision{Action: Keep}, false
	}
	switch {
	case f.class.kept != "":
		return keep("%s", f.class.kept), false
	case optedOut(f.Volume):
		return keep("its annotation %s is %s", OptOutAnnotation, optOut(f.Volume)), false
	case f.namespace.optOut != "":
		return keep("the annotation %s of the namespace of its claim is %s", OptOutAnnotation, f.namespace.optOut), false
	}
	return Decision{}, true
}

// settled returns when a volume may be deleted at the earliest. Kubernetes and its provisioner or driver have the grace period to do so,
// unless it is a local one.
func (f facts) settled(delay time.Duration) time.Time {
	if f.Volume.Spec.Local != nil {
		return f.Since.Add(delay)
	}
	return later(f.Since.Add(delay), f.grace())
}

func (f facts) grace() time.Time {
	return later(f.Since, f.PhaseSince).Add(f.config.DriverGracePeriod.Duration)
}

// unknown decides about a free volume of a node that was never seen: it may have been made before its node, manually, from a
// repository or a backup. Then its reclaim policy and its claimRef are all that reports whether anyone wants it.
func (f facts) unknown() Decision {
	spec := f.Volume.Spec
	delay, ends := f.ClaimDelay(f.config)
	switch {
	case !*f.config.DeleteVolumesOfUnknownNodes:
		return keep(neverSeen + "; set --delete-volumes-of-unknown-nodes (deleteVolumesOfUnknownNodes) to delete such volumes")
	case !ends:
		return keep(neverSeen + "; set --unknown-node-deletion-delay (unknownNodeDeletionDelay) to delete such volumes")
	case spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete:
		return keep("no such node was ever seen, and its reclaim policy is %s", spec.PersistentVolumeReclaimPolicy)
	case f.Volume.Status.Phase == corev1.VolumeAvailable && spec.ClaimRef != nil:
		return keep("no such node was ever seen, and it is reserved for claim %s", claimOf(f.Volume))
	}
	return f.from(f.settled(max(delay, settleTime)))
}

// csi decides about a free CSI volume. It belongs to its driver, which has the grace period to delete it. Only when that is
// requested, a volume that the driver did not delete is deleted, and then released from the driver's finalizers.
func (f facts) csi() Decision {
	if !*f.config.ReleaseCSIVolumes {
		return keep("its CSI driver %s has to delete it; if it cannot without the node, set --release-csi-volumes (releaseCSIVolumes)",
			f.Volume.Spec.CSI.Driver)
	}
	decision := f.from(f.grace())
	if f.Unknown && f.unknown().Action != Delete {
		decision = f.unknown()
	}
	switch {
	case decision.Action != Delete, f.Volume.DeletionTimestamp.IsZero():
		return decision
	case len(driverFinalizers(f.Volume)) > 0:
		return Decision{Action: Release}
	}
	return f.held()
}

// held decides about a stale volume that is being deleted: when nothing is left to do for its driver, its other finalizers are
// named. They must not be removed by Groundskeeper.
func (f facts) held() Decision {
	others := slices.DeleteFunc(slices.Clone(f.Volume.Finalizers), func(finalizer string) bool { return finalizer == protectionFinalizer })
	if len(others) == 0 || f.now.Before(f.grace()) {
		return Decision{Action: Keep}
	}
	decision := keep("it is being deleted, and has the finalizer %s, which its owner has to remove", strings.Join(others, ", "))
	decision.Held = true
	return decision
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

// toDo reports whether something is still to be deleted, now or later.
func (s *Subject) toDo() bool {
	if s.ClaimDecision.Action != Keep || s.VolumeDecision.Action != Keep || s.PodsDecision.Action != Keep {
		return true
	}
	// The claim is on its way out, and then it will be the turn of the volume.
	return s.Claim != nil && !s.Claim.DeletionTimestamp.IsZero() && s.Volume.DeletionTimestamp.IsZero() &&
		!optedOut(s.Volume) && s.class.kept == "" &&
		s.Volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}

// Pending reports whether something depends on how long the nodes have been missing.
func (s *Subject) Pending() bool {
	return s.toDo() || !s.ClaimDecision.Until.IsZero() || !s.VolumeDecision.Until.IsZero()
}

const (
	// toleratedMissing is how many nodes may be missing at any time: one or two are an everyday loss, and in a small
	// cluster already a large part.
	toleratedMissing = 2
	brakeOff         = 1.0
)

// Census counts the nodes that opted-in volumes name.
type Census struct {
	// Nodes is how many Node objects the cluster has, whether a volume names them or not.
	Nodes int
	// Missing is how many named nodes are missing and still have something to be deleted.
	Missing int
	// Live is how many named nodes exist.
	Live int
	// Unreachable is how many of the missing ones exist, but are not ready.
	Unreachable int
}

// brake returns why nothing may be deleted, or "". limit is the fraction of missing nodes that engages it, acknowledged how many
// missing nodes a user acknowledged.
func brake(census Census, limit float64, acknowledged int) string {
	if limit >= brakeOff || census.Missing == 0 || census.Missing <= acknowledged {
		return ""
	}
	if census.Nodes == 0 {
		return "the list of nodes is empty, or has only nodes that count as lost"
	}
	all := census.Missing + census.Live
	// Several nodes that are unreachable while none is left are no everyday loss: it is their connection that is lost.
	disconnected := census.Live == 0 && census.Unreachable > 1
	if census.Missing <= toleratedMissing && !disconnected || float64(census.Missing) < limit*float64(all) {
		return ""
	}
	return fmt.Sprintf("%d of %d nodes with local volumes are missing, which reaches the limit of %g", census.Missing, all, limit)
}
