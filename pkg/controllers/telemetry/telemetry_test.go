// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRegister(t *testing.T) {
	registry := prometheus.NewRegistry()
	counter := func() prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "a", Help: "b"})
	}
	first, err := Register(registry, counter())
	if err != nil {
		t.Fatal(err)
	}
	first.Inc()
	second, err := Register(registry, counter())
	if err != nil || testutil.ToFloat64(second) != 1 {
		t.Errorf("the second one does not continue with the first: %v", err)
	}
	if _, err := Register(registry, prometheus.NewCounter(prometheus.CounterOpts{Name: "a", Help: "another"})); err == nil {
		t.Error("a name that is taken is no error")
	}
}
