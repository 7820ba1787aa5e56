// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// listTimeout limits the wait for the sync of a cache. Without a list, there is temporarily no metric.
const listTimeout = time.Second

// nextDeletion exposes when the next stale Project will be deleted. Without one, there is no sample.
type nextDeletion struct {
	cache client.Reader
	desc  *prometheus.Desc
}

// registerNext adds it to a registry. It replaces an earlier one, whose cache belongs to a stopped manager.
func registerNext(registry prometheus.Registerer, cache client.Reader) error {
	next := &nextDeletion{cache: cache, desc: prometheus.NewDesc("groundskeeper_project_next_auto_deletion_timestamp_seconds",
		"When the next stale Project will be deleted, in seconds since 1970. There is no sample if none is planned.", nil, nil)}
	if err := telemetry.Replace(registry, next); err != nil {
		return fmt.Errorf("register the date of the next deletion: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (n *nextDeletion) Describe(descs chan<- *prometheus.Desc) { descs <- n.desc }

// Collect implements prometheus.Collector.
func (n *nextDeletion) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	projects := &gardenerv1beta1.ProjectList{}
	if err := n.cache.List(ctx, projects, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	if next := next(projects.Items); !next.IsZero() {
		metrics <- prometheus.MustNewConstMetric(n.desc, prometheus.GaugeValue, float64(next.Unix()))
	}
}

// next returns the earliest date of a Project that is not being deleted yet, or zero if there is none.
func next(projects []gardenerv1beta1.Project) (earliest time.Time) {
	for i := range projects {
		at := projects[i].Status.StaleAutoDeleteTimestamp
		if at == nil || !projects[i].DeletionTimestamp.IsZero() {
			continue
		}
		if earliest.IsZero() || at.Time.Before(earliest) {
			earliest = at.Time
		}
	}
	return earliest
}
