// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func TestAddToManagerRejectsInvalidConfiguration(t *testing.T) {
	bad := &metav1.LabelSelector{MatchLabels: map[string]string{"not a label": "x"}}
	err := AddToManager(nil, configv1alpha1.ProjectControllerConfiguration{Quotas: []configv1alpha1.QuotaConfiguration{quotaConfig(nil, bad)}}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "controllers.project.quotas[0].projectSelector: ") {
		t.Errorf("got %v", err)
	}
}

func TestOutcomesOutliveAManager(t *testing.T) {
	registry := prometheus.NewRegistry()
	for want := 1.0; want < 3; want++ {
		meters, err := newMeters(registry, nil)
		if err != nil {
			t.Fatal(err)
		}
		meters.outcomes.WithLabelValues("ready").Inc()
		if got := testutil.ToFloat64(meters.outcomes.WithLabelValues("ready")); got != want {
			t.Errorf("counted %v, want %v", got, want)
		}
	}
	taken := prometheus.NewRegistry()
	taken.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "groundskeeper_project_reconciles_total", Help: "another"}))
	if _, err := newMeters(taken, nil); err == nil {
		t.Error("a name that is taken is no error")
	}
}

// TestMetricsOfProjects checks that a new Project is measured once, and that each Project is counted in its phase.
func TestMetricsOfProjects(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := newCluster(t)
	meters, err := newMeters(registry, c.store)
	if err != nil {
		t.Fatal(err)
	}
	c.reconciler.timeToReady = meters.timeToReady
	c.project("dev", func(p *gardenerv1beta1.Project) { p.CreationTimestamp = metav1.NewTime(c.time.Add(-3 * time.Second)) })
	c.project("idle")
	c.settle("dev")
	change(c, c.current("dev"), func(p *gardenerv1beta1.Project) { p.Generation++ })
	c.settle("dev")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if histogram := m.GetHistogram(); histogram != nil {
				got["measured"], got["seconds"] = float64(histogram.GetSampleCount()), histogram.GetSampleSum()
				continue
			}
			got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
	}
	want := map[string]float64{"measured": 1, "seconds": 3, "Pending": 1, "Ready": 1, "Failed": 0, "Terminating": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
