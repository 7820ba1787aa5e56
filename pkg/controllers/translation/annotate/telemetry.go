// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
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

// NewMeters makes the metrics and registers them. The gauges begin at nothing.
func NewMeters(registry prometheus.Registerer) (*meters, error) {
	f := telemetry.With(registry)
	m := &meters{
		listings: f.CounterVec("groundskeeper_translation_host_listings_total",
			"Listings of the hosts of MidoNet, or the chassis of OVN, for the annotations of Nodes, by outcome: done or failed.", "outcome"),
		annotated: f.Counter("groundskeeper_translation_nodes_annotated_total", "Writes of annotations of Nodes."),
		waiting: f.GaugeVec("groundskeeper_translation_nodes_unannotated",
			"Nodes that lack annotations which cannot be filled in now, by reason.", "reason"),
		differing: f.GaugeVec("groundskeeper_translation_nodes_differing",
			"Nodes with an annotation that cannot be right and that the annotator does not change, by reason: TunnelEndpointDiffers, "+
				"HostIDNotFound, HostAmbiguous, ChassisNotFound or ChassisAmbiguous.", "reason"),
	}
	m.waiting.Reset()
	m.differing.Reset()
	return m, f.Err()
}
