// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// retryPeriod is the pause after something changed under a reconciliation. The change itself mostly comes sooner.
	retryPeriod = time.Second
	// waitPeriod is how often something that a watch should report is rechecked, in case it did not.
	waitPeriod = time.Minute
)

// Reconcile brings the Translations of one owner to what they should be.
func (r *reconciler) Reconcile(ctx context.Context, u unit) (reconcile.Result, error) {
	o, result, err := r.convert(ctx, u)
	switch {
	case kit.IsTerminating(err):
		// The namespace takes no new object any more. The owner is about to be deleted, too, which is an event.
		o, result, err = outcomeRetried, reconcile.Result{RequeueAfter: waitPeriod}, nil
	case isTransient(err):
		log.FromContext(ctx).V(1).Info("Retrying after a concurrent change", "err", err.Error())
		o, result, err = outcomeRetried, reconcile.Result{RequeueAfter: retryPeriod}, nil
	case err != nil:
		o = outcomeFailed
	case o == outcomeDone:
		r.patience.Forget(u)
	}
	r.passes.WithLabelValues(labelOf(u), string(o)).Inc()
	return result, err
}

// convert reads an owner and reconciles its Translations.
func (r *reconciler) convert(ctx context.Context, u unit) (outcome, reconcile.Result, error) {
	s, err := r.read(ctx, u)
	if err != nil {
		return "", reconcile.Result{}, err
	}
	r.compare(u, s)
	switch {
	case s == nil:
		r.drop(u)
		return outcomeGone, reconcile.Result{}, nil
	case s.result.Waiting != nil:
		return r.wait(ctx, u, s)
	default:
		r.memory.settles(u)
		return r.provide(ctx, u, s)
	}
}

// compare notes what a Node shares with others, and has those reconciled whom a change concerns. Of one that has been
// deleted, object is nil.
func (r *reconciler) compare(u unit, s *subject) {
	if u.kind != convert.KindNode {
		return
	}
	var now convert.Holdings
	if s != nil {
		if node, ok := s.object.(*corev1.Node); ok {
			now = convert.HoldingsOf(node)
		}
	}
	for _, name := range r.memory.setHoldings(u.name, now) {
		r.enqueue(unit{kind: convert.KindNode, name: name})
	}
	if s != nil {
		s.shared = r.memory.shared(u.name)
	}
}

// drop discards what is remembered of an owner that has been deleted.
func (r *reconciler) drop(u unit) {
	r.memory.discard(u)
	r.patience.Forget(u)
}

// provide writes what an owner wants and deletes what it does not.
func (r *reconciler) provide(ctx context.Context, u unit, s *subject) (outcome, reconcile.Result, error) {
	p, err := r.plan(ctx, s, s.result.Translations)
	if err != nil {
		return "", reconcile.Result{}, err
	}
	if p.inherits(s.owner) {
		if err := r.confirm(ctx, s); err != nil {
			return "", reconcile.Result{}, err
		}
	}
	s.inPlace = len(s.result.Translations) > 0 && !p.acts()
	problems := skippedOf(s)
	if err := r.carryOut(ctx, s.owner, &p); err != nil {
		return r.failed(ctx, u, s, problems, err)
	}
	if len(p.taken) > 0 {
		r.record(ctx, u, s, append(problems, blocked(reasonNameTaken, fmt.Sprintf(
			"another client has the names of %d translations: delete or rename %s in namespace %s, or remove what they belong to",
			len(p.taken), namesOf(p.taken), s.owner.TranslationNamespace()))))
		return outcomeTaken, reconcile.Result{RequeueAfter: r.patience.When(u)}, nil
	}
	r.record(ctx, u, s, problems)
	switch {
	case p.complete():
		return outcomeDone, reconcile.Result{}, nil
	case p.withheld: // until the owner has been deleted, or garbage collection is done with it: both are events
		return outcomeWaiting, reconcile.Result{}, nil
	default:
		return outcomeWaiting, reconcile.Result{RequeueAfter: waitPeriod}, nil
	}
}

// failed ends a reconcile whose writes failed. If the API server rejected them, a user has to resolve the cause, and gets the message of
// the server.
func (r *reconciler) failed(ctx context.Context, u unit, s *subject, problems []problem, err error) (outcome, reconcile.Result, error) {
	rejected := (*rejection)(nil)
	if !errors.As(err, &rejected) {
		return "", reconcile.Result{}, err
	}
	r.record(ctx, u, s, append(problems, blocked(reasonRefused, rejected.Error())))
	return outcomeRefused, reconcile.Result{RequeueAfter: r.patience.When(u)}, nil
}

// plan decides what to do. It decides twice when there is something to do: the second time by the result of the controller's own
// writes, which the cache reports a moment later.
func (r *reconciler) plan(ctx context.Context, s *subject, wanted []midonetv1.Translation) (plan, error) {
	existing, err := r.existing(ctx, s.owner, wanted)
	if err != nil {
		return plan{}, err
	}
	first, err := newPlan(s.owner, s.creates(), wanted, existing)
	if err != nil || !first.acts() {
		return first, err
	}
	for _, name := range first.found() {
		if err := r.reread(ctx, s.owner, name, existing); err != nil {
			return plan{}, err
		}
	}
	return newPlan(s.owner, s.creates(), wanted, existing)
}

func labelOf(u unit) string {
	if u.kind == "" {
		return globalKey
	}
	return strings.ToLower(u.kind)
}
