// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package requests counts and times the requests to a backend.
package requests

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Observe counts a request. The kind is that of the resource, or the database; the code is none if there was no response.
type Observe func(kind, method, code string, took time.Duration)

// Register registers the metrics, or finds those of an earlier manager of this process.
func Register(registry prometheus.Registerer) (Observe, error) {
	total, err := telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_translation_backend_requests_total",
		Help: "Requests to the backend, by kind of resource, method and status code; code none: no response.",
	}, []string{"kind", "method", "code"}))
	if err != nil {
		return nil, err
	}
	duration, err := telemetry.Register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "groundskeeper_translation_backend_request_duration_seconds",
		Help:    "Time until the backend responded, by method.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 14), // to 8 seconds; a write has 4 by default
	}, []string{"method"}))
	if err != nil {
		return nil, err
	}
	return func(kind, method, code string, took time.Duration) {
		total.WithLabelValues(kind, method, code).Inc()
		duration.WithLabelValues(method).Observe(took.Seconds())
	}, nil
}

// RegisterMetrics registers the metrics, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := Register(registry)
	return err
}
