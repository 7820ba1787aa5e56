// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// outcome is how a reconciliation over an owner ended, as a label of the metric.
type outcome string

const (
	outcomeDone outcome = "done"
	// outcomeGone: the object has been deleted, and garbage collection has the rest to do.
	outcomeGone    outcome = "gone"
	outcomeWaiting outcome = "waiting"
	outcomeTaken   outcome = "taken"
	outcomeRefused outcome = "refused"
	outcomeFailed  outcome = "failed"
	// outcomeRetried: something changed under the reconciliation, which is not worth reporting.
	outcomeRetried outcome = "retried"
)

// Operations, as a label of the metric.
const (
	operationCreate = "create"
	operationUpdate = "update"
	operationAdopt  = "adopt"
	operationDelete = "delete"
)

// meters are the metrics of the controller.
type meters struct {
	skipped, blocked, sharing *prometheus.GaugeVec
	passes, writes            *prometheus.CounterVec
}

// newMeters makes the metrics and registers them. Those of a registry that has them already, from an earlier manager in the same
// process, continue; the gauges begin at nothing.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	m := &meters{
		skipped: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "groundskeeper_translation_skipped",
			Help: "Parts of objects that have no translation, such as IPv6 addresses, SCTP ports, and what a Service requests and the backend does not support, by reason.",
		}, []string{"reason"}),
		blocked: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "groundskeeper_translation_blocked",
			Help: "Objects whose Translations cannot be written now, by reason.",
		}, []string{"reason"}),
		sharing: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "groundskeeper_translation_nodes_sharing",
			Help: "Nodes that share an address or a range of pod addresses with another Node, by reason: NodeAddressShared or PodCIDRShared.",
		}, []string{"reason"}),
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "groundskeeper_translation_conversions_total",
			Help: "Reconciliations of objects to translate, by kind and outcome: done, gone, waiting, taken, refused, failed or retried.",
		}, []string{"kind", "outcome"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "groundskeeper_translation_writes_total",
			Help: "Writes of Translations, by operation: create, update, adopt or delete.",
		}, []string{"operation"}),
	}
	var errs [5]error
	m.skipped, errs[0] = telemetry.Register(registry, m.skipped)
	m.blocked, errs[1] = telemetry.Register(registry, m.blocked)
	m.passes, errs[2] = telemetry.Register(registry, m.passes)
	m.writes, errs[3] = telemetry.Register(registry, m.writes)
	m.sharing, errs[4] = telemetry.Register(registry, m.sharing)
	m.skipped.Reset()
	m.blocked.Reset()
	m.sharing.Reset()
	return m, errors.Join(errs[:]...)
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
}
