// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Reasons of events, and of the gauge of Nodes that wait.
const (
	// eventAnnotated: a Node got annotations.
	eventAnnotated = "NodeAnnotated"
	// reasonNoHost: there is no host of the Node's name.
	reasonNoHost = "HostNotFound"
	// reasonManyHosts: there are several hosts of the Node's name.
	reasonManyHosts = "HostAmbiguous"
	// reasonInvalidHost: the host of the Node's name has an id that is not understood.
	reasonInvalidHost = "HostInvalid"
	// reasonBackend: the hosts cannot be listed.
	reasonBackend = "HostsUnknown"
	// reasonDiffers: the tunnels of a Node end at an address that is not the Node's, and that another client set.
	reasonDiffers = "TunnelEndpointDiffers"
	// reasonNoChassis: a Node is annotated with a chassis that OVN does not have.
	reasonNoChassis = "ChassisNotFound"
	// reasonManyChassis: OVN has several chassis that may be that of a Node whose annotation the annotator wrote.
	reasonManyChassis = "ChassisAmbiguous"
	// reasonRefused: the API server does not take the annotations.
	reasonRefused = "AnnotationRefused"
)

// actionAnnotate is the action of the events.
const actionAnnotate = "Annotate"

// Ends of a listing, as a label of the metric.
const (
	listingDone   = "done"
	listingFailed = "failed"
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
			Help: "Nodes with an annotation that cannot be right and that the annotator does not change, by reason: TunnelEndpointDiffers, ChassisNotFound or ChassisAmbiguous.",
		}, []string{"reason"}),
	}
	var errs [4]error
	m.listings, errs[0] = telemetry.Register(registry, m.listings)
	m.annotated, errs[1] = telemetry.Register(registry, m.annotated)
	m.waiting, errs[2] = telemetry.Register(registry, m.waiting)
	m.differing, errs[3] = telemetry.Register(registry, m.differing)
	m.waiting.Reset()
	m.differing.Reset()
	return m, errors.Join(errs[:]...)
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
}

// troubles remembers what Nodes wait for, so that each thing is reported once, and counts them. It is for one goroutine.
type troubles struct {
	gauge *prometheus.GaugeVec
	known map[string]convert.Problem
}

// set records what a Node waits for, and returns whether that is new. The various errors of a backend that does not respond count
// as one.
func (t *troubles) set(node string, now convert.Problem) bool {
	before, known := t.known[node]
	if known {
		t.gauge.WithLabelValues(before.Reason).Dec()
	}
	t.gauge.WithLabelValues(now.Reason).Inc()
	t.known[node] = now
	return !known || before.Reason != now.Reason || now.Reason != reasonBackend && before.Message != now.Message
}

// end reports that a Node waits for nothing.
func (t *troubles) end(node string) {
	if before, known := t.known[node]; known {
		t.gauge.WithLabelValues(before.Reason).Dec()
		delete(t.known, node)
	}
}
