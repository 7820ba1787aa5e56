// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

const (
	// eventRemoved: orphaned routes were removed. The other events have the reason of the condition.
	eventRemoved = "RoutesRemoved"
	// actionCollect is the action of all events.
	actionCollect = "CollectRoutes"
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

// report counts a reconciliation, reports it, and keeps its condition.
func (r *reconciler) report(ctx context.Context, k *kubernikusv1.Kluster, s *state, done passed) {
	orphans := len(done.result.Waiting) + len(done.result.Spared)
	if done.err == nil || orphans > 0 {
		r.meters.orphans.Add(float64(orphans - s.orphans))
		s.orphans, s.routes = orphans, statusOf(done.result.Orphans)
	}
	r.meters.passes.WithLabelValues(outcomeOf(done)).Inc()
	if done.err != nil {
		r.meters.aborted.WithLabelValues(string(openstack.ReasonOf(done.err))).Inc()
	}
	if removed := done.result.Removed; len(removed) > 0 {
		r.meters.removed.Add(float64(len(removed)))
		log.FromContext(ctx).Info("Removed routes that led to no server", "router", k.RouterID(), "routes", names(removed))
		r.recorder.Eventf(k, nil, corev1.EventTypeNormal, eventRemoved, actionCollect, "%s",
			kluster.Bounded(fmt.Sprintf("removed %d routes that led to no server: %s", len(removed), names(removed))))
	}
	s.condition = new(Condition(done.result, done.err))
}

// outcomeOf returns a reconciliation as a label of a metric.
func outcomeOf(done passed) string {
	switch r := done.result; {
	case done.err != nil:
		return "aborted"
	case len(r.Removed) > 0:
		return "removed"
	case r.Suspicion != "":
		return "suspicious"
	case len(r.Spared) > 0:
		return "dry-run"
	case len(r.Waiting) > 0:
		return "waiting"
	default:
		return "clean"
	}
}

func current(k *kubernikusv1.Kluster) *metav1.Condition {
	return meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionRoutesClean)
}

// announce reports a condition whose reason is new, if a user has to know.
func (r *reconciler) announce(ctx context.Context, k *kubernikusv1.Kluster, condition *metav1.Condition) {
	if last := current(k); condition == nil || last != nil && last.Status == condition.Status && last.Reason == condition.Reason {
		return
	}
	log.FromContext(ctx).Info("The state of a router changed", "router", k.RouterID(), "status", condition.Status, "reason", condition.Reason, "message", condition.Message)
	switch condition.Reason {
	case ReasonClean, ReasonConfirming, ReasonPaused, ReasonDisabled, ReasonRouterUnknown:
	case ReasonDryRun:
		r.recorder.Eventf(k, nil, corev1.EventTypeNormal, condition.Reason, actionCollect, "%s", kluster.Bounded(condition.Message))
	default:
		r.recorder.Eventf(k, nil, corev1.EventTypeWarning, condition.Reason, actionCollect, "%s", kluster.Bounded(condition.Message))
	}
}
