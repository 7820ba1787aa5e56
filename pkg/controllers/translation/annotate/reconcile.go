// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// followPeriod is how often the host of a Node is compared with the backend, which does not report changes.
const followPeriod = time.Minute

// Reconcile sets the missing annotations of a Node in one write, because the others have no effect without the host.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o, err := r.observe(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if o.node == nil {
		r.memory.discard(request.Name)
		r.patience.Forget(request)
		return reconcile.Result{}, nil
	}
	d := decide(r.network, o)
	if len(d.set) > 0 {
		err = r.annotate(ctx, o.node, d)
	}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		d.waits = &convert.Problem{Reason: reasonRefused, Message: err.Error()}
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("annotate node %s: %w", request.Name, kit.NotFoundIsChanged(err))
	}
	switch {
	case d.waits != nil:
		if r.memory.waits.set(request.Name, *d.waits) {
			r.warn(ctx, o.node, *d.waits, "A node is not annotated")
		}
		return reconcile.Result{RequeueAfter: r.patience.When(request)}, nil
	case d.unknown:
		return reconcile.Result{RequeueAfter: r.patience.When(request)}, nil
	case d.differs == nil:
		r.memory.differences.end(request.Name)
	case r.memory.differences.set(request.Name, *d.differs):
		r.warn(ctx, o.node, *d.differs, "An annotation of a node cannot be right")
	}
	r.patience.Forget(request)
	r.memory.waits.end(request.Name)
	if d.follows {
		return reconcile.Result{RequeueAfter: followPeriod}, nil
	}
	return reconcile.Result{}, nil
}
