// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const (
	// failurePause is the longest pause after a reconciliation that failed, unless the cloud requests a longer one.
	failurePause = time.Minute
	// conflictPause is the delay of a retry after a conflict with another client.
	conflictPause = time.Second
	// jitter is the part of an interval that is added at most, so that passes spread.
	jitter = 0.1
)

// Reconcile reconciles once when one is due, and records the result.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	k := &kubernikusv1.Kluster{}
	if err := r.client.Get(ctx, request.NamespacedName, k); err != nil {
		if apierrors.IsNotFound(err) {
			r.drop(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	neighbours, err := r.neighbours(ctx, k)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := planFor(k, neighbours, r.config)
	if p.target == nil {
		// Earlier observations are discarded after an interruption.
		r.drop(request.NamespacedName)
		var wait time.Duration
		if p.why != nil && p.why.Reason == kubernikusv1.ReasonCIDRConflict {
			wait = settingsOf(k, r.config).limits.Interval // a sibling whose router becomes known is on no router before
		}
		return r.settle(r.writeStatus(ctx, k, p.why, nil), wait)
	}
	s := r.stateOf(k)
	if now := basisOf(k); now != s.basis {
		// Running probes use the former spec or Secret, and earlier results are not of this generation.
		r.passes.Discard(request.NamespacedName)
		s.condition = nil
		if now.router != s.basis.router {
			s.memory, s.routes = Memory{}, nil
		}
		s.basis, s.next = now, time.Time{}
	}
	s.note(r.wakes.take(request.NamespacedName), r.clock.Now())
	if done, ok := r.passes.Take(request.NamespacedName); ok {
		s.over(done, r.clock.Now(), pause(done, p.target.Limits.Interval))
		r.report(ctx, k, s, done)
	}
	// Write the condition again if the write failed, or another client changed it.
	if s.condition != nil {
		if err := r.writeStatus(ctx, k, s.condition, s.routes); err != nil {
			return r.settle(err, 0)
		}
	}
	if r.passes.Busy(request.NamespacedName) {
		return reconcile.Result{}, nil // it comes back when the reconciliation is over
	}
	if wait := s.due().Sub(r.clock.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return r.begin(ctx, k, s, p.target)
}

// begin starts a reconciliation, unless the Secret has no credentials to make it with.
func (r *reconciler) begin(ctx context.Context, k *kubernikusv1.Kluster, s *state, target *Target) (reconcile.Result, error) {
	secret, err := kluster.Secret(ctx, r.live, k)
	if err != nil && !errors.Is(err, kluster.ErrNoSecret) {
		return reconcile.Result{}, err
	}
	s.woken, s.renewed = time.Time{}, false
	var credentials openstack.Credentials
	if err == nil {
		if credentials, err = openstack.CredentialsOf(secret.Data); err != nil {
			err = fmt.Errorf("secret %s: %w", kluster.SecretKey(k), err)
		}
	}
	if err != nil {
		failed := passed{err: &openstack.Error{Op: "read the credentials", Reason: openstack.ReasonCredentialsInvalid, Err: err}, memory: s.memory}
		wait := pause(failed, target.Limits.Interval)
		s.over(failed, r.clock.Now(), wait)
		r.report(ctx, k, s, failed)
		return r.settle(r.writeStatus(ctx, k, s.condition, s.routes), wait)
	}
	memory, registered := s.memory, k.DeepCopy()
	last := finalCheck{live: r.live, config: r.config, fence: r.fence, object: client.ObjectKeyFromObject(k), uid: k.UID, target: target}
	r.passes.Begin(last.object, credentials.Host(), func(ctx context.Context) passed {
		cloud, err := r.clients.Get(ctx, secret)
		if err != nil {
			return passed{err: err, memory: memory}
		}
		last.at = kluster.PlaceOf(cloud)
		if err := kluster.CheckPlace(registered, last.at); err != nil {
			return passed{err: err, memory: Memory{}}
		}
		pass := Pass{Project: cloud.ProjectID(), Network: guarded{Network: cloud.Network(), check: last.check}, Compute: cloud.Compute(), Clock: r.clock}
		result, err := pass.Run(ctx, *target, &memory)
		return passed{result: result, err: err, memory: memory}
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

// settle returns the end of a reconcile that wrote.
func (r *reconciler) settle(err error, wait time.Duration) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// writeStatus writes the condition RoutesClean and the orphans if they changed; nil removes them.
func (r *reconciler) writeStatus(ctx context.Context, k *kubernikusv1.Kluster, condition *metav1.Condition, routes *kubernikusv1.RouteGCStatus) error {
	var reported []metav1.Condition
	if condition != nil {
		reported = append(reported, *condition)
	}
	next, changed := kluster.Conditions(k, reported, r.clock.Now())
	if condition == nil {
		changed = current(k) != nil
	}
	if !changed && equality.Semantic.DeepEqual(k.Status.RouteGC, routes) {
		return nil
	}
	err := r.client.Status().Apply(ctx, applied(routes, kluster.Apply(k, next)), client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("apply the status of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	r.announce(ctx, k, condition)
	return nil
}
