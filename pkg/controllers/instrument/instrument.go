// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package instrument wraps the reconciler of each controller: it retries concurrent changes, and reports each reconcile to observers,
// which create spans or record the last result. Observers are stored in the context of the manager, so that controllers do not depend
// on them.
package instrument

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

// conflictPause is how long the cache is given to have the change that a write conflicted with.
const conflictPause = time.Second

// Observer receives the durations of reconciles.
type Observer interface {
	// Begin is called before a reconcile and returns the context of the reconcile; end is called with its result.
	Begin(ctx context.Context, controller, object string) (_ context.Context, end func(reconcile.Result, error))
}

type observersKey struct{}

// With returns a context with an additional observer, which is called after those of ctx.
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

// Reconciler wraps the reconciler of a controller. An error that says that an object changed since it was read is no failure: the
// reconcile is repeated after a pause. Each reconcile is reported to the observers of the context.
func Reconciler[request comparable](controller string, next reconcile.TypedReconciler[request]) reconcile.TypedReconciler[request] {
	return reconcile.TypedFunc[request](func(ctx context.Context, r request) (reconcile.Result, error) {
		end := func(reconcile.Result, error) {}
		if all := observers(ctx); len(all) > 0 {
			ctx, end = begin(ctx, all, controller, fmt.Sprint(r))
		}
		result, err := next.Reconcile(ctx, r)
		if apierrors.IsConflict(err) || errors.Is(err, kit.ErrChanged) {
			log.FromContext(ctx).V(1).Info("An object changed meanwhile, retrying", "err", err.Error())
			result, err = reconcile.Result{RequeueAfter: conflictPause}, nil
		}
		end(result, err)
		return result, err
	})
}

// Task reports one run of a background task that is not a controller. The caller calls end when the run is complete.
func Task(ctx context.Context, name string) (_ context.Context, end func(error)) {
	ctx, over := begin(ctx, observers(ctx), name, "")
	return ctx, func(err error) { over(reconcile.Result{}, err) }
}

// Finder receives what controllers find that belongs to no object. It is an Observer.
type Finder interface {
	// Find replaces what a controller found before.
	Find(controller string, findings []string)
}

// Found reports all that a controller finds at present, in sentences for users; none when there is nothing.
func Found(ctx context.Context, controller string, findings ...string) {
	for _, observer := range observers(ctx) {
		if finder, ok := observer.(Finder); ok {
			finder.Find(controller, findings)
		}
	}
}
