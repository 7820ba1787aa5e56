// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

const (
	// conflictPause is the delay of a retry after a conflict with another client.
	conflictPause = time.Second
	// failurePolls is how many poll intervals lie between two tries of credentials, or of a cloud that fails.
	failurePolls = 4
	// jitter is the part of an interval that is added at most, so that checks spread.
	jitter = 0.1
)

// Reconcile takes one step of a Deorbit.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	k := &kubernikusv1.Kluster{}
	err := r.client.Get(ctx, request.NamespacedName, k)
	switch {
	case apierrors.IsNotFound(err), err == nil && k.DeletionTimestamp.IsZero():
		r.discard(request.NamespacedName)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("get kluster %s: %w", request.NamespacedName, err)
	}
	var wait time.Duration
	if k.HasDeorbiter() {
		wait, err = r.step(ctx, k)
	} else {
		r.discard(request.NamespacedName)
		err = r.conclude(ctx, k)
	}
	if apierrors.IsConflict(err) {
		log.FromContext(ctx).V(1).Info("An object changed meanwhile, retrying", "err", err)
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// step takes in what the last check showed, writes it down, and begins the next check when it is due. It returns when that
// is; 0: something else comes first.
func (r *reconciler) step(ctx context.Context, k *kubernikusv1.Kluster) (time.Duration, error) {
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
	secret, secretErr := kluster.Secret(ctx, r.live, k)
	if secretErr != nil && !errors.Is(secretErr, kluster.ErrNoSecret) {
		return 0, secretErr
	}
	if k.Detached() {
		return r.detach(ctx, k, s, secret, secretErr)
	}
	if s.thawing {
		r.stop(key) // its result is none of a stage
		s.thawing, s.next = false, time.Time{}
	}
	r.renew(key, s, basisOf(k, secret))
	if s.ends == "" || s.ends == endsDetached {
		r.advance(ctx, k, s, secret)
	}
	if err := r.write(ctx, k, s, s.progress.failing(r.silent(r.clouds.Quiet(key))).condition()); err != nil {
		return 0, err
	}
	if s.ends != "" {
		return 0, r.release(ctx, k, s)
	}
	if r.clusters.Busy(key) || r.clouds.Busy(key) {
		return r.silentIn(key), nil // it comes back when the check is over, too
	}
	if s.progress.Stage == kubernikusv1.DeorbitMachines {
		// The annotation of the Kluster changes when the Machines have been deleted, or the timeout ends it.
		end := s.progress.StartedAt.Add(settingsOf(k, r.config, nil).timeout)
		return max(end.Sub(r.clock.Now()), conflictPause), nil
	}
	if wait := s.next.Sub(r.clock.Now()); wait > 0 {
		return wait, nil
	}
	self, err := r.self.UID(ctx)
	if err != nil {
		return 0, err
	}
	r.begin(k, s, secret, secretErr, self)
	return r.silentIn(key), nil
}

// silent returns the failure of a cloud at which no check has ended since a time, zero when none runs; nil before it has lasted for long enough.
func (r *reconciler) silent(since time.Time) *failure {
	if since.IsZero() || r.clock.Since(since) < r.quiet {
		return nil
	}
	return &failure{reason: reasonUnreachable, message: fmt.Sprintf("OpenStack does not respond: no check of this cloud has ended since %s", since.UTC().Format(time.RFC3339))}
}

// silentIn returns when a cloud in which a check runs is to be reported as silent; 0: it is, or there is none.
func (r *reconciler) silentIn(key types.NamespacedName) time.Duration {
	quiet := r.clouds.Quiet(key)
	if quiet.IsZero() || r.silent(quiet) != nil {
		return 0
	}
	return max(r.quiet-r.clock.Since(quiet), conflictPause)
}

// advance takes a step, with the check that is over if there is one.
func (r *reconciler) advance(ctx context.Context, k *kubernikusv1.Kluster, s *state, secret *corev1.Secret) {
	var data map[string][]byte
	if secret != nil {
		data = secret.Data
	}
	now := r.clock.Now()
	var showed *outcome
	if seen := r.take(client.ObjectKeyFromObject(k)); seen != nil {
		showed = &seen.outcome
		s.id, s.requested = seen.id, s.requested || seen.requested
		if s.progress.ClusterID == "" && isFrozen(seen.stage) && !seen.own && seen.held == nil {
			s.progress.ClusterID = string(seen.id)
		}
		s.next = now.Add(pause(seen.outcome, r.config.PollInterval.Duration))
		r.meters.failed(seen.outcome)
	}
	settings := settingsOf(k, r.config, data)
	settings.verifyTimeout = r.verifyTimeout
	next, action := advance(s.progress, showed, settings, now)
	s.progress, s.ends = next, action.ends
	if action.soon {
		s.next = time.Time{}
	}
	s.notes = append(s.notes, action.notes...)
	r.removed(ctx, s, action.deleted)
	r.meters.moved(s, string(next.Stage))
}

// take returns the check that is over, nil when there is none.
func (r *reconciler) take(key types.NamespacedName) *probed {
	for _, pool := range r.pools() {
		if result, ok := pool.Take(key); ok {
			return &result
		}
	}
	return nil
}

// pause is how long to wait after a check.
func pause(o outcome, poll time.Duration) time.Duration {
	failed := o.failure()
	if o.held != nil {
		poll *= failurePolls
	}
	if failed != nil && !failed.own && (failed.waits || !failed.cluster) {
		poll = max(failurePolls*poll, failed.retryAfter)
	}
	return poll + time.Duration(rand.Float64()*jitter*float64(poll))
}
