// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Telemetry counts what is queried of OpenStack. It is a collector to register.
type Telemetry struct {
	requests        *prometheus.CounterVec
	duration        *prometheus.HistogramVec
	authentications *prometheus.CounterVec
}

// NewTelemetry makes the metrics.
func NewTelemetry() *Telemetry {
	return &Telemetry{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "groundskeeper_openstack_requests_total",
			Help: "Requests to OpenStack, by service, method and status code; code none: no response.",
		}, []string{"service", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "groundskeeper_openstack_request_duration_seconds",
			Help:    "Time until the first byte of OpenStack's response, by service and method, without the time that the client's rate limit took.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2.5, 9),
		}, []string{"service", "method"}),
		authentications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "groundskeeper_openstack_authentications_total",
			Help: "Authentications with Keystone, by outcome: success or the reason of the failure.",
		}, []string{"outcome"}),
	}
}

// RegisterMetrics registers the metrics without a client, for callers that document them.
func RegisterMetrics(registry prometheus.Registerer) error {
	t := NewTelemetry()
	return errors.Join(registry.Register(t.requests), registry.Register(t.duration), registry.Register(t.authentications))
}

// Describe sends the descriptions of all metrics.
func (t *Telemetry) Describe(to chan<- *prometheus.Desc) {
	t.requests.Describe(to)
	t.duration.Describe(to)
	t.authentications.Describe(to)
}

// Collect sends all metrics.
func (t *Telemetry) Collect(to chan<- prometheus.Metric) {
	t.requests.Collect(to)
	t.duration.Collect(to)
	t.authentications.Collect(to)
}

// request counts a response; code 0: none came.
func (t *Telemetry) request(service, method string, code int, took time.Duration) {
	if t == nil {
		return
	}
	name := "none"
	if code != 0 {
		name = strconv.Itoa(code)
	}
	t.requests.WithLabelValues(service, method, name).Inc()
	t.duration.WithLabelValues(service, method).Observe(took.Seconds())
}

// authentication counts an attempt to get a token.
func (t *Telemetry) authentication(err error) {
	if t == nil {
		return
	}
	outcome := "success"
	if err != nil {
		outcome = string(ReasonOf(err))
	}
	t.authentications.WithLabelValues(outcome).Inc()
}
