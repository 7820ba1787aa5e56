// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// maxDenied is how many denied addresses of a service are reported.
const maxDenied = 3

// obstacle is why a service cannot be copied, for a user to repair.
type obstacle struct{ report.Problem }

// Error implements error.
func (o *obstacle) Error() string { return o.Message }

func obstructed(kind, format string, args ...any) error {
	return &obstacle{report.Problem{Type: kind, Message: fmt.Sprintf(format, args...)}}
}

// Check returns what readiness waits for, nil if nothing.
func (r *Replica) Check() error {
	if r.memory.now().surveyed {
		return nil
	}
	if err := r.missing(); err != nil {
		return err
	}
	return errors.New("comparing the two clusters")
}

// missing returns what has to be known before the two clusters are compared, nil if nothing.
func (r *Replica) missing() error {
	switch {
	case !r.services.Synced() || !r.slices.Synced() || r.namespaces != nil && !r.namespaces.Synced():
		return errors.New("waiting for the list of what is in this cluster")
	case !r.Upstream.Synced():
		return errors.New("waiting for the list of what is in the backend")
	case r.Withheld != nil && !r.memory.now().known:
		return errors.New("waiting for the DiscoveryBackend: it reports whether the endpoints are withheld")
	default:
		return nil
	}
}

// LastSync returns when all copies last agreed with a listing, zero before.
func (r *Replica) LastSync() time.Time { return r.memory.now().synced }

// report records the problems of a service under a subject of the ledger, and counts those that are new.
func (r *Replica) report(key types.NamespacedName, subject string, problems ...report.Problem) {
	for _, news := range r.Ledger.Set(subject, problems...) {
		r.Meters.ServiceError(key, news.Type)
	}
}

// reportDenied reports the addresses of a service that are not copied.
func (r *Replica) reportDenied(key types.NamespacedName, denied []desired.Denial) {
	var problems []report.Problem
	for i, denial := range denied[:min(len(denied), maxDenied)] {
		message := fmt.Sprintf("address %s of service %s is not copied: %s", denial.Address, key, denial.Reason)
		if i == maxDenied-1 && len(denied) > maxDenied {
			message += fmt.Sprintf("; %d more of the service are denied", len(denied)-maxDenied)
		}
		problems = append(problems, report.Problem{Type: gimbalv1.ErrorAddressDenied, Message: message})
	}
	r.report(key, "addresses of "+key.String(), problems...)
}

// waitFor notes that a service waits for its namespace, or that it does not. The error is reported once for each namespace, and is
// removed with the last service.
func (r *Replica) waitFor(key types.NamespacedName, waits bool) {
	before, after := r.memory.waitFor(key, waits)
	subject := "namespace " + key.Namespace
	switch {
	case before == 0 && after > 0:
		r.Meters.Error(gimbalv1.ErrorNamespaceMissing)
		r.Ledger.Set(subject, report.Problem{Type: gimbalv1.ErrorNamespaceMissing, Message: fmt.Sprintf(
			"namespace %s does not exist here, its services wait: create it, or change cluster.namespaces of the DiscoveryBackend", key.Namespace)})
	case before > 0 && after == 0:
		r.Ledger.Set(subject)
	}
}

// collision returns why an object that has the name of the copy of a service, or of a part of it, is not taken over: it is another
// service's or another client's. One that lost its labels is taken over.
func collision(
	backend string, key types.NamespacedName, other metav1.Object,
	sourceOf func(backend string, object metav1.Object) (types.NamespacedName, bool),
) error {
	owner, own := sourceOf(backend, other)
	if own && owner == key || !own && desired.LostLabels(backend, other) {
		return nil
	}
	name := other.GetNamespace() + "/" + other.GetName()
	if holder, own := desired.ServiceSource(backend, other); own {
		return obstructed(gimbalv1.ErrorNameCollision,
			"services %s and %s of the backend would both be %s here: rename one of them", holder, key, name)
	}
	if owner := desired.BackendOf(other.GetLabels()); owner != "" && owner != backend {
		return obstructed(gimbalv1.ErrorConflict,
			"%s, the name of the copy of service %s, belongs to backend %s: rename one of the services or backends", name, key, owner)
	}
	return obstructed(gimbalv1.ErrorConflict,
		"%s, the name of the copy of service %s, is another client's: delete or rename it, or rename the service", name, key)
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
	return cmp.Or(string(apierrors.ReasonForError(err)), "RequestFailed")
}
