// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry has the metrics of a discoverer. They have the names and labels of the original's.
package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Row is what is known of one service of the backend.
type Row struct {
	// Copied reports that the service has its copy here, Invalid that it cannot have one.
	Copied, Invalid bool
	// Upstream is how many endpoints it has in the backend, Replicated how many of them are here.
	Upstream, Replicated int
}

type row struct {
	Row
	// known reports that Row was set.
	known bool
	// When the last event was, in seconds. 0: there was none.
	serviceEvent, endpointsEvent int64
}

// Meters are the metrics of the discoverer of one backend. What there is one of for each service is kept in rows and becomes a
// metric only when it is scraped: metrics proper of thousands of services take more memory than the services.
type Meters struct {
	serviceErrors, endpointsErrors, errors *prometheus.CounterVec
	latency                                *prometheus.HistogramVec
	cycle                                  prometheus.Histogram
	queue                                  prometheus.GaugeFunc
	info                                   prometheus.GaugeFunc
	descs                                  descs
	backend, backendType                   string

	mu   sync.Mutex
	rows map[types.NamespacedName]*row
}

// New returns the metrics of a backend of a type, which are of a version. queue reports how many keys wait.
func New(backend, backendType, version string, queue func() int) *Meters {
	constant := prometheus.Labels{"backendname": backend, "backendtype": backendType}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: constant}, labels)
	}
	return &Meters{
		backend: backend, backendType: backendType,
		rows:            map[types.NamespacedName]*row{},
		descs:           newDescs(constant),
		serviceErrors:   counter("gimbal_service_error_total", "Errors with services.", "namespace", "name", "errortype"),
		endpointsErrors: counter("gimbal_endpoints_error_total", "Errors with endpoints.", "namespace", "name", "errortype"),
		errors:          counter("gimbal_discoverer_error_total", "Errors of the discoverer that are not about one service.", "errortype"),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gimbal_discoverer_api_latency_milliseconds", Help: "How long requests to the backend took, by path.", ConstLabels: constant,
			Buckets: []float64{5, 20, 50, 100, 250, 500, 1000, 2000, 5000, 10000, 30000, 120000},
		}, []string{"path"}),
		cycle: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "gimbal_discoverer_cycle_duration_seconds", Help: "How long it took until all copies agreed with a listing of the backend.",
			ConstLabels: constant,
			Buckets:     []float64{0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600},
		}),
		queue: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "gimbal_queuesize", Help: "Services in the queue.", ConstLabels: constant,
		}, func() float64 { return float64(queue()) }),
		info: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "gimbal_discoverer_info", Help: "The version of the discoverer.",
			ConstLabels: prometheus.Labels{"backendname": backend, "backendtype": backendType, "version": version},
		}, func() float64 { return 1 }),
	}
}

// Latency notes how long a request to the backend took. The path has no names and ids in it.
func (m *Meters) Latency(path string, took time.Duration) {
	m.latency.WithLabelValues(path).Observe(float64(took.Milliseconds()))
}

// Cycle notes how long it took until everything agreed.
func (m *Meters) Cycle(took time.Duration) { m.cycle.Observe(took.Seconds()) }

// Error counts an error that is not about one service.
func (m *Meters) Error(kind string) { m.errors.WithLabelValues(kind).Inc() }

// ServiceError counts an error with a service.
func (m *Meters) ServiceError(key types.NamespacedName, kind string) {
	m.serviceErrors.WithLabelValues(key.Namespace, key.Name, kind).Inc()
}

// EndpointsError counts an error with the endpoints of a service.
func (m *Meters) EndpointsError(key types.NamespacedName, kind string) {
	m.endpointsErrors.WithLabelValues(key.Namespace, key.Name, kind).Inc()
}

// ServiceEvent notes that a service of the backend changed.
func (m *Meters) ServiceEvent(key types.NamespacedName, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.row(key).serviceEvent = at.Unix()
}

// EndpointsEvent notes that the endpoints of a service of the backend changed.
func (m *Meters) EndpointsEvent(key types.NamespacedName, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.row(key).endpointsEvent = at.Unix()
}

// Set sets the metrics of a service.
func (m *Meters) Set(key types.NamespacedName, known Row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.row(key)
	r.Row, r.known = known, true
}

// Remove drops all that is known of a service that has been deleted.
func (m *Meters) Remove(key types.NamespacedName) {
	m.mu.Lock()
	delete(m.rows, key)
	m.mu.Unlock()
	labels := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	m.serviceErrors.DeletePartialMatch(labels)
	m.endpointsErrors.DeletePartialMatch(labels)
}

// Totals returns how many services have copies, how many endpoints these have, and how many services there are.
func (m *Meters) Totals() (copied, endpoints, services int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, row := range m.rows {
		if !row.known {
			continue
		}
		services++
		if row.Copied {
			copied++
			endpoints += row.Replicated
		}
	}
	return copied, endpoints, services
}

func (m *Meters) row(key types.NamespacedName) *row {
	r := m.rows[key]
	if r == nil {
		r = &row{}
		m.rows[key] = r
	}
	return r
}
