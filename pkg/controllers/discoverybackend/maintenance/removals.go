// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// discardRemovals drops from a route the record of references that were removed too long ago, and comes back when more of it
// becomes that old. Without a record it does nothing.
func (r *routes) discardRemovals(ctx context.Context, key routeKey, since *time.Time) (reconcile.Result, error) {
	if since == nil {
		return reconcile.Result{}, nil
	}
	now := r.clock.Now()
	if left := r.keep - now.Sub(*since); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	served, err := r.cluster.set.Served(key.resource)
	if err != nil {
		return unknown(ctx, err), nil
	}
	if served == nil {
		return reconcile.Result{}, nil
	}
	client := r.client.Resource(*served).Namespace(key.name.Namespace)
	object, err := client.Get(ctx, key.name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("get %s: %w", r.describe(key), err)
	}
	// References that were removed exactly that long ago are old enough.
	if !r.kinds[key.resource].DiscardRemovals(object, now.Add(time.Nanosecond-r.keep)) {
		return reconcile.Result{}, nil
	}
	if _, err = r.update(ctx, client, key, object, writeValues); err == nil {
		log.FromContext(ctx).V(1).Info("Dropped the record of references that were removed from a route", "route", r.describe(key))
	}
	return r.settle(ctx, key, object, err)
}
