// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// maxEvents is how many leftovers have a dedicated event.
const maxEvents = 20

// release lists what is left, and removes Groundskeeper's finalizer from a Kluster, if that is still right according to the API
// server.
func (r *reconciler) release(ctx context.Context, k *kubernikusv1.Kluster, s *state) error {
	current := &kubernikusv1.Kluster{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(k), current); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !releasable(current, s) {
		s.ends, s.listed = "", false // the cache will receive the change, which triggers another check
		return nil
	}
	if err := r.fence(); err != nil {
		return fmt.Errorf("release kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	if !s.listed && s.ends != endsDetached {
		r.list(ctx, k, s)
		s.listed = true
	}
	released := current.DeepCopy()
	controllerutil.RemoveFinalizer(released, kubernikusv1.DeorbiterFinalizer)
	controllerutil.RemoveFinalizer(released, kubernikusv1.ImportedDeorbiterFinalizer)
	changes := client.MergeFromWithOptions(current, client.MergeFromWithOptimisticLock{})
	err := r.client.Patch(ctx, released, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("update the finalizers of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	r.finished(ctx, k, s)
	r.discard(client.ObjectKeyFromObject(k))
	return nil
}

// detach releases a Kluster, and lifts the freeze of its cluster before, if this Deorbit has set one and the cluster responds.
func (r *reconciler) detach(ctx context.Context, k *kubernikusv1.Kluster, s *state, secret *corev1.Secret, secretErr error) (time.Duration, error) {
	key := client.ObjectKeyFromObject(k)
	var data map[string][]byte
	if secret != nil {
		data = secret.Data
	}
	if s.ends != endsDetached && isFrozen(s.progress.Stage) && settingsOf(k, r.config, data).workload {
		if !s.thawing {
			r.stop(key)
			self, err := r.self.UID(ctx)
			if err != nil {
				return 0, err
			}
			// Should the annotation go again, the cluster has to be frozen again.
			s.progress.Stage, s.ends = kubernikusv1.DeorbitFreeze, ""
			if err := r.write(ctx, k, s, s.progress.condition()); err != nil {
				return 0, err
			}
			s.thawing = true
			l := r.probe(k, s, secret, secretErr, self)
			r.clusters.Begin(key, key.String(), l.detach)
			return 0, nil
		}
		seen := r.take(key)
		if seen == nil {
			return 0, nil // it comes back when the freeze is lifted, or cannot be
		}
		switch failed := seen.failure(); {
		case failed != nil:
			s.notes = append(s.notes, note{warning: true, reason: eventThawed, message: "the cluster may still be frozen: delete the binding of " +
				"ValidatingAdmissionPolicy groundskeeper-deorbit in it, or the ValidatingWebhookConfiguration of this name: " + failed.message})
		case seen.lifted:
			s.notes = append(s.notes, note{reason: eventThawed, message: "the freeze is lifted: the cluster is still used"})
		}
		r.report(ctx, k, s)
	}
	r.stop(key)
	s.ends = endsDetached
	return 0, r.release(ctx, k, s)
}

// detach lifts the freeze of the cluster of a Kluster that is detached.
func (l probe) detach(ctx context.Context) probed {
	result := probed{outcome: outcome{stage: l.stage}}
	failed := func(err error) probed {
		result.parts = []part{{stage: l.stage, failure: clusterFailure(err)}}
		return result
	}
	if l.connection == nil {
		return failed(l.wayErr)
	}
	id, err := l.id(ctx)
	if err != nil {
		return failed(err)
	}
	if changed := changedHold(l.target, string(id)); changed != nil {
		return failed(errors.New(changed.message))
	}
	k := &kubernikusv1.Kluster{}
	if err := l.live.Get(ctx, l.key, k); err != nil {
		return failed(err)
	}
	if k.UID != l.uid || !k.Detached() || id == l.self {
		return result
	}
	if result.lifted, err = l.thaw(ctx, k, string(id)); err != nil {
		return failed(err)
	}
	return result
}

// releasable reports whether a Kluster as the API server has it may be released as decided.
func releasable(current *kubernikusv1.Kluster, s *state) bool {
	return current.UID == s.uid && !current.DeletionTimestamp.IsZero() && !kit.IsPaused(current) && !current.TerminationProtected() &&
		current.Detached() == (s.ends == endsDetached) && current.HasDeorbiter()
}

// list reports what is left, each thing of it, before its record is lost.
func (r *reconciler) list(ctx context.Context, k *kubernikusv1.Kluster, s *state) {
	for _, object := range s.progress.Retained {
		log.FromContext(ctx).Info("Kept on purpose", "object", describe(object))
	}
	left := slices.Concat(s.progress.Remaining, s.progress.Undecided)
	for i, object := range left {
		log.FromContext(ctx).Info("Left over", "object", describe(object))
		r.meters.leftovers.WithLabelValues(object.Kind).Inc()
		if i < maxEvents {
			// Events that differ in their note alone count as one, of which only the first note is kept.
			about := &corev1.ObjectReference{Kind: object.Kind, Namespace: object.Namespace, Name: object.Name, UID: types.UID(object.ID)}
			r.recorder.Eventf(k, about, corev1.EventTypeWarning, eventLeftover, actionRelease, "%s", kluster.Bounded("left over: "+describe(object)))
		}
	}
	if more := len(left) - maxEvents; more > 0 {
		r.recorder.Eventf(k, nil, corev1.EventTypeWarning, eventLeftovers, actionRelease, "%d things are left over, %d of them are not in a dedicated event: see status.deorbit.remaining, status.deorbit.undecided and the log",
			len(left), more)
	}
}

// finished reports that a Kluster is released.
func (r *reconciler) finished(ctx context.Context, k *kubernikusv1.Kluster, s *state) {
	r.meters.finished.WithLabelValues(string(s.ends)).Inc()
	logger := log.FromContext(ctx)
	if s.ends == endsDetached {
		logger.Info("Detached a Kluster without changes to its cluster", "annotation", kubernikusv1.DetachAnnotation)
		r.recorder.Eventf(k, nil, corev1.EventTypeNormal, eventReleased, actionRelease,
			"released without any clean-up: the annotation %s requests to leave everything unchanged", kubernikusv1.DetachAnnotation)
		return
	}
	left := len(s.progress.Remaining) + len(s.progress.Undecided)
	took := r.clock.Since(s.progress.StartedAt.Time)
	r.meters.duration.Observe(took.Seconds())
	logger.Info("Deorbited a Kluster", "outcome", s.ends, "took", took.String(), "leftovers", left, "retained", len(s.progress.Retained))
	r.recorder.Eventf(k, nil, corev1.EventTypeNormal, eventDeorbited, actionRelease, "%s",
		fmt.Sprintf("released: %d things are left over, %d are kept on purpose", left, len(s.progress.Retained)))
}
