// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const (
	// failurePause is the longest pause after a reconciliation that failed, unless the cloud requests a longer one.
	failurePause = time.Minute
	// jitter is the part of an interval that is added at most, so that passes spread.
	jitter = 0.1
)

// Reconcile begins a pass when one is due, and records the result of the last one.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	k, neighbours, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if k == nil {
		r.drop(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	target, reason, message := targetOf(k, neighbours, r.config)
	if target == nil || reason != "" {
		return r.leave(ctx, k, target, reason, message)
	}
	s := r.stateOf(k)
	if now := basisOf(k); now != s.basis {
		// Running probes use the former spec or Secret, and earlier results are not of this generation.
		r.passes.Discard(request.NamespacedName)
		s.condition = nil
		if now.router != s.basis.router {
			s.history, s.routes = History{}, nil
		}
		s.basis, s.next = now, time.Time{}
	}
	s.note(r.wakes.take(request.NamespacedName), r.clock.Now())
	if done, ok := r.passes.Take(request.NamespacedName); ok {
		s.over(done, r.clock.Now(), pause(done, target.Limits.Interval))
		r.report(ctx, k, s, done)
	}
	// Write the condition again if the write failed, or another client changed it.
	if s.condition != nil {
		if err := r.writeStatus(ctx, k, s.condition, s.routes); err != nil {
			return reconcile.Result{}, err
		}
	}
	if r.passes.Busy(request.NamespacedName) {
		return reconcile.Result{}, nil // it comes back when the reconciliation is over
	}
	if wait := s.due().Sub(r.clock.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return r.begin(ctx, k, s, *target)
}

// leave reports why no pass is made. Earlier observations are discarded after an interruption.
func (r *reconciler) leave(ctx context.Context, k *kubernikusv1.Kluster, target *Target, reason, message string) (reconcile.Result, error) {
	r.drop(client.ObjectKeyFromObject(k))
	var why *metav1.Condition
	if reason != "" {
		why = &metav1.Condition{Type: kubernikusv1.ConditionRoutesClean, Status: metav1.ConditionUnknown, Reason: reason, Message: message}
	}
	if err := r.writeStatus(ctx, k, why, nil); err != nil || reason != kubernikusv1.ReasonCIDRConflict {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: target.Limits.Interval}, nil // a sibling whose router becomes known is on no router before
}

// begin starts a pass, unless the Secret has no credentials to make it with.
func (r *reconciler) begin(ctx context.Context, k *kubernikusv1.Kluster, s *state, target Target) (reconcile.Result, error) {
	secret, host, err := r.secretOf(ctx, k)
	if unusable := (*openstack.Error)(nil); errors.As(err, &unusable) {
		s.woken, s.renewed = time.Time{}, false
		failed := passed{err: err, history: s.history}
		wait := pause(failed, target.Limits.Interval)
		s.over(failed, r.clock.Now(), wait)
		r.report(ctx, k, s, failed)
		if err := r.writeStatus(ctx, k, s.condition, s.routes); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	s.woken, s.renewed = time.Time{}, false
	history, registered := s.history, k.DeepCopy()
	r.passes.Begin(client.ObjectKeyFromObject(k), host, func(ctx context.Context) passed {
		cloud, err := r.clients.Get(ctx, secret)
		if err != nil {
			return passed{err: err, history: history}
		}
		at := kluster.PlaceOf(cloud)
		if err := kluster.CheckPlace(registered, at); err != nil {
			return passed{err: err}
		}
		pass := Pass{
			Project: cloud.ProjectID(), Network: cloud.Network(), Compute: cloud.Compute(), Clock: r.clock,
			Check: func(ctx context.Context) error { return r.check(ctx, registered, &target, at) },
		}
		result, err := pass.Run(ctx, target, &history)
		return passed{result: result, err: err, history: history}
	})
	return reconcile.Result{}, nil
}

// pause is how long to wait after a reconciliation.
func pause(done passed, interval time.Duration) time.Duration {
	// A Kluster may request an interval that leaves no room for jitter: the sum would be negative, and due immediately.
	spread := func(d time.Duration) time.Duration {
		return d + min(time.Duration(rand.Float64()*jitter*float64(d)), math.MaxInt64-d)
	}
	switch {
	case done.err != nil:
		return max(spread(min(interval, failurePause)), openstack.RetryAfter(done.err))
	case done.result.Again > 0:
		return done.result.Again
	default:
		return spread(interval)
	}
}

// Pass checks a router once.
type Pass struct {
	// Project is the id of the project whose servers Compute lists.
	Project string
	Network openstack.Network
	Compute openstack.Compute
	Clock   clock.PassiveClock
	// Check has the last word before routes are removed; nil: no check.
	Check func(context.Context) error
}

// Run makes the pass: one request when the router has no route of the cluster, two more or less when all are in use. It
// keeps in the history what the next pass needs. An error means that something could not be seen, and then nothing was
// removed, or that the removal failed: the next pass tries again what is still there.
func (p Pass) Run(ctx context.Context, t Target, history *History) (Result, error) {
	router, err := p.Network.Router(ctx, t.RouterID)
	if err != nil {
		return Result{}, err
	}
	own := t.Scope.Owned(router.Routes)
	if len(own) == 0 {
		*history = History{}
		return Result{}, nil
	}
	orphans, servers, err := p.orphans(ctx, router, own)
	if err != nil {
		return Result{}, err
	}
	next, doomed, result := history.judge(p.Clock.Now(), len(own), servers, orphans, t.Limits)
	*history = next
	if t.DryRun {
		result.Spared = doomed
		for _, spared := range [][]Orphan{result.Spared, result.Waiting} {
			for i := range spared {
				spared[i].Due = time.Time{}
			}
		}
		return result, nil
	}
	var removed []openstack.Route
	for _, o := range doomed {
		removed = append(removed, o.Route)
	}
	if err := p.remove(ctx, router, removed); err != nil {
		result.Waiting = append(doomed, result.Waiting...)
		return result, err
	}
	for _, route := range removed {
		delete(history.first, route) // one that comes back starts again
	}
	result.Removed = removed
	return result, nil
}
