// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Actions of the events on a Translation. The reason is that of the condition.
const (
	actionPush         = "Push"
	actionCompareDrift = "Compare"
)

// announce sends events for what the previous status did not report, and logs a plan, which causes no other output.
func (r *reconciler) announce(ctx context.Context, before, after *midonetv1.Translation, outcome engine.Outcome) {
	message := kit.Bounded(outcome.Message, maxMessage)
	if isStalled(after) && !isStalled(before) {
		r.recorder.Eventf(after, nil, corev1.EventTypeWarning, string(outcome.Reason), actionPush, "%s", message)
	}
	if drifted := firstDrifted(after); drifted != nil && firstDrifted(before) == nil {
		r.recorder.Eventf(after, nil, corev1.EventTypeWarning, string(engine.ReasonDrifted), actionCompareDrift, "%s",
			kit.Bounded(drifted.Kind+" "+drifted.ID+": "+drifted.Message, maxMessage))
	}
	if outcome.Reason == engine.ReasonPlanned {
		log.FromContext(ctx).Info("Planned", "translation", client.ObjectKeyFromObject(after), "plan", message)
	}
}

func isStalled(translation *midonetv1.Translation) bool {
	return meta.IsStatusConditionTrue(translation.Status.Conditions, midonetv1.ConditionStalled)
}

// firstDrifted returns the first resource that another client changed, or nil.
func firstDrifted(translation *midonetv1.Translation) *midonetv1.BackendResourceStatus {
	resources := translation.Status.Resources
	i := slices.IndexFunc(resources, func(s midonetv1.BackendResourceStatus) bool {
		return s.State == midonetv1.BackendResourceDrifted
	})
	if i < 0 {
		return nil
	}
	return &resources[i]
}

// meters are the metrics of pushes and drift checks.
type meters struct {
	pushed                    prometheus.Histogram
	driftPasses               *prometheus.CounterVec
	driftFound, driftRepaired prometheus.Counter
	orphans, invalid          prometheus.Gauge
}

// newMeters registers the metrics, or returns those of an earlier manager in this process.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	pushed, errPushed := telemetry.Register(registry, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "groundskeeper_translation_push_duration_seconds",
		Help:    "Time from the first push of a Translation's content until the backend had all of it.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 16), // to 2.7 minutes
	}))
	passes, errPasses := telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_translation_drift_passes_total",
		Help: "Comparisons of the whole backend with the Translations, by outcome: done, or failed when something could not be read.",
	}, []string{"outcome"}))
	found, errFound := telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "groundskeeper_translation_drift_found_total",
		Help: "Resources that the backend had otherwise than they were pushed.",
	}))
	repaired, errRepaired := telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "groundskeeper_translation_drift_repaired_total",
		Help: "Resources that were scheduled for repair after that.",
	}))
	orphans, errOrphans := telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "groundskeeper_translation_orphans",
		Help: "Resources of the tenant in the backend that no Translation lists, as of the last complete drift pass.",
	}))
	invalid, errInvalid := telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "groundskeeper_translation_invalid_resources",
		Help: "Resources in the backend that are not understood, as of the last complete drift comparison. They are neither compared nor deleted.",
	}))
	if err := errors.Join(errPushed, errPasses, errFound, errRepaired, errOrphans, errInvalid); err != nil {
		return nil, fmt.Errorf("controller %s: %w", ControllerName, err)
	}
	return &meters{pushed: pushed, driftPasses: passes, driftFound: found, driftRepaired: repaired, orphans: orphans, invalid: invalid}, nil
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return errors.Join(err, registerCounts(registry, nothing{}))
}

// nothing is an engine without resources.
type nothing struct{}

// Counts implements the method of an engine.
func (nothing) Counts() map[engine.State]int { return nil }

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
	engine interface{ Counts() map[engine.State]int }
	desc   *prometheus.Desc
}

// registerCounts registers the collector. It replaces that of an earlier manager in this process.
func registerCounts(registry prometheus.Registerer, of interface{ Counts() map[engine.State]int }) error {
	c := &counts{engine: of, desc: prometheus.NewDesc("groundskeeper_translation_resources",
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
	counted := c.engine.Counts()
	for _, state := range []engine.State{engine.Pending, engine.Synced, engine.Drifted, engine.Failed, engine.Deleting, engine.NotApplicable} {
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(counted[state]), string(state))
	}
}
