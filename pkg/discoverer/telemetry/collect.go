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
		serviceEvent: desc("gimbal_service_event_timestamp",
			"When the last event of a service was, in seconds since 1970.", "namespace", "name"),
		endpointsEvent: desc("gimbal_endpoints_event_timestamp",
			"When the last event of the endpoints of a service was, in seconds since 1970.", "namespace", "name"),
		upstreamServices:   desc("gimbal_discoverer_upstream_services_total", "Services of the backend that are to be copied.", "namespace"),
		replicatedServices: desc("gimbal_discoverer_replicated_services_total", "Services that have their copy.", "namespace"),
		invalidServices:    desc("gimbal_discoverer_invalid_services_total", "Services that cannot be copied.", "namespace"),
		upstreamEndpoints: desc("gimbal_discoverer_upstream_endpoints_total",
			"Endpoints of a service in the backend.", "namespace", "servicename"),
		replicatedEndpoints: desc("gimbal_discoverer_replicated_endpoints_total",
			"Endpoints of a service that have their copy.", "namespace", "servicename"),
		invalidEndpoints: desc("gimbal_discoverer_invalid_endpoints_total",
			"Endpoints of a service that cannot be copied.", "namespace", "servicename"),
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
	samples := newSampler(out, m.backend, m.backendType)
	type sums struct{ upstream, replicated, invalid int }
	namespaces := map[string]*sums{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, row := range m.rows {
		event := samples.event(key)
		if row.serviceEvent > 0 {
			samples.gauge(m.descs.serviceEvent, float64(row.serviceEvent), event)
		}
		if row.endpointsEvent > 0 {
			samples.gauge(m.descs.endpointsEvent, float64(row.endpointsEvent), event)
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
		endpoints := samples.endpoints(key)
		samples.gauge(m.descs.upstreamEndpoints, float64(row.Upstream), endpoints)
		samples.gauge(m.descs.replicatedEndpoints, float64(row.Replicated), endpoints)
		samples.gauge(m.descs.invalidEndpoints, float64(invalid), endpoints)
	}
	for namespace, sum := range namespaces {
		services := samples.services(namespace)
		samples.gauge(m.descs.upstreamServices, float64(sum.upstream), services)
		samples.gauge(m.descs.replicatedServices, float64(sum.replicated), services)
		samples.gauge(m.descs.invalidServices, float64(sum.invalid), services)
	}
}

func (m *Meters) plain() []prometheus.Collector {
	return []prometheus.Collector{m.serviceErrors, m.endpointsErrors, m.errors, m.latency, m.cycle, m.queue, m.info}
}
