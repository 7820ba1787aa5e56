// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
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

// NewMeters makes the metrics and registers them. The gauges begin at nothing.
func NewMeters(registry prometheus.Registerer) (*meters, error) {
	f := telemetry.With(registry)
	m := &meters{
		skipped: f.GaugeVec("groundskeeper_translation_skipped",
			"Parts of objects that have no translation, such as IPv6 addresses, SCTP ports, and what a Service requests and the "+
				"backend does not support, by reason.", "reason"),
		blocked: f.GaugeVec("groundskeeper_translation_blocked",
			"Objects whose Translations cannot be written now, by reason.", "reason"),
		sharing: f.GaugeVec("groundskeeper_translation_nodes_sharing",
			"Nodes that share an address or a range of pod addresses with another Node, by reason: NodeAddressShared or PodCIDRShared.",
			"reason"),
		passes: f.CounterVec("groundskeeper_translation_conversions_total",
			"Reconciliations of objects to translate, by kind and outcome: done, gone, waiting, taken, refused, failed or retried.",
			"kind", "outcome"),
		writes: f.CounterVec("groundskeeper_translation_writes_total",
			"Writes of Translations, by operation: create, update, adopt or delete.", "operation"),
	}
	m.skipped.Reset()
	m.blocked.Reset()
	m.sharing.Reset()
	return m, f.Err()
}
