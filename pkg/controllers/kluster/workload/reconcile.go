// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

// conflictPause is the pause after another client was quicker.
const conflictPause = time.Second

// Reconcile makes a Kluster have the session that it should have, and records its state.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	k := &kubernikusv1.Kluster{}
	if err := r.client.Get(ctx, request.NamespacedName, k); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, fmt.Errorf("get kluster %s: %w", request.NamespacedName, err)
		}
		_, err = r.adjust(request.NamespacedName, nil)
		return reconcile.Result{}, err
	}
	p := planFor(k, r.config, r.options.NodeDeleted != nil)
	want, err := r.blueprint(ctx, k, &p)
	if err != nil {
		return reconcile.Result{}, err
	}
	running, err := r.adjust(request.NamespacedName, want)
	if err != nil {
		p.reject(err.Error())
	}
	condition, again := p.why, time.Duration(0)
	if p.volumes != nil {
		if running == nil {
			return reconcile.Result{}, nil // the one before has to end first, and reports that
		}
		if condition, again = running.condition(p.volumes); condition == nil {
			return reconcile.Result{RequeueAfter: again}, nil // nothing is known yet that is not in the status
		}
	}
	err = r.writeCondition(ctx, k, condition)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// blueprint reads the Secret of a Kluster that needs a session. It is nil when there is none to be had, and then the plan reports
// why.
func (r *reconciler) blueprint(ctx context.Context, k *kubernikusv1.Kluster, p *plan) (*blueprint, error) {
	if p.idle() {
		return nil, nil
	}
	secret, err := kluster.Secret(ctx, r.live, k)
	if err != nil && !errors.Is(err, kluster.ErrNoSecret) {
		return nil, err
	}
	if err != nil {
		p.reject(err.Error())
		return nil, nil
	}
	config, err := kluster.Workload(k, secret.Data)
	if err != nil {
		p.reject(fmt.Sprintf("secret %s: %v", kluster.SecretKey(k), err))
		return nil, nil
	}
	fingerprint, err := printOf(k, *p, secret.Data)
	if err != nil {
		return nil, err
	}
	return &blueprint{plan: *p, key: client.ObjectKeyFromObject(k), uid: k.UID, config: config, print: fingerprint}, nil
}

// reject reports why there can be no session.
func (p *plan) reject(message string) {
	p.nodes = false
	if p.volumes == nil {
		return
	}
	p.volumes = nil
	p.why = &metav1.Condition{Type: kubernikusv1.ConditionLocalVolumeCleanup, Status: metav1.ConditionFalse, Reason: ReasonNotConfigured, Message: message}
}
