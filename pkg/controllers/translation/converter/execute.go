// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// maxParallelWrites bounds the requests of one reconciliation that are under way concurrently. The Translations of a Service do not
// depend on each other, and one after the other they would take as many round trips.
const maxParallelWrites = 8

// isTransient reports whether an error is caused by a concurrent change. The next reconciliation reads it, so it is not reported.
func isTransient(err error) bool {
	return kit.IsConcurrentChange(err) || apierrors.IsAlreadyExists(err)
}

// rejection is a write that the API server will not have unchanged, in its own words.
type rejection struct{ error }

// Unwrap returns the server's response.
func (r *rejection) Unwrap() error { return r.error }

// judged marks an error that is a rejection.
func judged(err error) error {
	switch {
	case err == nil || isTransient(err):
		return err
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return &rejection{err}
	default:
		return err
	}
}

// carryOut writes the desired Translations, and then deletes the others. A Translation whose resources move to another one is deleted
// only after all writes have succeeded: the pusher receives both in this order, and moves the resources instead of deleting and
// recreating them.
func (r *reconciler) carryOut(ctx context.Context, owner convert.Owner, p *plan) error {
	err := each(p.create, func(translation *midonetv1.Translation) error { return r.create(ctx, translation) })
	err = worst(err, each(p.update, func(u update) error { return r.patch(ctx, u) }))
	remove := p.stale
	switch {
	case severity(err) == severe: // the API server fails
		remove = nil
	case err != nil:
		err = fmt.Errorf("write the translations of %s: %w", describe(owner), err)
	case p.complete():
		remove = slices.Concat(p.stale, p.former)
	default:
		remove = slices.Concat(p.stale, p.obstacles)
	}
	if failed := each(remove, func(translation *midonetv1.Translation) error { return r.remove(ctx, translation) }); failed != nil {
		err = worst(err, fmt.Errorf("delete stale translations of %s: %w", describe(owner), failed))
	}
	return err
}

// create writes a copy: the response of the server is put into what was sent.
func (r *reconciler) create(ctx context.Context, translation *midonetv1.Translation) error {
	if err := r.client.Create(ctx, translation.DeepCopy(), client.FieldOwner(fieldOwner)); err != nil {
		return judged(err)
	}
	r.writes.WithLabelValues(operationCreate).Inc()
	return nil
}

func (r *reconciler) patch(ctx context.Context, u update) error {
	response := &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: u.current.Namespace, Name: u.current.Name}}
	if err := r.client.Patch(ctx, response, client.RawPatch(types.MergePatchType, u.patch), client.FieldOwner(fieldOwner)); err != nil {
		return judged(kit.NotFoundIsChanged(err))
	}
	operation := operationUpdate
	if u.inherits {
		operation = operationAdopt
	}
	r.writes.WithLabelValues(operation).Inc()
	return nil
}

// remove deletes the very Translation that was read, in the state in which it was read.
func (r *reconciler) remove(ctx context.Context, translation *midonetv1.Translation) error {
	target := &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: translation.Namespace, Name: translation.Name}}
	if err := r.client.Delete(ctx, target, client.Preconditions(kit.AsRead(translation))); err != nil {
		return judged(kit.NotFoundIsChanged(err))
	}
	r.writes.WithLabelValues(operationDelete).Inc()
	return nil
}

// each does something with several items, a few at the same time, and returns the worst error. It continues after an error that is
// about one item, and stops when the API server fails.
func each[T any](items []T, do func(T) error) error {
	errs := make([]error, len(items))
	var failed atomic.Bool
	var group errgroup.Group
	group.SetLimit(maxParallelWrites)
	for i, item := range items {
		group.Go(func() error {
			if failed.Load() {
				return nil
			}
			errs[i] = do(item)
			if severity(errs[i]) == severe {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait()
	return worst(errs...)
}

// Severities of errors.
const (
	none = iota
	passing
	lasting
	severe
)

func severity(err error) int {
	rejected := (*rejection)(nil)
	switch {
	case err == nil:
		return none
	case errors.As(err, &rejected):
		return lasting
	case isTransient(err):
		return passing
	default:
		return severe
	}
}

// worst returns the most informative error: thousands of writes fail with one reason as a rule.
func worst(errs ...error) error {
	var found error
	for _, err := range errs {
		if severity(err) > severity(found) {
			found = err
		}
	}
	return found
}
