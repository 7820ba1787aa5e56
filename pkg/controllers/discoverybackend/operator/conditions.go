// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

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

// valueOf returns a status as a number.
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
