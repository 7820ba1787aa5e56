// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// obstacle is why a service cannot be copied, for a user to repair.
type obstacle struct{ report.Problem }

// errHeld means that a deletion waits for the guard.
var errHeld = errors.New("a deletion waits for a second listing")

// Error implements error.
func (o *obstacle) Error() string { return o.Message }

// process checks one service and decides about another check.
func (r *Replica) process(ctx context.Context, key types.NamespacedName) {
	err := r.reconcile(ctx, key)
	var blocked *obstacle
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		r.settle(key, nil)
		r.queue.Forget(key)
		r.patience.Forget(key)
	case errors.As(err, &blocked):
		r.settle(key, &blocked.Problem)
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
	r.passed(key)
}

// settle records why a service is not copied; nil if it is.
func (r *Replica) settle(key types.NamespacedName, problem *report.Problem) {
	if problem == nil {
		r.Ledger.Set(key.String())
		return
	}
	for _, news := range r.Ledger.Set(key.String(), *problem) {
		r.Meters.ServiceError(key, news.Type)
	}
}

// reconcile brings the copy of one service to what it should be.
func (r *Replica) reconcile(ctx context.Context, key types.NamespacedName) error {
	source, denied, excluded := r.admit(key)
	if r.unknown(key, source, excluded) {
		return nil
	}
	r.reportDenied(key, denied)
	have := r.existing(key)
	if source == nil {
		r.waitFor(key, "")
		return r.withdraw(ctx, key, have, !excluded)
	}
	row := telemetry.Row{Upstream: source.EndpointCount()}
	ready, err := r.namespaceReady(ctx, key)
	if err != nil || !ready {
		r.Meters.Set(key, row)
		return err
	}
	want := r.wanted(source, have)
	err = r.provide(ctx, key, want, have)
	row.Copied = err == nil || errors.Is(err, errHeld)
	if row.Copied {
		row.Replicated = row.Upstream
	}
	row.Invalid = errors.As(err, new(*obstacle))
	r.Meters.Set(key, row)
	return err
}

// maxDenied is how many denied addresses of a service are reported.
const maxDenied = 3

// reportDenied reports the addresses of a service that are not copied.
func (r *Replica) reportDenied(key types.NamespacedName, denied []desired.Denial) {
	var problems []report.Problem
	for i, denial := range denied {
		message := fmt.Sprintf("address %s of service %s is not copied: %s", denial.Address, key, denial.Reason)
		if i == maxDenied-1 && len(denied) > maxDenied {
			message += fmt.Sprintf("; %d more of the service are denied", len(denied)-maxDenied)
		}
		if i < maxDenied {
			problems = append(problems, report.Problem{Type: gimbalv1.ErrorAddressDenied, Message: message})
		}
	}
	for _, news := range r.Ledger.Set("addresses of "+key.String(), problems...) {
		r.Meters.ServiceError(key, news.Type)
	}
}

// withdraw deletes the copy of a service that has been deleted or is excluded.
func (r *Replica) withdraw(ctx context.Context, key types.NamespacedName, have existing, vanished bool) error {
	if have.Empty() {
		r.Meters.Remove(key)
		return nil
	}
	operations, err := planCopy(nil, have, nil, vanished)
	if err != nil {
		return err
	}
	return r.carryOut(ctx, key, have, operations)
}

// provide writes the copy of a service.
func (r *Replica) provide(ctx context.Context, key types.NamespacedName, want *desired.Objects, have existing) error {
	if have.Service == nil {
		if other := r.holder(want.Service); other != nil {
			if owner, own := desired.ServiceSource(r.Backend, other); own && owner != key || !own && !desired.LostLabels(r.Backend, other) {
				return taken(key, other, r.Backend)
			}
		}
	}
	r.needed(want)
	operations, err := planCopy(want, have, r.Annotations, false)
	if err != nil {
		return err
	}
	if operations, err = r.undisputed(ctx, key, want, operations); err != nil {
		return err
	}
	return r.carryOut(ctx, key, have, operations)
}

// needed revokes the permission to delete copies that are needed again.
func (r *Replica) needed(want *desired.Objects) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sure.Delete(refOf(want.Service))
	for _, slice := range want.Slices {
		r.sure.Delete(refOf(slice))
	}
}

// taken returns the owner of the object that has the name of the copy of a service, or of a part of it.
func taken(key types.NamespacedName, other metav1.Object, backend string) error {
	name := other.GetNamespace() + "/" + other.GetName()
	if holder, own := desired.ServiceSource(backend, other); own {
		return &obstacle{report.Problem{Type: gimbalv1.ErrorNameCollision, Message: fmt.Sprintf(
			"services %s and %s of the backend would both be %s here: rename one of them", holder, key, name)}}
	}
	if owner := desired.BackendOf(other.GetLabels()); owner != "" && owner != backend {
		return &obstacle{report.Problem{Type: gimbalv1.ErrorConflict, Message: fmt.Sprintf(
			"%s, the name of the copy of service %s, belongs to backend %s: rename one of the services or backends", name, key, owner)}}
	}
	return &obstacle{report.Problem{Type: gimbalv1.ErrorConflict, Message: fmt.Sprintf(
		"%s, the name of the copy of service %s, is another client's: delete or rename it, or rename the service", name, key)}}
}

// isTransient reports whether an error is caused by a concurrent change, which the next sync reads.
func isTransient(err error) bool {
	return errors.Is(err, errBehind) || kit.IsConcurrentChange(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

// errorType returns an error as a label of a metric.
func errorType(err error) string {
	var blocked *obstacle
	if errors.As(err, &blocked) {
		return blocked.Type
	}
	if reason := apierrors.ReasonForError(err); reason != "" {
		return string(reason)
	}
	return "RequestFailed"
}

// agrees notes that a service has its copy.
func (r *Replica) agrees(key types.NamespacedName, source *desired.Source) {
	count := source.EndpointCount()
	r.Meters.Set(key, telemetry.Row{Copied: true, Upstream: count, Replicated: count})
}
