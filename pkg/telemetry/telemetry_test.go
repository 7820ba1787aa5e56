// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// TestRegister checks that a metric that is registered again continues counting, and that a name in use is an error.
func TestRegister(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, err := Register(registry, counter("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	first.Inc()
	second, err := Register(registry, counter("a", "b"))
	if err != nil || testutil.ToFloat64(second) != 1 {
		t.Errorf("the second one does not continue with the first: %v", err)
	}
	if _, err := Register(registry, counter("a", "another")); err == nil {
		t.Error("a name that is taken is no error")
	}
}

// TestFactory checks that metrics of a second factory continue with those of the first one, and that each name in use is an error.
func TestFactory(t *testing.T) {
	registry := prometheus.NewRegistry()
	for want := 1.0; want < 3; want++ {
		f := With(registry)
		of := f.CounterVec("counts", "help", "kind")
		of.WithLabelValues("a").Inc()
		f.Counter("count", "help")
		f.Gauge("gauge", "help")
		f.GaugeVec("gauges", "help", "kind")
		f.Histogram("histogram", "help", prometheus.DefBuckets)
		f.HistogramVec("histograms", "help", prometheus.DefBuckets, "kind")
		if got := testutil.ToFloat64(of.WithLabelValues("a")); f.Err() != nil || got != want {
			t.Errorf("counted %v, want %v; %v", got, want, f.Err())
		}
	}
	f := With(registry)
	f.Gauge("new", "help")
	f.Counter("gauge", "another")
	f.Gauge("other", "help")
	if f.Err() == nil {
		t.Error("a name that is taken is no error")
	}
}

// TestReplace checks that a metric of the ended server or manager is not exposed any more.
func TestReplace(t *testing.T) {
	registry := prometheus.NewRegistry()
	for want := 1; want < 4; want++ {
		if err := Replace(registry, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "a", Help: "b"}, func() float64 { return float64(want) })); err != nil {
			t.Fatal(err)
		}
		families, err := registry.Gather()
		if err != nil || len(families) != 1 || families[0].Metric[0].GetGauge().GetValue() != float64(want) {
			t.Errorf("exposed = %v, want %d; %v", families, want, err)
		}
	}
	if err := Replace(registry, counter("a", "another")); err == nil {
		t.Error("a name that is taken is no error")
	}
}
