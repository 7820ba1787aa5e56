// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// meters are the metrics of Route GC.
type meters struct {
	passes  *prometheus.CounterVec
	aborted *prometheus.CounterVec
	removed prometheus.Counter
	orphans prometheus.Gauge
}

// newMeters registers the metrics, or finds those of an earlier manager in the same process.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	passes, first := telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_routegc_passes_total",
		Help: "Checks of routers of Klusters, by outcome: clean, waiting, suspicious, dry-run, removed or aborted.",
	}, []string{"outcome"}))
	aborted, second := telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_routegc_aborted_passes_total",
		Help: "Checks of routers of Klusters that ended early and removed nothing, by the reason in the condition RoutesClean.",
	}, []string{"reason"}))
	removed, third := telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "groundskeeper_routegc_removed_routes_total",
		Help: "Routes that were removed because they led to no server.",
	}))
	orphans, fourth := telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "groundskeeper_routegc_orphaned_routes",
		Help: "Routes of Klusters that pointed to no server when they were last checked, and still exist.",
	}))
	return &meters{passes: passes, aborted: aborted, removed: removed, orphans: orphans}, errors.Join(first, second, third, fourth)
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
}

// count counts a reconciliation that is over.
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
