// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// family is a metric as a page of Prometheus shows it.
type family struct {
	name, kind, help string
	labels           []string
}

// collectors are a registry that only remembers what is registered.
type collectors []prometheus.Collector

// Register implements prometheus.Registerer.
func (c *collectors) Register(collector prometheus.Collector) error {
	*c = append(*c, collector)
	return nil
}

// MustRegister implements prometheus.Registerer.
func (c *collectors) MustRegister(more ...prometheus.Collector) { *c = append(*c, more...) }

// Unregister implements prometheus.Registerer.
func (c *collectors) Unregister(prometheus.Collector) bool { return false }

// describe returns all metrics that a function registers, sorted by name. Those with labels have no sample before
// something happens, so each gets one here.
func describe(register func(prometheus.Registerer) error) ([]family, error) {
	var registered collectors
	if err := register(&registered); err != nil {
		return nil, err
	}
	registry := prometheus.NewPedanticRegistry()
	described := map[string]bool{}
	for _, collector := range registered {
		found, err := descriptions(collector)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			described[d.name] = true
			touch(collector, d.labels)
		}
		if err := registry.Register(collector); err != nil {
			return nil, err
		}
	}
	gathered, err := registry.Gather()
	if err != nil {
		return nil, err
	}
	var families []family
	for _, metric := range gathered {
		delete(described, metric.GetName())
		families = append(families, familyOf(metric))
	}
	if len(described) > 0 {
		return nil, fmt.Errorf("no sample of %s", strings.Join(slices.Sorted(maps.Keys(described)), ", "))
	}
	return families, nil
}

// familyOf reads a metric, and its labels from its first sample.
func familyOf(metric *dto.MetricFamily) family {
	f := family{name: metric.GetName(), kind: strings.ToLower(metric.GetType().String()), help: metric.GetHelp()}
	for _, label := range metric.Metric[0].Label {
		f.labels = append(f.labels, label.GetName())
	}
	return f
}

// touch makes a sample of a metric with labels.
func touch(collector prometheus.Collector, labels []string) {
	switch vector := collector.(type) {
	case *prometheus.CounterVec:
		vector.WithLabelValues(labels...)
	case *prometheus.GaugeVec:
		vector.WithLabelValues(labels...)
	case *prometheus.HistogramVec:
		vector.WithLabelValues(labels...)
	}
}

// description is the part of a prometheus.Desc that it shows.
type description struct {
	name   string
	labels []string
}

// descriptionText is how a prometheus.Desc prints itself; it has no other way to return its name.
var descriptionText = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: ".*", constLabels: \{.*\}, variableLabels: \{(.*)\}\}$`)

func descriptions(collector prometheus.Collector) ([]description, error) {
	descs := make(chan *prometheus.Desc)
	go func() { collector.Describe(descs); close(descs) }()
	var found []description
	var err error
	for desc := range descs { // read all of them, because the collector blocks until they are received
		d, failure := descriptionOf(desc.String())
		found, err = append(found, d), errors.Join(err, failure)
	}
	return found, err
}

func descriptionOf(text string) (description, error) {
	match := descriptionText.FindStringSubmatch(text)
	if match == nil {
		return description{}, fmt.Errorf("cannot read the name and the labels of a metric that shows itself as %q", text)
	}
	d := description{name: match[1]}
	if match[2] != "" {
		d.labels = strings.Split(match[2], ",")
	}
	return d, nil
}
