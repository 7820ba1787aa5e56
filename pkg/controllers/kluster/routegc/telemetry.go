// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

type meters struct {
	passes  *prometheus.CounterVec
	aborted *prometheus.CounterVec
	removed prometheus.Counter
	orphans prometheus.Gauge
}

// NewMeters makes the metrics and registers them.
func NewMeters(registry prometheus.Registerer) (*meters, error) {
	f := telemetry.With(registry)
	m := &meters{
		passes: f.CounterVec("groundskeeper_routegc_passes_total",
			"Checks of routers of Klusters, by outcome: clean, waiting, suspicious, dry-run, removed or aborted.", "outcome"),
		aborted: f.CounterVec("groundskeeper_routegc_aborted_passes_total",
			"Checks of routers of Klusters that ended early and removed nothing, by the reason in the condition RoutesClean.", "reason"),
		removed: f.Counter("groundskeeper_routegc_removed_routes_total", "Routes that were removed because they led to no server."),
		orphans: f.Gauge("groundskeeper_routegc_orphaned_routes",
			"Routes of Klusters that pointed to no server when they were last checked, and still exist."),
	}
	return m, f.Err()
}

func (m *meters) count(done passed) {
	outcome := "clean"
	switch r := done.result; {
	case done.err != nil:
		outcome = "aborted"
		m.aborted.WithLabelValues(string(openstack.ReasonOf(done.err))).Inc()
	case len(r.Removed) > 0:
		outcome = "removed"
	case r.Suspicion != "":
		outcome = "suspicious"
	case len(r.Spared) > 0:
		outcome = "dry-run"
	case len(r.Waiting) > 0:
		outcome = "waiting"
	}
	m.passes.WithLabelValues(outcome).Inc()
	m.removed.Add(float64(len(done.result.Removed)))
}
