// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package observe notifies observers of each reconcile: one that creates spans, one that records the last result. They
// come with the context of the manager, so that controllers know nothing of them.
package observe

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Observer is notified of reconciles.
type Observer interface {
	// Begin is called before a reconcile, end after it, with its outcome. The reconcile gets the context.
	Begin(ctx context.Context, controller, object string) (_ context.Context, end func(reconcile.Result, error))
}

type observersKey struct{}

// With returns a context whose reconciles are observed, by those of the given context first.
func With(ctx context.Context, observer Observer) context.Context {
	before := observers(ctx)
	return context.WithValue(ctx, observersKey{}, append(before[:len(before):len(before)], observer))
}

func observers(ctx context.Context) []Observer {
	all, _ := ctx.Value(observersKey{}).([]Observer)
	return all
}

// begin notifies the observers, and returns the function that notifies them of the end.
func begin(ctx context.Context, all []Observer, controller, object string) (context.Context, func(reconcile.Result, error)) {
	ends := make([]func(reconcile.Result, error), len(all))
	for i, observer := range all {
		ctx, ends[i] = observer.Begin(ctx, controller, object)
	}
	return ctx, func(result reconcile.Result, err error) {
		for _, end := range ends {
			end(result, err)
		}
	}
}

// Reconciler returns a reconciler of a controller whose reconciles are observed.
func Reconciler[request comparable](controller string, next reconcile.TypedReconciler[request]) reconcile.TypedReconciler[request] {
	return reconcile.TypedFunc[request](func(ctx context.Context, r request) (reconcile.Result, error) {
		all := observers(ctx)
		if len(all) == 0 {
			return next.Reconcile(ctx, r)
		}
		ctx, end := begin(ctx, all, controller, fmt.Sprint(r))
		result, err := next.Reconcile(ctx, r)
		end(result, err)
		return result, err
	})
}

// Pass notifies the observers of a run of a background task that is no controller. It is over when end is called.
func Pass(ctx context.Context, loop string) (_ context.Context, end func(error)) {
	ctx, over := begin(ctx, observers(ctx), loop, "")
	return ctx, func(err error) { over(reconcile.Result{}, err) }
}
