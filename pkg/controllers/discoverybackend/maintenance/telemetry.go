// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
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
	// matching, drained, pending, failing and share have a value for each backend.
	matching, drained, pending, failing, share *prometheus.GaugeVec
	// automatic has a value for each backend that has automatic maintenance enabled.
	automatic *prometheus.GaugeVec
}

// NewMeters makes the metrics and registers them.
func NewMeters(registry prometheus.Registerer) (*meters, error) {
	f := telemetry.With(registry)
	ofBackends := func(name, help string) *prometheus.GaugeVec { return f.GaugeVec(name, help, "backend") }
	m := &meters{
		writes: f.CounterVec("groundskeeper_maintenance_route_writes_total",
			"Writes of routes, by what they wrote: values (weights and their record) or owners (fields handed back to those who "+
				"had them).", "what"),
		forced: f.Counter("groundskeeper_maintenance_forced_weights_total",
			"Weights that another client set during maintenance, and that were removed again."),
		rejected: f.Counter("groundskeeper_maintenance_route_refusals_total", "Writes of routes that the API server rejected."),
		matching: ofBackends("groundskeeper_maintenance_routes_matching", "Routes that refer to services of a backend."),
		drained:  ofBackends("groundskeeper_maintenance_routes_drained", "Routes that send nothing to a backend because of maintenance."),
		pending: ofBackends("groundskeeper_maintenance_routes_pending",
			"Routes that do not yet correspond to the clusterStatus of a backend, including those whose change the API server rejects."),
		failing: ofBackends("groundskeeper_maintenance_routes_without_endpoints",
			"Routes that send requests to a service of a backend without a ready endpoint, so that these requests fail."),
		share: ofBackends("groundskeeper_maintenance_share_percent",
			"Which part of its share of the traffic a backend gets by the weights of its routes, in percent, as the average of all rules: "+
				"less than 100 in maintenance and while traffic is moved in steps."),
		automatic: ofBackends("groundskeeper_maintenance_automatic",
			"Automatic maintenance of a backend that has it enabled: 1 while its traffic is moved away because it is not reachable, "+
				"2 while it is not reachable and keeps its traffic nevertheless, 0 otherwise."),
	}
	return m, f.Err()
}

// remove removes the values of a backend that has been deleted.
func (m *meters) remove(backend string) {
	for _, gauge := range []*prometheus.GaugeVec{m.matching, m.drained, m.pending, m.failing, m.share, m.automatic} {
		gauge.DeleteLabelValues(backend)
	}
}

// set shows what was found out about a backend, which gets a share of its requests where users want none of them.
func (m *meters) set(backend *gimbalv1.DiscoveryBackend, found facts, next plan, share int) {
	m.matching.WithLabelValues(backend.Name).Set(float64(found.matching))
	m.pending.WithLabelValues(backend.Name).Set(float64(found.left + len(found.rejected)))
	m.failing.WithLabelValues(backend.Name).Set(float64(len(found.failing)))
	m.drained.WithLabelValues(backend.Name).Set(float64(next.routes.Drained))
	m.share.WithLabelValues(backend.Name).Set(float64(found.share(int32(share))))
	switch {
	case next.automatic == nil:
		m.automatic.DeleteLabelValues(backend.Name)
	case next.automatic.Status == metav1.ConditionTrue:
		m.automatic.WithLabelValues(backend.Name).Set(1)
	case next.automatic.Reason == reasonHeld:
		m.automatic.WithLabelValues(backend.Name).Set(2)
	default:
		m.automatic.WithLabelValues(backend.Name).Set(0)
	}
}
