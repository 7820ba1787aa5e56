// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// meters are the metrics of this controller.
type meters struct{ looks *prometheus.CounterVec }

// newMeters registers the metrics, or finds those of an earlier manager in the same process.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	looks, err := telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_kluster_looks_total",
		Help: "Checks of the systems behind Klusters, by target (workload or openstack) and outcome (good or failed).",
	}, []string{"target", "outcome"}))
	return &meters{looks: looks}, err
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
}

// count counts a check.
func (m *meters) count(target string, good bool) {
	outcome := "failed"
	if good {
		outcome = "good"
	}
	m.looks.WithLabelValues(target, outcome).Inc()
}
