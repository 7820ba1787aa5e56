// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

const (
	// withdrawPause is the polling interval of a withdrawal that waits.
	withdrawPause = 2 * time.Second
	// blockedPause is how often a problem that another client has to repair is rechecked, where no watch reports it.
	blockedPause = time.Minute
)

// Reconcile announces one Kluster, or takes its announcement back.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	k := &kubernikusv1.Kluster{}
	if err := r.client.Get(ctx, request.NamespacedName, k); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !concerned(k) {
		return reconcile.Result{}, nil
	}
	// From here on the API server decides. The cache may be behind, and a Kluster that is being deleted is Deorbit's.
	live := &kubernikusv1.Kluster{}
	if err := r.live.Get(ctx, request.NamespacedName, live); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !concerned(live) {
		return reconcile.Result{}, nil
	}
	wait, err := r.settle(ctx, live)
	if errors.Is(err, errNotServed) {
		wait, err = blockedPause, r.writeCondition(ctx, live, notAnnounced(reasonNotServed, "%v", err))
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// settle withdraws what is not wanted, and announces what is. It returns when to recheck, 0: when something changes.
func (r *reconciler) settle(ctx context.Context, k *kubernikusv1.Kluster) (time.Duration, error) {
	if !isSettled(k) {
		withdrawn, err := r.withdrawOld(ctx, k)
		if err != nil || !withdrawn {
			return withdrawPause, err
		}
	}
	if !wanted(k) {
		return 0, r.writeCondition(ctx, k, nil)
	}
	// A condition comes before what it mentions, so that nothing is left behind that is unknown of.
	if current(k) == nil {
		announcing := notAnnounced(reasonAnnouncing, "DiscoveryBackend %s/%s and its Secret are being made", k.Spec.Discovery.Namespace, k.Name)
		if err := r.writeCondition(ctx, k, announcing); err != nil {
			return 0, err
		}
	}
	kubeconfig, unusable, err := r.credentials(ctx, k)
	if err != nil {
		return 0, err
	}
	there, err := r.inspect(ctx, k)
	if err != nil {
		return 0, err
	}
	p := planFor(k, there, kubeconfig, unusable)
	condition := p.blocked
	if condition == nil {
		if condition, err = r.write(ctx, k, there, p, kubeconfig); err != nil {
			return 0, err
		}
	}
	if condition.Status == metav1.ConditionTrue {
		return 0, r.writeCondition(ctx, k, condition)
	}
	return blockedPause, r.writeCondition(ctx, k, condition)
}

// withdrawOld withdraws an announcement that is elsewhere than the spec requires, and reports whether nothing of it is left.
func (r *reconciler) withdrawOld(ctx context.Context, k *kubernikusv1.Kluster) (bool, error) {
	keep := ""
	if wanted(k) {
		keep = k.Spec.Discovery.Namespace
	}
	report, err := withdraw(ctx, r.client, r.live, k, keep)
	if err != nil || len(report.Remaining) == 0 {
		return err == nil, err
	}
	first := report.Remaining[0]
	return false, r.writeCondition(ctx, k, notAnnounced(reasonWithdrawing, "%s %s/%s: %s", first.Kind, first.Namespace, first.Name,
		first.Reason))
}
