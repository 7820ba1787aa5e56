// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count decisions and measure how long they take.
type Metrics struct {
	decisions *prometheus.CounterVec
	duration  *prometheus.HistogramVec
}

// NewMetrics registers the metrics. A registry that has them already, from an earlier server in the same process, continues
// with those.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	decisions, err := register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_webhook_decisions_total",
		Help: "Admission reviews, by webhook and outcome: allowed, denied or error.",
	}, []string{"webhook", "outcome"}))
	if err != nil {
		return nil, err
	}
	duration, err := register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "groundskeeper_webhook_duration_seconds",
		Help:    "Duration of admission reviews, by webhook.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"webhook"}))
	if err != nil {
		return nil, err
	}
	return &Metrics{decisions, duration}, nil
}

func register[C prometheus.Collector](registry prometheus.Registerer, collector C) (C, error) {
	err := registry.Register(collector)
	if registered := (prometheus.AlreadyRegisteredError{}); errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	if err != nil {
		return collector, fmt.Errorf("register the metrics of webhooks: %w", err)
	}
	return collector, nil
}

func (m *Metrics) observe(webhook string, outcome Outcome, took time.Duration) {
	m.decisions.WithLabelValues(webhook, string(outcome)).Inc()
	m.duration.WithLabelValues(webhook).Observe(took.Seconds())
}
