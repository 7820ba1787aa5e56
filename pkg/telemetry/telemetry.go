// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry registers metrics. A registry outlives the servers and managers that tests start in one process, so it may have a
// metric already.
package telemetry

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Register adds a metric to a registry and returns it. A registry that has it already, from an earlier server or manager in the
// same process, continues with the existing one.
func Register[C prometheus.Collector](registry prometheus.Registerer, metric C) (C, error) {
	err := registry.Register(metric)
	if registered := (prometheus.AlreadyRegisteredError{}); errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	if err != nil {
		return metric, fmt.Errorf("register a metric: %w", err)
	}
	return metric, nil
}

// Factory makes metrics and registers them, as Register does.
type Factory struct {
	registry prometheus.Registerer
	errs     []error
}

// With returns a factory of metrics of a registry.
func With(registry prometheus.Registerer) *Factory { return &Factory{registry: registry} }

// Err returns the errors of all metrics that were made.
func (f *Factory) Err() error { return errors.Join(f.errs...) }

func made[C prometheus.Collector](f *Factory, metric C) C {
	metric, err := Register(f.registry, metric)
	f.errs = append(f.errs, err)
	return metric
}

// Counter makes a counter.
func (f *Factory) Counter(name, help string) prometheus.Counter {
	return made(f, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

// CounterVec makes a counter with labels.
func (f *Factory) CounterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return made(f, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// Gauge makes a gauge.
func (f *Factory) Gauge(name, help string) prometheus.Gauge {
	return made(f, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

// GaugeVec makes a gauge with labels.
func (f *Factory) GaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return made(f, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// Histogram makes a histogram.
func (f *Factory) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	return made(f, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}))
}

// HistogramVec makes a histogram with labels.
func (f *Factory) HistogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return made(f, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

// Replace adds a metric that is computed from the state of a server or manager. It takes the place of an earlier one, whose server
// or manager has ended.
func Replace(registry prometheus.Registerer, metric prometheus.Collector) error {
	err := registry.Register(metric)
	if registered := (prometheus.AlreadyRegisteredError{}); errors.As(err, &registered) {
		registry.Unregister(registered.ExistingCollector)
		err = registry.Register(metric)
	}
	if err != nil {
		return fmt.Errorf("register a metric: %w", err)
	}
	return nil
}
