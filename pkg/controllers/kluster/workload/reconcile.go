// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// conflictPause is the delay of a retry after a conflict with another client.
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
