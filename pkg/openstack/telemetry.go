// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Telemetry counts the requests to OpenStack.
type Telemetry struct {
	requests        *prometheus.CounterVec
	duration        *prometheus.HistogramVec
	authentications *prometheus.CounterVec
}

// NewTelemetry makes the metrics and registers them.
func NewTelemetry(registry prometheus.Registerer) (*Telemetry, error) {
	f := telemetry.With(registry)
	t := &Telemetry{
		requests: f.CounterVec("groundskeeper_openstack_requests_total",
			"Requests to OpenStack, by service, method and status code; code none: no response.", "service", "method", "code"),
		duration: f.HistogramVec("groundskeeper_openstack_request_duration_seconds",
			"Time until the first byte of OpenStack's response, by service and method, without the time that the client's rate limit took.",
			prometheus.ExponentialBuckets(0.01, 2.5, 9), "service", "method"),
		authentications: f.CounterVec("groundskeeper_openstack_authentications_total",
			"Authentications with Keystone, by outcome: success or the reason of the failure.", "outcome"),
	}
	return t, f.Err()
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
