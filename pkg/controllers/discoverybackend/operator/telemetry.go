// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// outcome is how a reconcile of a backend ended, as a label of the metric.
type outcome string

const (
	outcomeProvided           outcome = "provided"
	outcomeWithoutCredentials outcome = "without-credentials"
	outcomeWithoutImage       outcome = "without-image"
	outcomeConflict           outcome = "conflict"
	outcomeReleasing          outcome = "releasing"
	outcomeReleased           outcome = "released"
	outcomeFailed             outcome = "failed"
	// outcomeRetried: something changed meanwhile, which is not worth reporting.
	outcomeRetried outcome = "retried"
)

// Why copies are deleted, as a label of the metric.
const (
	whyReleased = "released"
	whyOrphaned = "orphaned"
)

// meters are the metrics of the operator.
type meters struct {
	reconciles *prometheus.CounterVec
	writes     prometheus.Counter
	removed    *prometheus.CounterVec
	orphans    *prometheus.GaugeVec
}

// newMeters makes the metrics and registers them.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	f := telemetry.With(registry)
	m := &meters{
		reconciles: f.CounterVec("groundskeeper_discovery_reconciles_total",
			"Reconciliations of DiscoveryBackends, by outcome: provided, without-credentials, without-image, conflict, releasing, "+
				"released, failed or retried.", "outcome"),
		writes: f.Counter("groundskeeper_discovery_parts_applied_total",
			"Objects of discoverers that were created, changed or repaired."),
		removed: f.CounterVec("groundskeeper_discovery_copies_deleted_total",
			"Copies that were deleted, by why: released (their backend was deleted) or orphaned (it did not exist).", "why"),
		orphans: f.GaugeVec("groundskeeper_discovery_orphans",
			"Objects that named a backend that does not exist, when this process became the leader, by whether they have the mark of "+
				"Groundskeeper.", "marked"),
	}
	return m, f.Err()
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them. It reports the backends that the
// cache has.
func RegisterMetrics(registry prometheus.Registerer, cache client.Reader) error {
	_, err := newMeters(registry)
	return errors.Join(err, registerConditions(registry, cache))
}

// probeTimeout bounds the wait for a cache that is not filled yet. Without a response there is no metric until the next probe.
const probeTimeout = time.Second

// conditions export the conditions of all backends, regardless of their writers.
type conditions struct {
	cache client.Reader
	desc  *prometheus.Desc
}

// registerConditions adds them to a registry. They take the place of earlier ones, whose cache belongs to a manager that
// has ended.
func registerConditions(registry prometheus.Registerer, cache client.Reader) error {
	c := &conditions{cache: cache, desc: prometheus.NewDesc("groundskeeper_discovery_backend_condition",
		"Conditions of DiscoveryBackends: 1 is True, 0 is False, -1 is Unknown.", []string{"backend", "condition"}, nil)}
	if err := telemetry.Replace(registry, c); err != nil {
		return fmt.Errorf("register the conditions of backends: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (c *conditions) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector. The name of a backend is its own in all namespaces.
func (c *conditions) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	backends := &gimbalv1.DiscoveryBackendList{}
	// Objects of a cache are read only here, so that they need not be copied.
	if err := c.cache.List(ctx, backends, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	for i := range backends.Items {
		backend := &backends.Items[i]
		for _, condition := range backend.Status.Conditions {
			metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, valueOf(condition.Status), backend.Name, condition.Type)
		}
	}
}

func valueOf(status metav1.ConditionStatus) float64 {
	switch status {
	case metav1.ConditionTrue:
		return 1
	case metav1.ConditionFalse:
		return 0
	default:
		return -1
	}
}
