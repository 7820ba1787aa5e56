// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Reasons of the events on a DiscoveryBackend, beside the reasons of its conditions.
const (
	// eventApplied: the discoverer was deployed, changed or repaired.
	eventApplied = "DiscovererApplied"
	// eventStopped: the Deployment of a backend that is being deleted was deleted.
	eventStopped = "DiscovererStopped"
	// eventReferencesRemoved: routes do not refer to its Services any more.
	eventReferencesRemoved = "ReferencesRemoved"
	// eventReferencesUnrecorded: they cannot be restored.
	eventReferencesUnrecorded = "ReferencesUnrecorded"
	// eventReferencesKept: a route would not be valid without its references, so that they stay.
	eventReferencesKept = "ReferencesKept"
	// eventCopiesDeleted: so were some of its copies.
	eventCopiesDeleted = "CopiesDeleted"
	// eventOrphaned: a Service names a backend that does not exist.
	eventOrphaned = "BackendMissing"
)

// Actions of the events.
const (
	actionReconcile = "Reconcile"
	actionDelete    = "Delete"
	actionReport    = "Report"
)

func (r *reconciler) warn(object runtime.Object, reason, action, message string) {
	r.recorder.Eventf(object, nil, corev1.EventTypeWarning, reason, action, "%s", status.Bounded(message))
}

func (r *reconciler) report(object runtime.Object, reason, action, message string) {
	r.recorder.Eventf(object, nil, corev1.EventTypeNormal, reason, action, "%s", status.Bounded(message))
}

// outcome is how a reconciliation over a backend ended, as a label of the metric.
type outcome string

const (
	outcomeProvided           outcome = "provided"
	outcomeWithoutCredentials outcome = "without-credentials"
	outcomeWithoutImage       outcome = "without-image"
	outcomeConflict           outcome = "conflict"
	outcomeReleasing          outcome = "releasing"
	outcomeReleased           outcome = "released"
	outcomeFailed             outcome = "failed"
	// outcomeRetried: something changed under the reconciliation, which is not worth reporting.
	outcomeRetried outcome = "retried"
)

// meters are the metrics of the operator.
type meters struct {
	reconciles *prometheus.CounterVec
	writes     prometheus.Counter
	removed    *prometheus.CounterVec
	orphans    *prometheus.GaugeVec
}

// newMeters registers the metrics, or finds those of an earlier manager in the same process.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	m := &meters{
		reconciles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "groundskeeper_discovery_reconciles_total",
			Help: "Reconciliations of DiscoveryBackends, by outcome: provided, without-credentials, without-image, conflict, releasing, released, failed or retried.",
		}, []string{"outcome"}),
		writes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "groundskeeper_discovery_parts_applied_total",
			Help: "Objects of discoverers that were created, changed or repaired.",
		}),
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "groundskeeper_discovery_copies_deleted_total",
			Help: "Copies that were deleted, by why: released (their backend was deleted) or orphaned (it did not exist).",
		}, []string{"why"}),
		orphans: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "groundskeeper_discovery_orphans",
			Help: "Objects that named a backend that does not exist, when this process became the leader, by whether they have the mark of Groundskeeper.",
		}, []string{"marked"}),
	}
	return m, errors.Join(
		telemetry.RegisterField(registry, &m.reconciles),
		telemetry.RegisterField(registry, &m.writes),
		telemetry.RegisterField(registry, &m.removed),
		telemetry.RegisterField(registry, &m.orphans),
	)
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them. It reports the backends that the
// cache has.
func RegisterMetrics(registry prometheus.Registerer, cache client.Reader) error {
	_, err := newMeters(registry)
	return errors.Join(err, registerConditions(registry, cache))
}
