// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Subject is a stale volume with its claim, and what is to be done with the two.
type Subject struct {
	Stale
	// Claim is what the claimRef of the volume names, nil when that does not exist. It is the cache's own, not to be
	// changed.
	Claim                         *corev1.PersistentVolumeClaim
	ClaimDecision, VolumeDecision Decision
	// PodsDecision is about pods that wait for a claim that has been deleted. Without --delete-pending-pods it is to keep them.
	PodsDecision Decision
}

// toDo reports whether something is still to be deleted, now or later.
func (s *Subject) toDo() bool {
	if s.ClaimDecision.Action != Keep || s.VolumeDecision.Action != Keep || s.PodsDecision.Action != Keep {
		return true
	}
	// The claim is on its way out, and then it will be the turn of the volume.
	return s.Claim != nil && !s.Claim.DeletionTimestamp.IsZero() && s.Volume.DeletionTimestamp.IsZero() && !optedOut(s.Volume) &&
		s.Volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}

// pending reports whether something depends on how long the nodes have been missing.
func (s *Subject) pending() bool {
	return s.toDo() || !s.ClaimDecision.Until.IsZero() || !s.VolumeDecision.Until.IsZero()
}

// Survey decides about every stale volume and its claim, without a request.
func (s *Site) Survey(ctx context.Context) ([]Subject, error) {
	now := s.Clock.Now()
	namespaces := map[string]namespaceState{}
	stale := s.Inventory.Stale()
	subjects := make([]Subject, 0, len(stale))
	for _, found := range stale {
		subject := Subject{Stale: found}
		state := namespaceState{known: true}
		if ref := found.Volume.Spec.ClaimRef; ref != nil {
			var err error
			if subject.Claim, err = s.claim(ctx, ref); err != nil {
				return nil, err
			}
			if state, err = s.namespace(ctx, ref.Namespace, namespaces); err != nil {
				return nil, err
			}
		}
		in := ClaimInput{Volume: found.Volume, Claim: subject.Claim, NamespaceOptOut: state.optOut,
			Since: found.Since, Unknown: found.Unknown, Delays: s.delays(), Now: now}
		subject.ClaimDecision = DecideClaim(in)
		if !state.known && subject.ClaimDecision.Action == Delete {
			// The claim came before its namespace, which may have the annotation.
			subject.ClaimDecision = Decision{Action: Wait, Until: now.Add(PassInterval)}
		}
		subject.VolumeDecision = DecideVolume(VolumeInput{Volume: found.Volume, NamespaceOptOut: state.optOut,
			IncludeFailed: *s.Config.IncludeFailedVolumes, Since: found.Since, Now: now,
			Unknown: found.Unknown, DeleteUnknown: *s.Config.DeleteVolumesOfUnknownNodes, Delays: s.delays(),
			PhaseSince: found.PhaseSince, Grace: s.Config.DriverGracePeriod.Duration, ReleaseCSI: *s.Config.ReleaseCSIVolumes})
		s.decidePods(&subject, in, state)
		subjects = append(subjects, subject)
	}
	return subjects, nil
}

func (s *Site) delays() Delays { return DelaysOf(&s.Config) }

// ClaimDelay returns how long the nodes of a volume have to be missing before its claim is deleted.
func (s *Site) ClaimDelay(stale *Stale) time.Duration {
	delay, _ := s.delays().Of(stale.Unknown)
	return delay
}

// decidePods decides about the pods that wait for the claim of a subject. Its volume remembers which claim that is, so that
// a restart knows it, too, and has to stay until they are deleted.
func (s *Site) decidePods(subject *Subject, in ClaimInput, state namespaceState) {
	subject.PodsDecision = Decision{Action: Keep}
	if !*s.Config.DeletePendingPods || s.DryRun() || !state.known || s.podsAreReleased(subject.Volume.UID) {
		return
	}
	subject.PodsDecision = DecidePods(in)
	if subject.PodsDecision.Action != Keep && subject.VolumeDecision.Action != Keep {
		subject.VolumeDecision = Decision{Action: Wait, Until: later(later(subject.PodsDecision.Until, subject.VolumeDecision.Until), in.Now.Add(PassInterval))}
	}
}

func (s *Site) claim(ctx context.Context, ref *corev1.ObjectReference) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{}
	err := s.Cache.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, claim, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get persistent volume claim %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	return claim, nil
}

// namespaceState is what a namespace specifies for the claims in it.
type namespaceState struct {
	known bool
	// optOut is the optOut of the namespace.
	optOut string
}

func (s *Site) namespace(ctx context.Context, name string, seen map[string]namespaceState) (namespaceState, error) {
	if state, ok := seen[name]; ok {
		return state, nil
	}
	state := namespaceState{known: true}
	if s.Namespaces {
		object := namespaceMetadata()
		err := s.Cache.Get(ctx, client.ObjectKey{Name: name}, object, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return state, fmt.Errorf("get namespace %s: %w", name, err)
		}
		if state.known = err == nil; state.known {
			state.optOut = optOut(object)
		}
	}
	seen[name] = state
	return state, nil
}

func nodeMetadataList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	return list
}

func namespaceMetadata() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return object
}

func nodeMetadata() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	return object
}
