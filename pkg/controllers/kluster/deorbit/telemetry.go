// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Reasons of events. Others have the reason of the condition Deorbited.
const (
	eventStarted      = "DeorbitStarted"
	eventStage        = "DeorbitStage"
	eventStageLeft    = "StageLeft"
	eventUnreachable  = "ClusterUnreachable"
	eventNeverCameUp  = "ClusterNeverCameUp"
	eventSelfDestruct = "SelfDestruct"
	eventLeftover     = "Leftover"
	eventLeftovers    = "Leftovers"
	// eventStuck reports early what needs a user, long before a timeout.
	eventStuck = "Stuck"
	// eventRoutesCameBack reports a cloud controller manager that still makes routes.
	eventRoutesCameBack = "RoutesCameBack"
	// eventThawed reports that the freeze of a cluster that is still used was lifted.
	eventThawed    = "Thawed"
	eventDeorbited = "Deorbited"
	// eventReleased: a detached Kluster was released unchanged.
	eventReleased = "Released"

	actionDeorbit = "Deorbit"
	actionRelease = "Release"
)

// meters are the metrics of Deorbit.
type meters struct {
	klusters                               *prometheus.GaugeVec
	finished, leftovers, deleted, failures *prometheus.CounterVec
	duration                               prometheus.Histogram
}

// newMeters registers the metrics, or finds those of an earlier manager in the same process.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	var failures []error
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c, err := telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
		failures = append(failures, err)
		return c
	}
	m := &meters{
		finished:  counter("groundskeeper_deorbit_finished_total", "Klusters that were released, by outcome: clean, leftovers, self-destruct or detached.", "outcome"),
		leftovers: counter("groundskeeper_deorbit_leftovers_total", "Objects that were left over when a Kluster was released, by kind.", "kind"),
		deleted:   counter("groundskeeper_deorbit_deleted_total", "Objects whose deletion Deorbit requested, by kind.", "kind"),
		failures:  counter("groundskeeper_deorbit_failures_total", "Checks of Deorbit that failed or were incomplete, by stage and reason.", "stage", "reason"),
	}
	for _, ends := range []ending{endsClean, endsLeftovers, endsSelfDestruct, endsDetached} {
		m.finished.WithLabelValues(string(ends)) // so that the first one shows as an increase
	}
	var err error
	m.klusters, err = telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "groundskeeper_deorbit_klusters",
		Help: "Klusters that are being torn down, by stage.",
	}, []string{"stage"}))
	failures = append(failures, err)
	m.duration, err = telemetry.Register(registry, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "groundskeeper_deorbit_duration_seconds",
		Help:    "How long Deorbit took, until the Kluster was released.",
		Buckets: []float64{30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600},
	}))
	return m, errors.Join(append(failures, err)...)
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
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

// failed counts the failures of a check.
func (m *meters) failed(o outcome) {
	for _, p := range o.parts {
		if p.failure != nil {
			m.failures.WithLabelValues(string(p.stage), p.failure.reason).Inc()
		}
	}
}

// maxNamed is how many objects a line of the log names.
const maxNamed = 10

// removed reports objects whose deletion was requested.
func (r *reconciler) removed(ctx context.Context, s *state, deleted []kubernikusv1.DeorbitObject) {
	if len(deleted) == 0 {
		return
	}
	var names []string
	for i, object := range deleted {
		r.meters.deleted.WithLabelValues(object.Kind).Inc()
		if i < maxNamed {
			names = append(names, describe(object))
		}
	}
	if more := len(deleted) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	log.FromContext(ctx).Info("Requested the deletion of what a cluster made", "stage", s.progress.Stage, "objects", strings.Join(names, ", "))
}

// The event is sent once the status is written.
func (r *reconciler) report(ctx context.Context, k *kubernikusv1.Kluster, s *state) {
	for _, n := range s.notes {
		log.FromContext(ctx).Info("Deorbit of a Kluster", "event", n.reason, "message", n.message)
		kind := corev1.EventTypeNormal
		if n.warning {
			kind = corev1.EventTypeWarning
		}
		r.recorder.Eventf(k, nil, kind, n.reason, actionDeorbit, "%s", kluster.Bounded(n.message))
	}
	s.notes = nil
}

// announce reports a condition whose reason is new, unless it is a stage, which has a dedicated note.
func (r *reconciler) announce(ctx context.Context, k *kubernikusv1.Kluster, last *metav1.Condition, c metav1.Condition) {
	if last != nil && last.Reason == c.Reason {
		return
	}
	for _, known := range kubernikusv1.DeorbitStages() {
		if c.Reason == string(known) {
			return
		}
	}
	log.FromContext(ctx).Info("Deorbit of a Kluster", "reason", c.Reason, "message", c.Message)
	kind := corev1.EventTypeWarning
	if c.Reason == reasonPaused || c.Reason == reasonProtected || c.Reason == reasonTwinFirst {
		kind = corev1.EventTypeNormal
	}
	r.recorder.Eventf(k, nil, kind, c.Reason, actionDeorbit, "%s", c.Message)
}
