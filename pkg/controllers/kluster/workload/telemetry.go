// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Purposes of sessions, as labels of a metric.
const (
	purposeNodes   = "nodes"
	purposeVolumes = "local-volumes"
)

// meters are the metrics of this controller.
type meters struct {
	sessions    *prometheus.GaugeVec
	nodeDeleted prometheus.Counter
}

// newMeters registers the metrics, or finds those of an earlier manager in the same process.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	sessions, first := telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "groundskeeper_kluster_workload_sessions",
		Help: "Klusters whose workload clusters are watched, by purpose: nodes for Route GC, or local-volumes.",
	}, []string{"purpose"}))
	nodeDeleted, second := telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "groundskeeper_kluster_nodes_gone_total",
		Help: "Nodes that disappeared from workload clusters while these were watched.",
	}))
	return &meters{sessions: sessions, nodeDeleted: nodeDeleted}, errors.Join(first, second)
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
}

// runs counts what runs; the returned function ends that.
func (m *meters) runs(purpose string) func() {
	gauge := m.sessions.WithLabelValues(purpose)
	gauge.Inc()
	return gauge.Dec
}
