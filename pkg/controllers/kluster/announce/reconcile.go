// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// conflictPause is the delay of a retry after a conflict with another client.
	conflictPause = time.Second
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
		wait, err = blockedPause, r.writeCondition(ctx, live, notAnnounced(ReasonNotServed, "%v", err))
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		log.FromContext(ctx).V(1).Info("An object changed meanwhile, retrying", "kluster", request)
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// concerned reports whether there is anything to do for a Kluster: it is to be announced, or was. Without the finalizer of Deorbit
// nothing would withdraw the announcement, and once the Kluster is being deleted only Deorbit does.
func concerned(k *kubernikusv1.Kluster) bool {
	return k.DeletionTimestamp.IsZero() && k.HasDeorbiter() && !kit.IsPaused(k) && (wanted(k) || current(k) != nil)
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
		if err := r.writeCondition(ctx, k, notAnnounced(ReasonAnnouncing, "DiscoveryBackend %s/%s and its Secret are being made", k.Spec.Discovery.Namespace, k.Name)); err != nil {
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

// isSettled reports whether the announcement is where this very spec wants it, so that there can be none elsewhere.
func isSettled(k *kubernikusv1.Kluster) bool {
	c := current(k)
	return c == nil || wanted(k) && c.Status == metav1.ConditionTrue && c.ObservedGeneration == k.Generation
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
	return false, r.writeCondition(ctx, k, notAnnounced(ReasonWithdrawing, "%s %s/%s: %s", first.Kind, first.Namespace, first.Name, first.Reason))
}

// credentials returns the kubeconfig of a Kluster, or the condition that reports why there is none.
func (r *reconciler) credentials(ctx context.Context, k *kubernikusv1.Kluster) ([]byte, *metav1.Condition, error) {
	secret, err := kluster.Secret(ctx, r.live, k)
	if errors.Is(err, kluster.ErrNoSecret) {
		return nil, unusable(k, err), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if err := kluster.CheckSecret(k, secret.Data); err != nil {
		return nil, notAnnounced(kubernikusv1.ReasonCloudChanged, "what is announced remains unchanged: %v", err), nil
	}
	kubeconfig, problem := kubeconfigOf(k, secret.Data)
	return kubeconfig, problem, nil
}

// inspect reads the existing objects with the names that the announcement needs.
func (r *reconciler) inspect(ctx context.Context, k *kubernikusv1.Kluster) (seen, error) {
	var there seen
	backend, secret := &gimbalv1.DiscoveryBackend{}, &corev1.Secret{}
	name := client.ObjectKey{Namespace: k.Spec.Discovery.Namespace, Name: k.Name}
	switch err := r.live.Get(ctx, name, backend); {
	case err == nil:
		there.backend = backend
	case meta.IsNoMatchError(err):
		return there, errNotServed
	case !apierrors.IsNotFound(err):
		return there, fmt.Errorf("get DiscoveryBackend %s: %w", name, err)
	}
	name.Name = secretName(k)
	switch err := r.live.Get(ctx, name, secret); {
	case err == nil:
		there.secret = secret
	case !apierrors.IsNotFound(err):
		return there, fmt.Errorf("get Secret %s: %w", name, err)
	}
	return there, nil
}
