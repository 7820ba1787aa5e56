// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func TestAddToManagerRefusesABadConfiguration(t *testing.T) {
	bad := &metav1.LabelSelector{MatchLabels: map[string]string{"not a label": "x"}}
	err := AddToManager(nil, configv1alpha1.ProjectControllerConfiguration{Quotas: []configv1alpha1.QuotaConfiguration{quotaConfig(nil, bad)}})
	if err == nil || !strings.HasPrefix(err.Error(), "controllers.project.quotas[0].projectSelector: ") {
		t.Errorf("got %v", err)
	}
}

func TestOutcomesOutliveAManager(t *testing.T) {
	registry := prometheus.NewRegistry()
	for want := 1.0; want < 3; want++ {
		outcomes, err := registerOutcomes(registry)
		if err != nil {
			t.Fatal(err)
		}
		outcomes.WithLabelValues("ready").Inc()
		if got := testutil.ToFloat64(outcomes.WithLabelValues("ready")); got != want {
			t.Errorf("counted %v, want %v", got, want)
		}
	}
	taken := prometheus.NewRegistry()
	taken.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "groundskeeper_project_reconciles_total", Help: "another"}))
	if _, err := registerOutcomes(taken); err == nil {
		t.Error("a name that is taken is no error")
	}
}
