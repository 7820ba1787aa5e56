// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package census counts Projects for metrics.
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

// countTimeout limits the wait for the sync of a cache. Without a count, there is temporarily no metric.
const countTimeout = time.Second

// Census counts Projects on collection by the value of a label; each has one value at a time.
type Census struct {
	// Name and Help describe the metric, Label names its label.
	Name, Help, Label string
	// Values are all values of the label, so that values without a Project are exposed as 0.
	Values []string
	// Of returns the value of a Project. Projects with an empty value are not counted.
	Of func(*gardenerv1beta1.Project) string
}

// Register adds the census of the Projects in a cache to a registry. It replaces an earlier one with the same name, whose cache
// belongs to a stopped manager.
func (c Census) Register(registry prometheus.Registerer, cache client.Reader) error {
	collector := &census{Census: c, cache: cache, desc: prometheus.NewDesc(c.Name, c.Help, []string{c.Label}, nil)}
	if err := telemetry.Replace(registry, collector); err != nil {
		return fmt.Errorf("register metric %s: %w", c.Name, err)
	}
	return nil
}

type census struct {
	Census
	cache client.Reader
	desc  *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *census) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector.
func (c *census) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	projects := &gardenerv1beta1.ProjectList{}
	if err := c.cache.List(ctx, projects, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	counts := map[string]int{}
	for _, value := range c.Values {
		counts[value] = 0
	}
	for i := range projects.Items {
		if value := c.Of(&projects.Items[i]); value != "" {
			counts[value]++
		}
	}
	for value, count := range counts {
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(count), value)
	}
}
