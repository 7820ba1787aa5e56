// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

const (
	// minWait is how soon a Kluster comes back at the earliest for a time that has come.
	minWait = time.Second
	// failurePolls is how many poll intervals lie between two tries of credentials, or of a cloud that fails.
	failurePolls = 4
	// jitter is the part of an interval that is added at most, so that checks spread.
	jitter = 0.1
)

// Reconcile takes one step of a Deorbit.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	k, err := get(ctx, r.client, request.NamespacedName)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err != nil || !isGoing(k) || !k.HasDeorbiter() {
		r.discard(request.NamespacedName)
		return reconcile.Result{}, r.conclude(ctx, k)
	}
	wait, err := r.deorbit(ctx, k)
	return reconcile.Result{RequeueAfter: wait}, err
}

// deorbit takes in what the last check observed, writes it down, and begins the next check when it is due. It returns when that
// is; 0: something else comes first.
func (r *reconciler) deorbit(ctx context.Context, k *kubernikusv1.Kluster) (time.Duration, error) {
	key := client.ObjectKeyFromObject(k)
	s, err := r.stateOf(ctx, k)
	if s == nil || err != nil {
		return 0, err
	}
	if why := pausedBy(k); why != nil {
		r.stop(key)
		s.ends, s.listed, s.thawing = "", false, false
		return 0, r.write(ctx, k, s, *why)
	}
	s.resume(r.clock.Now())
	on, err := r.withSecret(ctx, k)
	if err != nil {
		return 0, err
	}
	settings := settingsOf(k, r.config, on.data())
	if k.Detached() {
		return 0, r.detach(ctx, on, s, settings.workload)
	}
	if s.thawing {
		r.stop(key) // its result is none of a stage
		s.thawing, s.next = false, time.Time{}
	}
	r.renew(key, s, basisOf(on))
	if s.ends == "" || s.ends == endsDetached {
		r.advance(ctx, k, s, settings)
	}
	shown := s.progress
	if shown.failure == nil {
		shown.failure, _ = r.silent(key)
	}
	if err := r.write(ctx, k, s, shown.condition()); err != nil {
		return 0, err
	}
	if s.ends != "" {
		return 0, r.release(ctx, k, s)
	}
	if r.clusters.Busy(key) || r.clouds.Busy(key) {
		_, wait := r.silent(key)
		return wait, nil // it comes back when the check is over, too
	}
	if s.progress.Stage == kubernikusv1.DeorbitMachines {
		// The annotation of the Kluster changes when the Machines have been deleted, or the timeout ends it.
		end := s.progress.StartedAt.Add(settings.timeout)
		return max(end.Sub(r.clock.Now()), minWait), nil
	}
	if wait := s.next.Sub(r.clock.Now()); wait > 0 {
		return wait, nil
	}
	self, err := r.self.UID(ctx)
	if err != nil {
		return 0, err
	}
	r.check(on, s, self).begin()
	_, wait := r.silent(key)
	return wait, nil
}

// silent returns the failure of a cloud in which no check has ended for too long; before, in how long that is to be reported.
func (r *reconciler) silent(key types.NamespacedName) (*failure, time.Duration) {
	since := r.clouds.Quiet(key)
	if since.IsZero() {
		return nil, 0
	}
	if left := quietTimeouts*r.config.OpenStack.Timeout.Duration - r.clock.Since(since); left > 0 {
		return nil, max(left, minWait)
	}
	return &failure{reason: reasonUnreachable, message: fmt.Sprintf("OpenStack does not respond: no check of this cloud has ended since %s",
		since.UTC().Format(time.RFC3339))}, 0
}

// advance takes a step, with the check that is over if there is one.
func (r *reconciler) advance(ctx context.Context, k *kubernikusv1.Kluster, s *state, settings settings) {
	now := r.clock.Now()
	seen := r.take(k)
	if seen != nil {
		s.id, s.requested = seen.id, s.requested || seen.requested
		if s.progress.ClusterID == "" && isFrozen(seen.stage) && !seen.isSelf && seen.held == nil {
			s.progress.ClusterID = string(seen.id)
		}
		s.next = now.Add(pause(*seen, r.config.Deorbit.PollInterval.Duration))
		r.meters.failed(*seen)
	}
	next, action := decide(s.progress, seen, settings, now)
	s.progress, s.ends = next, action.ends
	if action.soon {
		s.next = time.Time{}
	}
	s.notes = append(s.notes, action.notes...)
	r.removed(ctx, s, action.deleted)
	r.meters.moved(s, string(next.Stage))
}

// pause is how long to wait after a check.
func pause(o observed, poll time.Duration) time.Duration {
	failed := o.failure()
	if o.held != nil {
		poll *= failurePolls
	}
	if failed != nil && !failed.internal && (failed.waits || !failed.cluster) {
		poll = max(failurePolls*poll, failed.retryAfter)
	}
	return poll + time.Duration(rand.Float64()*jitter*float64(poll))
}

// release lists what is left, and removes Groundskeeper's finalizer from a Kluster, if that is still right according to the API
// server.
func (r *reconciler) release(ctx context.Context, k *kubernikusv1.Kluster, s *state) error {
	current, err := get(ctx, r.live, client.ObjectKeyFromObject(k))
	if err != nil {
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
		r.reportLeftovers(ctx, k, s)
		s.listed = true
	}
	if err := r.removeFinalizers(ctx, current); err != nil {
		return err
	}
	r.finished(ctx, k, s)
	r.discard(client.ObjectKeyFromObject(k))
	return nil
}

// detach releases a Kluster, and lifts the freeze of its cluster before, if this Deorbit has set one and the cluster responds.
func (r *reconciler) detach(ctx context.Context, on subject, s *state, hasWorkload bool) error {
	k, key := on.kluster, client.ObjectKeyFromObject(on.kluster)
	if s.ends != endsDetached && isFrozen(s.progress.Stage) && hasWorkload {
		if !s.thawing {
			r.stop(key)
			self, err := r.self.UID(ctx)
			if err != nil {
				return err
			}
			// Should the annotation go again, the cluster has to be frozen again.
			s.progress.Stage, s.ends = kubernikusv1.DeorbitFreeze, ""
			if err := r.write(ctx, k, s, s.progress.condition()); err != nil {
				return err
			}
			s.thawing = true
			r.clusters.Begin(key, key.String(), r.check(on, s, self).detach)
			return nil
		}
		seen := r.take(k)
		if seen == nil {
			return nil // it comes back when the freeze is lifted, or cannot be
		}
		switch failed := seen.failure(); {
		case failed != nil && failed.internal: // the cluster may respond
			s.thawing = false
			return fmt.Errorf("lift the freeze of the cluster of kluster %s: %s", key, failed.message)
		case failed != nil:
			s.notes = append(s.notes, note{warning: true, reason: eventThawed, message: "the cluster may still be frozen: delete the binding of " +
				"ValidatingAdmissionPolicy groundskeeper-deorbit in it, or the ValidatingWebhookConfiguration of this name: " + failed.message})
		case seen.lifted:
			s.notes = append(s.notes, note{reason: eventThawed, message: thawedMessage})
		}
		r.report(ctx, k, s)
	}
	r.stop(key)
	s.ends = endsDetached
	return r.release(ctx, k, s)
}
