// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

type meters struct{ looks *prometheus.CounterVec }

// NewMeters registers the metrics, or finds those of an earlier manager in the same process.
func NewMeters(registry prometheus.Registerer) (*meters, error) {
	f := telemetry.With(registry)
	m := &meters{looks: f.CounterVec("groundskeeper_kluster_looks_total",
		"Checks of the systems behind Klusters, by target (workload or openstack) and outcome (good or failed).",
		"target", "outcome")}
	return m, f.Err()
}

func (m *meters) count(target string, good bool) {
	outcome := "failed"
	if good {
		outcome = "good"
	}
	m.looks.WithLabelValues(target, outcome).Inc()
}
