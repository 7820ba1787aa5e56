// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// waiters deletes the pods that can never start, because their claim was deleted with its node. The claimRefs of the stale volumes
// name these claims.
type waiters struct {
	site    *localvolume.Site
	retries backoffs
}

// subjectsByClaim are those of one namespace, by the name of the claim.
type subjectsByClaim map[string]*localvolume.Subject

// release deletes the pods that wait for claims that have been deleted.
func (w *waiters) release(ctx context.Context, subjects []localvolume.Subject) error {
	if w == nil {
		return nil
	}
	now := w.site.Clock.Now()
	uids := make(sets.Set[types.UID], len(subjects))
	for i := range subjects {
		uids.Insert(subjects[i].Volume.UID)
	}
	keepOnly(w.retries, uids)
	w.site.KeepReleased(uids)
	permit, due, err := w.site.Clear(ctx, subjects, func(s *localvolume.Subject) bool {
		return s.PodsDecision.Action == localvolume.Delete && !now.Before(w.retries[s.Volume.UID].until)
	})
	if err != nil {
		return err
	}
	byNamespace := map[string]subjectsByClaim{}
	for i := range due {
		ref := due[i].Volume.Spec.ClaimRef
		if byNamespace[ref.Namespace] == nil {
			byNamespace[ref.Namespace] = subjectsByClaim{}
		}
		byNamespace[ref.Namespace][ref.Name] = &due[i]
	}
	var errs []error
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		errs = append(errs, w.releaseIn(ctx, permit, namespace, byNamespace[namespace]))
	}
	if err := errors.Join(errs...); err != nil {
		log.FromContext(ctx).Error(err, "Failed to delete pods that wait for deleted claims, retrying later")
	}
	return nil
}

// releaseIn deletes the Pending pods of one namespace that no node has and that use one of the claims. A pod that got its claim
// again meanwhile is left alone, and so is one that was scheduled: its resource version is another.
func (w *waiters) releaseIn(ctx context.Context, permit *localvolume.Permit, namespace string, byClaim subjectsByClaim) error {
	failed := map[string]error{}
	pods := &corev1.PodList{}
	pending := client.MatchingFields{"status.phase": string(corev1.PodPending), "spec.nodeName": ""}
	if err := w.site.Client.List(ctx, pods, client.InNamespace(namespace), pending); err != nil {
		for claim := range byClaim {
			failed[claim] = err
		}
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		claim, waits := waitsFor(pod, byClaim)
		if !waits || !permit.Allows(byClaim[claim].Stale) {
			continue
		}
		if err := w.releasePod(ctx, pod, claim); err != nil {
			failed[claim] = fmt.Errorf("delete pod %s/%s: %w", namespace, pod.Name, err)
		}
	}
	for claim, subject := range byClaim {
		if failed[claim] != nil {
			w.retries.failed(subject.Volume.UID, w.site.Clock.Now())
		} else if permit.Allows(subject.Stale) {
			w.site.PodsReleased(subject.Volume.UID)
		}
	}
	return errors.Join(slices.Collect(maps.Values(failed))...)
}

func (w *waiters) releasePod(ctx context.Context, pod *corev1.Pod, claim string) error {
	err := w.site.Client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: claim}, &corev1.PersistentVolumeClaim{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("get persistent volume claim %s: %w", claim, err)
	}
	w.site.Recorder.Event(pod, corev1.EventTypeNormal, localvolume.EventPodDeleted,
		fmt.Sprintf("Deleting the pod, because it waits for claim %s, which was deleted with its node.", claim))
	deleted, err := w.site.DeleteExactly(ctx, pod)
	if deleted {
		log.FromContext(ctx).Info("Deleted a pod that waited for a deleted claim", "pod", client.ObjectKeyFromObject(pod), "claim", claim)
	}
	return err
}

// waitsFor returns the claim, one of these, that a pod without a node uses.
func waitsFor(pod *corev1.Pod, byClaim subjectsByClaim) (string, bool) {
	if pod.Status.Phase != corev1.PodPending || pod.Spec.NodeName != "" || !pod.DeletionTimestamp.IsZero() {
		return "", false
	}
	for _, volume := range pod.Spec.Volumes {
		if source := volume.PersistentVolumeClaim; source != nil && byClaim[source.ClaimName] != nil {
			return source.ClaimName, true
		}
	}
	return "", false
}
