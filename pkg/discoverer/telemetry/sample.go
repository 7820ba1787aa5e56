// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
)

// sample is a gauge that shares its labels and its value with others. There are five for each service: with dedicated labels they
// would take more memory for a moment, at each scrape, than the services themselves.
type sample struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	value  *dto.Gauge
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label, out.Gauge = s.labels, s.value
	return nil
}

// sampler makes samples, for one response.
type sampler struct {
	out         chan<- prometheus.Metric
	constant    []*dto.LabelPair
	byNamespace map[string]*dto.LabelPair
	values      map[float64]*dto.Gauge
}

func newSampler(out chan<- prometheus.Metric, backend, backendType string) *sampler {
	return &sampler{
		out: out, constant: []*dto.LabelPair{pair("backendname", backend), pair("backendtype", backendType)},
		byNamespace: map[string]*dto.LabelPair{}, values: map[float64]*dto.Gauge{},
	}
}

func (s *sampler) gauge(desc *prometheus.Desc, value float64, labels []*dto.LabelPair) {
	shared := s.values[value]
	if shared == nil {
		shared = &dto.Gauge{Value: new(value)}
		s.values[value] = shared
	}
	s.out <- &sample{desc: desc, labels: labels, value: shared}
}

func (s *sampler) namespace(namespace string) *dto.LabelPair {
	found := s.byNamespace[namespace]
	if found == nil {
		found = pair("namespace", namespace)
		s.byNamespace[namespace] = found
	}
	return found
}

// event returns the labels of the events of a service, in the order of their names, as all labels have to be.
func (s *sampler) event(key types.NamespacedName) []*dto.LabelPair {
	return []*dto.LabelPair{s.constant[0], s.constant[1], pair("name", key.Name), s.namespace(key.Namespace)}
}

func (s *sampler) endpoints(key types.NamespacedName) []*dto.LabelPair {
	return []*dto.LabelPair{s.constant[0], s.constant[1], s.namespace(key.Namespace), pair("servicename", key.Name)}
}

func (s *sampler) services(namespace string) []*dto.LabelPair {
	return []*dto.LabelPair{s.constant[0], s.constant[1], s.namespace(namespace)}
}

func pair(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }
