// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Purposes of sessions, as labels of a metric.
const (
	purposeNodes   = "nodes"
	purposeVolumes = "local-volumes"
)

type meters struct {
	sessions    *prometheus.GaugeVec
	nodeDeleted prometheus.Counter
}

// NewMeters registers the metrics, or finds those of an earlier manager in the same process.
func NewMeters(registry prometheus.Registerer) (*meters, error) {
	f := telemetry.With(registry)
	m := &meters{
		sessions: f.GaugeVec("groundskeeper_kluster_workload_sessions",
			"Klusters whose workload clusters are watched, by purpose: nodes for Route GC, or local-volumes.", "purpose"),
		nodeDeleted: f.Counter("groundskeeper_kluster_nodes_gone_total",
			"Nodes that disappeared from workload clusters while these were watched."),
	}
	return m, f.Err()
}

// runs counts what runs; the returned function ends that.
func (m *meters) runs(purpose string) func() {
	gauge := m.sessions.WithLabelValues(purpose)
	gauge.Inc()
	return gauge.Dec
}
