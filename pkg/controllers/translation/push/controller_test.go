// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/log"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

// TestEngineOptions checks that the configuration determines what may be written, and that an unknown mode writes nothing.
func TestEngineOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		config configv1alpha1.PushConfiguration
		want   engine.Options
	}{
		"repair":  {configv1alpha1.PushConfiguration{Mode: configv1alpha1.PushModeRepair, Concurrency: new(int32(16)), Orphans: configv1alpha1.OrphanPolicyReport}, engine.Options{Mode: engine.Repair, Concurrency: 16}},
		"observe": {configv1alpha1.PushConfiguration{Mode: configv1alpha1.PushModeObserve, Orphans: configv1alpha1.OrphanPolicyDelete}, engine.Options{Mode: engine.Observe, Concurrency: 1, DeleteOrphans: true}},
		"plan":    {configv1alpha1.PushConfiguration{Mode: configv1alpha1.PushModePlan}, engine.Options{Mode: engine.Plan, Concurrency: 1}},
		"unknown": {configv1alpha1.PushConfiguration{Mode: "Repair", Orphans: "Delete"}, engine.Options{Mode: engine.Plan, Concurrency: 1}},
	} {
		got := engineOptions(tc.config)
		if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(engine.Options{}, "Log")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestMetricsWithRegisteredNames checks that a registered metric of the same name causes an error and no panic.
func TestMetricsWithRegisteredNames(t *testing.T) {
	for _, name := range []string{"push_duration_seconds", "drift_found_total", "drift_repaired_total", "orphans"} {
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.NewCounterVec(prometheus.CounterOpts{Name: "groundskeeper_translation_" + name, Help: "another"}, []string{"x"}))
		if _, err := newMeters(registry); err == nil || !strings.Contains(err.Error(), ControllerName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "groundskeeper_translation_resources", Help: "another"}))
	if err := registerCounts(registry, (&scripted{}).Counts); err == nil {
		t.Error("resources: no error")
	}
}

// TestPlanIsLogged checks that a plan is logged once until it changes.
func TestPlanIsLogged(t *testing.T) {
	s, _ := scriptedStore(t, engine.Outcome{Reason: engine.ReasonPlanned, Message: "Chain x: would create"}, nil)
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	for range 2 {
		if _, err := s.Reconcile(ctx, requestA); err != nil {
			t.Fatal(err)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "would create") {
		t.Errorf("the log has %v", lines)
	}
}
