// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package census derives metrics from all Projects.
package census

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// timeout limits the wait for the sync of a cache. Without a list, there is temporarily no metric.
const timeout = time.Second

// Gauge is a metric of all Projects, which is computed on collection.
type Gauge struct {
	Name, Help string
	Labels     []string
	// Of sets the value for each combination of values of the labels.
	Of func(projects []gardenerv1beta1.Project, set func(value float64, labels ...string))
}

// Count returns Of that counts the Projects by the value of one label. The values are exposed as 0 without a Project, and Projects with an
// empty value are not counted.
func Count(values []string, valueOf func(*gardenerv1beta1.Project) string) func([]gardenerv1beta1.Project, func(float64, ...string)) {
	return func(projects []gardenerv1beta1.Project, set func(float64, ...string)) {
		counts := map[string]int{}
		for _, value := range values {
			counts[value] = 0
		}
		for i := range projects {
			if value := valueOf(&projects[i]); value != "" {
				counts[value]++
			}
		}
		for value, count := range counts {
			set(float64(count), value)
		}
	}
}

// Register adds the metric of the Projects in a cache to a registry. It replaces an earlier one with the same name, whose cache
// belongs to a stopped manager.
func (g Gauge) Register(registry prometheus.Registerer, cache client.Reader) error {
	if err := telemetry.Replace(registry, &collector{g, cache, prometheus.NewDesc(g.Name, g.Help, g.Labels, nil)}); err != nil {
		return fmt.Errorf("register metric %s: %w", g.Name, err)
	}
	return nil
}

type collector struct {
	Gauge
	cache client.Reader
	desc  *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	projects := &gardenerv1beta1.ProjectList{}
	if err := c.cache.List(ctx, projects, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	c.Of(projects.Items, func(value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, value, labels...)
	})
}
