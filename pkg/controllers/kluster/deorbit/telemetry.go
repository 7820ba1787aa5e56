// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

type meters struct {
	klusters                               *prometheus.GaugeVec
	finished, leftovers, deleted, failures *prometheus.CounterVec
	duration                               prometheus.Histogram
}

// NewMeters registers the metrics, or finds those of an earlier manager in the same process.
func NewMeters(registry prometheus.Registerer) (*meters, error) {
	f := telemetry.With(registry)
	m := &meters{
		klusters: f.GaugeVec("groundskeeper_deorbit_klusters", "Klusters that are being torn down, by stage.", "stage"),
		finished: f.CounterVec("groundskeeper_deorbit_finished_total",
			"Klusters that were released, by outcome: clean, cleanInCluster, leftovers, self-destruct or detached.", "outcome"),
		leftovers: f.CounterVec("groundskeeper_deorbit_leftovers_total", "Objects that were left over when a Kluster was released, by kind.", "kind"),
		deleted:   f.CounterVec("groundskeeper_deorbit_deleted_total", "Objects whose deletion Deorbit requested, by kind.", "kind"),
		failures: f.CounterVec("groundskeeper_deorbit_failures_total",
			"Checks of Deorbit that failed or were incomplete, by stage and reason.", "stage", "reason"),
		duration: f.Histogram("groundskeeper_deorbit_duration_seconds", "How long Deorbit took, until the Kluster was released.",
			[]float64{30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600}),
	}
	for _, ends := range []ending{endsClean, endsCleanInCluster, endsLeftovers, endsSelfDestruct, endsDetached} {
		m.finished.WithLabelValues(string(ends)) // so that the first one shows as an increase
	}
	return m, f.Err()
}

// moved counts a Kluster in another stage; "": in none.
func (m *meters) moved(s *state, stage string) {
	if s.counted == stage {
		return
	}
	if s.counted != "" {
		m.klusters.WithLabelValues(s.counted).Dec()
	}
	if s.counted = stage; stage != "" {
		m.klusters.WithLabelValues(stage).Inc()
	}
}

func (m *meters) failed(o observed) {
	for _, p := range o.parts {
		if p.failure != nil {
			m.failures.WithLabelValues(string(p.stage), p.failure.reason).Inc()
		}
	}
}
