// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// meters are the metrics of pushes and drift checks.
type meters struct {
	pushed                    prometheus.Histogram
	driftPasses               *prometheus.CounterVec
	driftFound, driftRepaired prometheus.Counter
	orphans, invalid          prometheus.Gauge
}

// newMeters makes the metrics and registers them.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	f := telemetry.With(registry)
	m := &meters{
		pushed: f.Histogram("groundskeeper_translation_push_duration_seconds",
			"Time from the first push of a Translation's content until the backend had all of it.",
			prometheus.ExponentialBuckets(0.005, 2, 16)), // to 2.7 minutes
		driftPasses: f.CounterVec("groundskeeper_translation_drift_passes_total",
			"Comparisons of the whole backend with the Translations, by outcome: done, or failed when something could not be read.", "outcome"),
		driftFound: f.Counter("groundskeeper_translation_drift_found_total",
			"Resources that the backend had otherwise than they were pushed."),
		driftRepaired: f.Counter("groundskeeper_translation_drift_repaired_total",
			"Resources that were scheduled for repair after that."),
		orphans: f.Gauge("groundskeeper_translation_orphans",
			"Resources of the tenant in the backend that no Translation lists, as of the last complete drift pass."),
		invalid: f.Gauge("groundskeeper_translation_invalid_resources",
			"Resources in the backend that are not understood, as of the last complete drift comparison. They are neither compared nor "+
				"deleted."),
	}
	if err := f.Err(); err != nil {
		return nil, fmt.Errorf("controller %s: %w", ControllerName, err)
	}
	return m, nil
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return errors.Join(err, registerCounts(registry, func() map[engine.State]int { return nil }))
}

// passed counts a drift check. An incomplete one does not set the number of orphans.
func (t *meters) passed(report engine.Report, complete bool) {
	t.driftFound.Add(float64(report.Drifted))
	t.driftRepaired.Add(float64(report.Repaired))
	if !complete {
		t.driftPasses.WithLabelValues("failed").Inc()
		return
	}
	t.driftPasses.WithLabelValues("done").Inc()
	t.orphans.Set(float64(report.Orphans - report.Deleted))
	t.invalid.Set(float64(report.Invalid))
}

// counts is a collector of the resources of an engine by state.
type counts struct {
	count func() map[engine.State]int
	desc  *prometheus.Desc
}

// registerCounts registers the collector. It replaces that of an earlier manager in this process.
func registerCounts(registry prometheus.Registerer, count func() map[engine.State]int) error {
	c := &counts{count: count, desc: prometheus.NewDesc("groundskeeper_translation_resources",
		"Backend resources of Translations, by state: Pending, Synced, Drifted, Failed, Deleting or NotApplicable.", []string{"state"}, nil)}
	if err := telemetry.Replace(registry, c); err != nil {
		return fmt.Errorf("controller %s: %w", ControllerName, err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (c *counts) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector.
func (c *counts) Collect(metrics chan<- prometheus.Metric) {
	counted := c.count()
	for _, state := range []engine.State{engine.Pending, engine.Synced, engine.Drifted, engine.Failed, engine.Deleting, engine.NotApplicable} {
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(counted[state]), string(state))
	}
}
