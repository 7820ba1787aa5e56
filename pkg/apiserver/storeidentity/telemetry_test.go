// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1000, 0)
	m.Observe(at, nil)
	m.Observe(at.Add(time.Minute), errors.New("connection refused"))
	if recorded, failures := testutil.ToFloat64(m.recorded), testutil.ToFloat64(m.failures); recorded != 1000 || failures != 1 {
		t.Errorf("recorded at %v, %v failures", recorded, failures)
	}
	(*Metrics)(nil).Observe(at, nil)
	second, err := NewMetrics(registry)
	if err != nil || testutil.ToFloat64(second.failures) != 1 {
		t.Errorf("the second server of the process does not continue with the metrics of the first: %v", err)
	}
	taken := prometheus.NewRegistry()
	taken.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "groundskeeper_store_record_failures_total", Help: "another"}))
	if _, err := NewMetrics(taken); err == nil {
		t.Error("a name that is taken is no error")
	}
}
