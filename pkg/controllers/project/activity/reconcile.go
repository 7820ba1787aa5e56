// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Reconcile writes the last activity in a namespace to its Project, unless it is recorded already.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	at := r.memory.last(request.Name)
	if at.IsZero() {
		return reconcile.Result{}, nil
	}
	project, err := r.projectOf(ctx, request.Name)
	if err == nil && isNews(project, at) {
		err = r.write(ctx, project, at)
	}
	if err == nil {
		r.memory.done(request.Name, at)
	}
	return reconcile.Result{}, err
}
