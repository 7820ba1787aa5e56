// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// meters are the metrics of the controller.
type meters struct {
	listings  *prometheus.CounterVec
	annotated prometheus.Counter
	waiting   *prometheus.GaugeVec
	differing *prometheus.GaugeVec
}

// newMeters makes the metrics and registers them. Those of a registry that has them already, from an earlier manager in the same
// process, continue; the gauge begins at nothing.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	m := &meters{
		listings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "groundskeeper_translation_host_listings_total",
			Help: "Listings of the hosts of MidoNet, or the chassis of OVN, for the annotations of Nodes, by outcome: done or failed.",
		}, []string{"outcome"}),
		annotated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "groundskeeper_translation_nodes_annotated_total",
			Help: "Writes of annotations of Nodes.",
		}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "groundskeeper_translation_nodes_unannotated",
			Help: "Nodes that lack annotations which cannot be filled in now, by reason.",
		}, []string{"reason"}),
		differing: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "groundskeeper_translation_nodes_differing",
			Help: "Nodes with an annotation that cannot be right and that the annotator does not change, by reason: TunnelEndpointDiffers, " +
				"ChassisNotFound or ChassisAmbiguous.",
		}, []string{"reason"}),
	}
	err := errors.Join(telemetry.RegisterField(registry, &m.listings), telemetry.RegisterField(registry, &m.annotated),
		telemetry.RegisterField(registry, &m.waiting), telemetry.RegisterField(registry, &m.differing))
	m.waiting.Reset()
	m.differing.Reset()
	return m, err
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
}
