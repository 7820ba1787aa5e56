// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/controllers/telemetry"
)

// Kinds of writes, as a label of the metric.
const (
	// writeValues is the write of weights and record.
	writeValues = "values"
	// writeOwners is the write that hands fields back to their owners.
	writeOwners = "owners"
)

// meters are the metrics of maintenance.
type meters struct {
	writes   *prometheus.CounterVec
	forced   prometheus.Counter
	rejected prometheus.Counter
	// matching, drained and pending have a value for each backend.
	matching *prometheus.GaugeVec
	drained  *prometheus.GaugeVec
	pending  *prometheus.GaugeVec
}

// newMeters registers the metrics, or finds those of an earlier manager in the same process.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	m := &meters{}
	errs := make([]error, 6)
	m.writes, errs[0] = telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_maintenance_route_writes_total",
		Help: "Writes of routes, by what they wrote: values (weights and their record) or owners (fields handed back to those who had them).",
	}, []string{"what"}))
	m.forced, errs[1] = telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "groundskeeper_maintenance_forced_weights_total",
		Help: "Weights that another client set during maintenance, and that were removed again.",
	}))
	m.rejected, errs[2] = telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "groundskeeper_maintenance_route_refusals_total",
		Help: "Writes of routes that the API server rejected.",
	}))
	m.matching, errs[3] = telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "groundskeeper_maintenance_routes_matching",
		Help: "Routes that refer to services of a backend.",
	}, []string{"backend"}))
	m.drained, errs[4] = telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "groundskeeper_maintenance_routes_drained",
		Help: "Routes that send nothing to a backend because of maintenance.",
	}, []string{"backend"}))
	m.pending, errs[5] = telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "groundskeeper_maintenance_routes_pending",
		Help: "Routes that do not yet correspond to the clusterStatus of a backend, including those whose change the API server rejects.",
	}, []string{"backend"}))
	return m, errors.Join(errs...)
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
}
