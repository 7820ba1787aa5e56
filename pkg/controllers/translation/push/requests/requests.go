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

// Register makes the metrics and registers them.
func Register(registry prometheus.Registerer) (Observe, error) {
	f := telemetry.With(registry)
	total := f.CounterVec("groundskeeper_translation_backend_requests_total",
		"Requests to the backend, by kind of resource, method and status code; code none: no response.", "kind", "method", "code")
	duration := f.HistogramVec("groundskeeper_translation_backend_request_duration_seconds",
		"Time until the backend responded, by method.",
		prometheus.ExponentialBuckets(0.001, 2, 14), "method") // to 8 seconds; a write has 4 by default
	if err := f.Err(); err != nil {
		return nil, err
	}
	return func(kind, method, code string, took time.Duration) {
		total.WithLabelValues(kind, method, code).Inc()
		duration.WithLabelValues(method).Observe(took.Seconds())
	}, nil
}
