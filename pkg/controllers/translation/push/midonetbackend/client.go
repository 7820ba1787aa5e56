// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/telemetry"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// NewClient makes the client that the configuration describes. The fence is checked before each write, and its error ends the
// write; nil lets all through. Requests are counted in the registry. It does not connect, and reads the password when it logs in.
// An error names the setting that cannot be used.
func NewClient(config configv1alpha1.MidoNetConfiguration, fence func() error, registry prometheus.Registerer) (*midonet.Client, error) {
	observe, err := registerRequests(registry)
	if err != nil {
		return nil, err
	}
	options := midonet.Options{
		URL:         config.URL,
		Credentials: midonet.Credentials{Username: config.Username, Project: config.Project},
		BeforeWrite: fence,
		Observe:     observe,
	}
	if config.PasswordFile != "" {
		options.Password = midonet.PasswordFile(config.PasswordFile)
	}
	if config.Timeout != nil {
		options.Timeout = config.Timeout.Duration
	}
	return midonet.New(options)
}

// RegisterMetrics registers the metrics as NewClient does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := registerRequests(registry)
	return err
}

// registerRequests counts and times requests to the backend, and returns the observer of responses.
func registerRequests(registry prometheus.Registerer) (func(kind, method string, code int, took time.Duration), error) {
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
	return func(kind, method string, code int, took time.Duration) {
		label := "none"
		if code != 0 {
			label = strconv.Itoa(code)
		}
		total.WithLabelValues(kind, method, label).Inc()
		duration.WithLabelValues(method).Observe(took.Seconds())
	}, nil
}
