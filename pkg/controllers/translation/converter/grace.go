// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// newcomerPeriod is how long a Node may lack the host-id that it never had before there is an event about it.
const newcomerPeriod = 10 * time.Second

// losses knows since when Nodes lack the host-id. It is kept in memory alone: a restart begins the grace period again, so that
// nothing is deleted early, and nothing is written to remember it.
type losses struct {
	mu    sync.Mutex
	since map[unit]loss
}

// loss is of one Node: one that was recreated has its own.
type loss struct {
	uid types.UID
	at  time.Time
}

// begin returns when a loss was noticed first, which may be now.
func (l *losses) begin(u unit, uid types.UID, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.since[u]
	if !ok || known.uid != uid {
		if l.since == nil {
			l.since = map[unit]loss{}
		}
		known = loss{uid, now}
		l.since[u] = known
	}
	return known.at
}

// end discards a loss.
func (l *losses) end(u unit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, u)
}

// wait leaves the Translations of an owner alone that cannot be converted now: everything on a Node is deleted with the Node's
// bridge. A Node that lost its host-id keeps them for the grace period.
func (r *reconciler) wait(ctx context.Context, u unit, s *subject) (outcome, reconcile.Result, error) {
	reason := *s.result.Waiting
	// A Pod has nothing to report that its Node does not report for all.
	report := problem{Problem: reason, blocks: true, silent: u.kind == convert.KindPod}
	if u.kind != convert.KindNode || reason.Reason != convert.ReasonHostIDMissing {
		r.losses.end(u)
		r.record(ctx, u, s, []problem{report})
		return outcomeWaiting, reconcile.Result{}, nil
	}
	p, err := r.plan(ctx, s, nil)
	if err != nil {
		return "", reconcile.Result{}, err
	}
	now, kept := r.clock.Now(), len(p.stale)+len(p.former)
	if kept == 0 && !s.creates() { // it would get no network if it had the host-id
		r.losses.end(u)
		r.newcomers.end(u)
		r.record(ctx, u, s, nil)
		return outcomeWaiting, reconcile.Result{}, nil
	}
	if kept == 0 {
		r.losses.end(u)
		// The annotator may be about to name the host of a new Node.
		left := r.newcomers.begin(u, s.owner.UID, now).Add(newcomerPeriod).Sub(now)
		report.silent = left > 0
		r.record(ctx, u, s, []problem{report})
		return outcomeWaiting, reconcile.Result{RequeueAfter: max(left, 0)}, nil
	}
	until := r.losses.begin(u, s.owner.UID, now).Add(r.gracePeriod)
	if left := until.Sub(now); left > 0 {
		report.Message += fmt.Sprintf("; its %d translations, and the network of its pods with them, stay until %s",
			kept, until.UTC().Format(time.RFC3339))
		r.record(ctx, u, s, []problem{report})
		return outcomeWaiting, reconcile.Result{RequeueAfter: left}, nil
	}
	if err := r.confirmLoss(ctx, s); err != nil {
		return "", reconcile.Result{}, err
	}
	if err := r.carryOut(ctx, s.owner, &p); err != nil {
		return r.failed(ctx, u, s, []problem{report}, err)
	}
	r.losses.end(u)
	log.FromContext(ctx).Info("Deleted the translations of a node that lost its host-id", "translations", kept, "gracePeriod", r.gracePeriod.String())
	r.warn(s.object, convert.Problem{Reason: eventRemoved,
		Message: fmt.Sprintf("the node has no host-id for %s: its %d translations are deleted", r.gracePeriod, kept)})
	return outcomeWaiting, reconcile.Result{}, nil
}

// confirmLoss reads the Node once more, from the API server, before its network is deleted.
func (r *reconciler) confirmLoss(ctx context.Context, s *subject) error {
	node := &corev1.Node{}
	err := r.live.Get(ctx, client.ObjectKey{Name: s.owner.Name}, node)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s: %w", describe(s.owner), err)
	}
	waiting := r.emitter.Node(node, nil).Waiting
	if apierrors.IsNotFound(err) || node.UID != s.owner.UID || node.DeletionTimestamp.IsZero() != s.object.GetDeletionTimestamp().IsZero() ||
		waiting == nil || waiting.Reason != convert.ReasonHostIDMissing {
		return fmt.Errorf("%s: %w", describe(s.owner), kit.ErrChanged)
	}
	return nil
}
