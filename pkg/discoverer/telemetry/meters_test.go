// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// gather returns all metrics as name{label=value,...} without values.
func gather(t *testing.T, m *Meters) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			var labels []string
			for _, label := range metric.Label {
				labels = append(labels, fmt.Sprintf("%s=%s", label.GetName(), label.GetValue()))
			}
			value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			got[fmt.Sprintf("%s{%s}", family.GetName(), strings.Join(labels, ","))] = value
		}
	}
	return got
}

// TestNames checks that the names and labels are those of the original, so that dashboards and alerts continue to work.
func TestNames(t *testing.T) {
	m := New("us", "kubernetes", "v1", func() int { return 4 })
	web, db := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "db"}
	at := time.Unix(1000, 0)
	m.ServiceEvent(web, at)
	m.EndpointsEvent(web, at)
	m.Set(web, Row{Copied: true, Upstream: 5, Replicated: 5})
	m.Set(db, Row{Invalid: true, Upstream: 3})
	m.ServiceError(db, "InvalidService")
	m.EndpointsError(db, "Invalid")
	m.Error("ConnectionError")
	m.Latency("/api/v1/services", time.Second)
	m.Cycle(time.Second)
	const base = "backendname=us,backendtype=kubernetes"
	want := map[string]float64{
		"gimbal_service_event_timestamp{" + base + ",name=web,namespace=shop}":                      1000,
		"gimbal_endpoints_event_timestamp{" + base + ",name=web,namespace=shop}":                    1000,
		"gimbal_service_error_total{" + base + ",errortype=InvalidService,name=db,namespace=shop}":  1,
		"gimbal_endpoints_error_total{" + base + ",errortype=Invalid,name=db,namespace=shop}":       1,
		"gimbal_queuesize{" + base + "}":                                                            4,
		"gimbal_discoverer_api_latency_milliseconds{" + base + ",path=/api/v1/services}":            1,
		"gimbal_discoverer_cycle_duration_seconds{" + base + "}":                                    1,
		"gimbal_discoverer_error_total{" + base + ",errortype=ConnectionError}":                     1,
		"gimbal_discoverer_upstream_services_total{" + base + ",namespace=shop}":                    2,
		"gimbal_discoverer_replicated_services_total{" + base + ",namespace=shop}":                  1,
		"gimbal_discoverer_invalid_services_total{" + base + ",namespace=shop}":                     1,
		"gimbal_discoverer_upstream_endpoints_total{" + base + ",namespace=shop,servicename=web}":   5,
		"gimbal_discoverer_upstream_endpoints_total{" + base + ",namespace=shop,servicename=db}":    3,
		"gimbal_discoverer_replicated_endpoints_total{" + base + ",namespace=shop,servicename=web}": 5,
		"gimbal_discoverer_replicated_endpoints_total{" + base + ",namespace=shop,servicename=db}":  0,
		"gimbal_discoverer_invalid_endpoints_total{" + base + ",namespace=shop,servicename=web}":    0,
		"gimbal_discoverer_invalid_endpoints_total{" + base + ",namespace=shop,servicename=db}":     3,
		"gimbal_discoverer_info{" + base + ",version=v1}":                                           1,
	}
	got := gather(t, m)
	for name, value := range want {
		if found, ok := got[name]; !ok || found != value {
			t.Errorf("%s: got %v, %t, want %v", name, found, ok, value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d metrics, want %d", len(got), len(want))
	}
	if copied, endpoints, services := m.Totals(); copied != 1 || endpoints != 5 || services != 2 {
		t.Error(copied, endpoints, services)
	}
}

// TestRemove checks that a deleted object has no metrics.
func TestRemove(t *testing.T) {
	m := New("us", "kubernetes", "v1", func() int { return 0 })
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	before := gather(t, m)
	m.ServiceEvent(web, time.Unix(1000, 0))
	m.Set(web, Row{Copied: true})
	m.ServiceError(web, "x")
	m.EndpointsError(web, "x")
	if len(gather(t, m)) == len(before) {
		t.Error("there is nothing to discard")
	}
	m.Remove(web)
	after := gather(t, m)
	if len(after) != len(before) || slices.ContainsFunc(keys(after), func(name string) bool { return strings.Contains(name, "web") }) {
		t.Error(after)
	}
}

func keys(m map[string]float64) []string {
	var all []string
	for key := range m {
		all = append(all, key)
	}
	return all
}
