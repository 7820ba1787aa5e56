// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
)

// ConfirmationPause is how long after a suspicious listing the second one is made, or tried again when it failed.
const ConfirmationPause = 10 * time.Second

// errHeld means that a deletion waits for the guard.
var errHeld = errors.New("a deletion waits for a second listing")

// process checks one service and decides about another check.
func (r *Replica) process(ctx context.Context, key types.NamespacedName) {
	err := r.reconcile(ctx, key)
	var blocked *obstacle
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		r.report(key, key.String())
		r.queue.Forget(key)
		r.patience.Forget(key)
	case errors.As(err, &blocked):
		r.report(key, key.String(), blocked.Problem)
		r.queue.Forget(key)
		r.queue.AddAfter(key, r.patience.When(key))
	case errors.Is(err, errHeld): // the guard has it checked again
		r.queue.Forget(key)
		return
	case isTransient(err):
		logr.FromContextOrDiscard(ctx).V(1).Info("An object changed meanwhile, retrying", "service", key.String(), "err", err)
		r.queue.AddRateLimited(key)
		return
	default:
		r.Meters.ServiceError(key, errorType(err))
		logr.FromContextOrDiscard(ctx).Error(err, "A service is not copied, trying again", "service", key.String())
		r.queue.AddRateLimited(key)
		return
	}
	if r.memory.checked(key) {
		r.synced()
	}
}

// reconcile brings the copy of one service to what it should be.
func (r *Replica) reconcile(ctx context.Context, key types.NamespacedName) error {
	o := r.observe(key)
	if o.unknown {
		return nil
	}
	r.reportDenied(key, o.denied)
	if o.source == nil {
		r.waitFor(key, false)
		if len(o.have.All()) == 0 {
			r.Meters.Remove(key)
			return nil
		}
		operations, err := o.operations(r.Annotations)
		if err != nil {
			return err
		}
		return r.carryOut(ctx, o, operations)
	}
	row := telemetry.Row{Upstream: o.source.EndpointCount()}
	ready, err := r.namespaceReady(ctx, key)
	if err == nil && ready {
		err = r.provide(ctx, o)
		row.Invalid = errors.As(err, new(*obstacle))
		if err == nil || errors.Is(err, errHeld) {
			row.Copied, row.Replicated = true, row.Upstream
		}
	}
	r.Meters.Set(key, row)
	return err
}

// namespaceReady reports whether the namespace of a service is there to be written to. When it is missing, the policy specifies
// what happens.
func (r *Replica) namespaceReady(ctx context.Context, key types.NamespacedName) (bool, error) {
	exists, usable := r.namespace(key.Namespace)
	switch {
	case usable:
		r.waitFor(key, false)
		return true, nil
	case r.Policy.Missing == gimbalv1.MissingNamespaceIgnore:
		return false, nil
	case r.Policy.Missing == gimbalv1.MissingNamespaceCreate && !exists:
		// The watch delivers an event when it is created.
		return false, r.createNamespace(ctx, key.Namespace)
	default:
		r.waitFor(key, true)
		return false, nil
	}
}

// provide writes the copy of a service.
func (r *Replica) provide(ctx context.Context, o observed) error {
	if o.other != nil && o.have.Service == nil {
		if err := collision(r.Backend, o.key, o.other, desired.ServiceSource); err != nil {
			return err
		}
	}
	r.memory.revoke(o.want.Refs()...)
	operations, err := o.operations(r.Annotations)
	if err != nil {
		return err
	}
	if operations, err = r.undisputed(ctx, o, operations); err != nil {
		return err
	}
	return r.carryOut(ctx, o, operations)
}

// undisputed leaves out of operations those that would change nothing but the readiness of endpoints, as long as it may
// be maintenance that made the difference: in maintenance and for a while after it, until they have been due for a while;
// and at any time when they would make something ready, until the API server confirms that nothing is withheld.
func (r *Replica) undisputed(ctx context.Context, o observed, operations []operation) ([]operation, error) {
	if r.Withheld == nil {
		return operations, nil
	}
	certain, gives := withoutReadiness(o.want, operations)
	if len(certain) == len(operations) {
		r.memory.agrees(o.key)
		return operations, nil
	}
	now, state := r.Clock.Now(), r.memory.now()
	calm := state.calm(now)
	switch {
	case calm && !gives:
		return operations, nil
	case !calm:
		if left := r.memory.disputes(o.key, now); left > 0 {
			r.queue.AddAfter(o.key, left)
			return certain, nil
		}
		if state.fresh(now) {
			return operations, nil
		}
	}
	withheld, err := r.isWithheld(ctx)
	switch {
	case err != nil:
		return nil, err
	case withheld != state.withheld: // everything is rechecked
		return certain, nil
	}
	return operations, nil
}

// carryOut performs operations in order. Deletions that are based on a list only wait for the guard, and those that the backend does
// not confirm are left out: a cache may be far behind when its watch was lost or the process was paused, and what it reports as deleted
// may have been recreated since, and copied by the discoverer that had the Lease before.
func (r *Replica) carryOut(ctx context.Context, o observed, operations []operation) error {
	operations, held := permitted(operations, r.memory.isSure)
	var doubt error
	if len(deletedBy(operations)) > 0 {
		live, err := r.observeLive(ctx, o)
		var due []operation
		if err == nil {
			due, err = live.operations(r.Annotations)
		}
		operations, doubt = confirmed(o.key, operations, due, err)
	}
	if err := r.execute(ctx, o.key, operations); err != nil {
		return err
	}
	if doubt == nil && held {
		notify(r.sweep)
		return errHeld
	}
	return doubt
}

// differing returns the services whose copies are not what they should be, and notes what is known of the others.
func (r *Replica) differing() (sets.Set[types.NamespacedName], error) {
	different := sets.New[types.NamespacedName]()
	keys, _ := r.copied()
	for key := range keys.Insert(r.Upstream.Keys()...) {
		o := r.observe(key)
		operations, err := o.operations(r.Annotations)
		switch {
		case err != nil:
			return nil, err
		case len(operations) > 0:
			different.Insert(key)
		case o.source != nil:
			count := o.source.EndpointCount()
			r.Meters.Set(key, telemetry.Row{Copied: true, Upstream: count, Replicated: count})
		}
	}
	return different, nil
}

// clear deletes the copies that the guard permits to delete: those whose source is missing. When these are suspiciously many, the
// backend is listed again, and what that brings stays.
func (r *Replica) clear(ctx context.Context) error {
	keys, count := r.copied()
	missing := map[desired.Ref]types.NamespacedName{}
	for key := range keys {
		o := r.observe(key)
		operations, err := o.operations(r.Annotations)
		if err != nil {
			return err
		}
		for _, op := range operations {
			if ref := desired.RefOf(op.Object); op.Verb == verbDelete && op.Vanished && !r.memory.isSure(ref) {
				missing[ref] = key
			}
		}
	}
	if suspicious(count, len(missing)) {
		logr.FromContextOrDiscard(ctx).Info("A listing of the backend lacks most services: waiting for a second one before copies are deleted",
			"copies", count, "missing", len(missing))
		present, err := r.listAgain(ctx)
		if err != nil {
			return err
		}
		for ref := range present {
			delete(missing, ref)
		}
	}
	// All parts of a service at once: each check of it queries the backend.
	r.memory.permit(slices.Collect(maps.Keys(missing))...)
	for _, key := range missing {
		r.queue.Add(key)
	}
	return nil
}
