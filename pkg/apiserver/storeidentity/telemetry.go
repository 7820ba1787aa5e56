// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics report how the record of the store is kept. A nil one reports nothing.
type Metrics struct {
	recorded prometheus.Gauge
	failures prometheus.Counter
}

// NewMetrics makes the metrics and registers them. A registry that has them already, from an earlier server in the same process,
// continues with those.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	recorded, first := register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "groundskeeper_store_recorded_timestamp_seconds",
		Help: "When the state of the store was last compared and recorded, in seconds since 1970. 0: not yet.",
	}))
	failures, second := register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "groundskeeper_store_record_failures_total",
		Help: "Attempts to record the state of the store that failed.",
	}))
	return &Metrics{recorded, failures}, errors.Join(first, second)
}

func register[C prometheus.Collector](registry prometheus.Registerer, metric C) (C, error) {
	err := registry.Register(metric)
	if registered := (prometheus.AlreadyRegisteredError{}); errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	if err != nil {
		return metric, fmt.Errorf("register the metrics of the store: %w", err)
	}
	return metric, nil
}

// Observe notes what came of an attempt to record.
func (m *Metrics) Observe(now time.Time, err error) {
	switch {
	case m == nil:
	case err != nil:
		m.failures.Inc()
	default:
		m.recorded.Set(float64(now.Unix()))
	}
}
