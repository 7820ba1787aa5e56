// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// waiters are the claims whose pods may wait in vain.
type waiters struct {
	site *localvolume.Site

	mu     sync.Mutex
	claims map[types.UID]bool
	gone   []*corev1.PersistentVolumeClaim
}

// expect says that a claim is being deleted.
func (w *waiters) expect(claim *corev1.PersistentVolumeClaim) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.claims == nil {
		w.claims = map[types.UID]bool{}
	}
	w.claims[claim.UID] = true
}

// add learns that a claim is gone. One that was not deleted here does not matter.
func (w *waiters) add(claim *corev1.PersistentVolumeClaim) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.claims[claim.UID] {
		delete(w.claims, claim.UID)
		w.gone = append(w.gone, claim)
	}
}

// take returns the claims that are gone since the last call.
func (w *waiters) take() []*corev1.PersistentVolumeClaim {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := w.gone
	w.gone = nil
	return gone
}

// putBack keeps claims for another try.
func (w *waiters) putBack(claims []*corev1.PersistentVolumeClaim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = append(w.gone, claims...)
}

// release deletes the pods that wait for the claims that are gone.
func (w *waiters) release(ctx context.Context) error {
	if w == nil {
		return nil
	}
	claims := w.take()
	byNamespace := map[string]map[string]bool{}
	for _, claim := range claims {
		if byNamespace[claim.Namespace] == nil {
			byNamespace[claim.Namespace] = map[string]bool{}
		}
		byNamespace[claim.Namespace][claim.Name] = true
	}
	for namespace, names := range byNamespace {
		if err := w.releaseIn(ctx, namespace, names); err != nil {
			w.putBack(claims)
			return err
		}
	}
	return nil
}

// releaseIn deletes the Pending pods of one namespace that no node has and that use one of the claims. A pod that got
// its claim anew meanwhile is left alone, and so is one that was scheduled: its resource version is another.
func (w *waiters) releaseIn(ctx context.Context, namespace string, names map[string]bool) error {
	pods := &corev1.PodList{}
	pending := client.MatchingFields{"status.phase": string(corev1.PodPending), "spec.nodeName": ""}
	if err := w.site.Client.List(ctx, pods, client.InNamespace(namespace), pending); err != nil {
		return fmt.Errorf("list the pending pods of namespace %s: %w", namespace, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		name, waits := waitsFor(pod, names)
		if !waits {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{}
		err := w.site.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim)
		if err == nil {
			continue // it is there again
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get persistent volume claim %s/%s: %w", namespace, name, err)
		}
		w.site.Recorder.Event(pod, corev1.EventTypeNormal, localvolume.EventPodDeleted,
			fmt.Sprintf("Deleting the pod, because it waits for claim %s, which was deleted with its node.", name))
		deleted, err := w.site.DeleteExactly(ctx, pod)
		if err != nil {
			return fmt.Errorf("delete pod %s/%s: %w", namespace, pod.Name, err)
		}
		if deleted {
			log.FromContext(ctx).Info("Deleted a pod that waited for a deleted claim", "pod", client.ObjectKeyFromObject(pod), "claim", name)
		}
	}
	return nil
}

// waitsFor returns the claim, one of the names, that a pod without a node uses.
func waitsFor(pod *corev1.Pod, names map[string]bool) (string, bool) {
	if pod.Status.Phase != corev1.PodPending || pod.Spec.NodeName != "" || !pod.DeletionTimestamp.IsZero() {
		return "", false
	}
	for _, volume := range pod.Spec.Volumes {
		if source := volume.PersistentVolumeClaim; source != nil && names[source.ClaimName] {
			return source.ClaimName, true
		}
	}
	return "", false
}
