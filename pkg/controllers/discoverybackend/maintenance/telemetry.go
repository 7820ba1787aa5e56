// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
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
	// matching, drained, pending and share have a value for each backend.
	matching *prometheus.GaugeVec
	drained  *prometheus.GaugeVec
	pending  *prometheus.GaugeVec
	share    *prometheus.GaugeVec
	// automatic has a value for each backend that has automatic maintenance enabled.
	automatic *prometheus.GaugeVec
}

// newMeters registers the metrics, or finds those of an earlier manager in the same process.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	m := &meters{}
	errs := make([]error, 8)
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
	m.share, errs[6] = telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "groundskeeper_maintenance_share_percent",
		Help: "Which part of its share of the traffic a backend gets by the weights of its routes, in percent, as the average of all rules: less than 100 in maintenance and while traffic is moved in steps.",
	}, []string{"backend"}))
	m.automatic, errs[7] = telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "groundskeeper_maintenance_automatic",
		Help: "Automatic maintenance of a backend that has it enabled: 1 while its traffic is moved away because it is not reachable, 2 while it is not reachable and keeps its traffic nevertheless, 0 otherwise.",
	}, []string{"backend"}))
	return m, errors.Join(errs...)
}

// remove removes the values of a backend that has been deleted.
func (m *meters) remove(backend string) {
	for _, gauge := range []*prometheus.GaugeVec{m.matching, m.drained, m.pending, m.share, m.automatic} {
		gauge.DeleteLabelValues(backend)
	}
}

// setAutomatic shows the condition AutomaticMaintenance of a backend, which may be nil.
func (m *meters) setAutomatic(backend *gimbalv1.DiscoveryBackend, condition *metav1.Condition) {
	switch {
	case condition == nil:
		m.automatic.DeleteLabelValues(backend.Name)
	case condition.Status == metav1.ConditionTrue:
		m.automatic.WithLabelValues(backend.Name).Set(1)
	case condition.Reason == reasonHeld:
		m.automatic.WithLabelValues(backend.Name).Set(2)
	default:
		m.automatic.WithLabelValues(backend.Name).Set(0)
	}
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
}
