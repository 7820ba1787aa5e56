// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
)

// descs describe the metrics that are made of the rows.
type descs struct {
	serviceEvent, endpointsEvent                             *prometheus.Desc
	upstreamServices, replicatedServices, invalidServices    *prometheus.Desc
	upstreamEndpoints, replicatedEndpoints, invalidEndpoints *prometheus.Desc
}

func newDescs(constant prometheus.Labels) descs {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, constant)
	}
	return descs{
		serviceEvent:        desc("gimbal_service_event_timestamp", "When the last event of a service was, in seconds since 1970.", "namespace", "name"),
		endpointsEvent:      desc("gimbal_endpoints_event_timestamp", "When the last event of the endpoints of a service was, in seconds since 1970.", "namespace", "name"),
		upstreamServices:    desc("gimbal_discoverer_upstream_services_total", "Services of the backend that are to be copied.", "namespace"),
		replicatedServices:  desc("gimbal_discoverer_replicated_services_total", "Services that have their copy.", "namespace"),
		invalidServices:     desc("gimbal_discoverer_invalid_services_total", "Services that cannot be copied.", "namespace"),
		upstreamEndpoints:   desc("gimbal_discoverer_upstream_endpoints_total", "Endpoints of a service in the backend.", "namespace", "servicename"),
		replicatedEndpoints: desc("gimbal_discoverer_replicated_endpoints_total", "Endpoints of a service that have their copy.", "namespace", "servicename"),
		invalidEndpoints:    desc("gimbal_discoverer_invalid_endpoints_total", "Endpoints of a service that cannot be copied.", "namespace", "servicename"),
	}
}

// Describe implements prometheus.Collector.
func (m *Meters) Describe(out chan<- *prometheus.Desc) {
	for _, metric := range m.plain() {
		metric.Describe(out)
	}
	for _, desc := range []*prometheus.Desc{
		m.descs.serviceEvent, m.descs.endpointsEvent, m.descs.upstreamServices, m.descs.replicatedServices,
		m.descs.invalidServices, m.descs.upstreamEndpoints, m.descs.replicatedEndpoints, m.descs.invalidEndpoints,
	} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *Meters) Collect(out chan<- prometheus.Metric) {
	for _, metric := range m.plain() {
		metric.Collect(out)
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	type sums struct{ upstream, replicated, invalid int }
	namespaces := map[string]*sums{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, row := range m.rows {
		if row.serviceEvent > 0 {
			gauge(m.descs.serviceEvent, float64(row.serviceEvent), key.Namespace, key.Name)
		}
		if row.endpointsEvent > 0 {
			gauge(m.descs.endpointsEvent, float64(row.endpointsEvent), key.Namespace, key.Name)
		}
		if !row.known {
			continue
		}
		sum := namespaces[key.Namespace]
		if sum == nil {
			sum = &sums{}
			namespaces[key.Namespace] = sum
		}
		sum.upstream++
		invalid := 0
		if row.Copied {
			sum.replicated++
		}
		if row.Invalid {
			sum.invalid++
			invalid = row.Upstream - row.Replicated
		}
		gauge(m.descs.upstreamEndpoints, float64(row.Upstream), key.Namespace, key.Name)
		gauge(m.descs.replicatedEndpoints, float64(row.Replicated), key.Namespace, key.Name)
		gauge(m.descs.invalidEndpoints, float64(invalid), key.Namespace, key.Name)
	}
	for namespace, sum := range namespaces {
		gauge(m.descs.upstreamServices, float64(sum.upstream), namespace)
		gauge(m.descs.replicatedServices, float64(sum.replicated), namespace)
		gauge(m.descs.invalidServices, float64(sum.invalid), namespace)
	}
}

func (m *Meters) plain() []prometheus.Collector {
	return []prometheus.Collector{m.serviceErrors, m.endpointsErrors, m.errors, m.latency, m.cycle, m.queue, m.info}
}
