// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

func defaults() *configv1alpha1.ControllersConfiguration {
	config := &configv1alpha1.ControllerManagerConfiguration{}
	configv1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	return &config.Controllers
}

// cleaned opts classes in.
func cleaned(classes ...string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) {
		k.Spec.LocalVolumeCleanup = &kubernikusv1.LocalVolumeCleanupSpec{StorageClassNames: classes}
	}
}

func TestPlan(t *testing.T) {
	paused, detached := klustertest.Annotated("groundskeeper.io/paused"), klustertest.Annotated(kubernikusv1.DetachAnnotation)
	gc := func(enabled bool) func(*kubernikusv1.Kluster) {
		return func(k *kubernikusv1.Kluster) { k.Spec.RouteGC = &kubernikusv1.RouteGCSpec{Enabled: &enabled} }
	}
	noCloud := func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }
	released := func(k *kubernikusv1.Kluster) { klustertest.Going(k); k.Finalizers = []string{"example.com/other"} }
	for name, test := range map[string]struct {
		changes        []func(*kubernikusv1.Kluster)
		off, unheard   bool
		nodes, volumes bool
		why            string
	}{
		"plain":                   {nodes: true},
		"no subscriber":           {unheard: true},
		"Route GC off":            {off: true},
		"off except for this one": {off: true, changes: []func(*kubernikusv1.Kluster){gc(true)}, nodes: true},
		"on except for this one":  {changes: []func(*kubernikusv1.Kluster){gc(false)}},
		"no cloud":                {changes: []func(*kubernikusv1.Kluster){noCloud}},
		"no cloud, but cleaned":   {changes: []func(*kubernikusv1.Kluster){noCloud, cleaned("local")}, volumes: true},
		"cleaned":                 {changes: []func(*kubernikusv1.Kluster){cleaned("local")}, nodes: true, volumes: true},
		"without classes":         {changes: []func(*kubernikusv1.Kluster){cleaned()}, nodes: true, why: "False/" + ReasonNotConfigured},
		"paused":                  {changes: []func(*kubernikusv1.Kluster){paused, cleaned("local")}, why: "Unknown/" + ReasonPaused},
		"going":                   {changes: []func(*kubernikusv1.Kluster){klustertest.Going, cleaned("local")}, nodes: true, why: "False/" + ReasonStopped},
		"detached":                {changes: []func(*kubernikusv1.Kluster){detached, cleaned("local")}, nodes: true, why: "False/" + ReasonStopped},
		"going and detached":      {changes: []func(*kubernikusv1.Kluster){klustertest.Going, detached, cleaned("local")}, why: "False/" + ReasonStopped},
		"released":                {changes: []func(*kubernikusv1.Kluster){released}},
		"paused without cleanup":  {changes: []func(*kubernikusv1.Kluster){paused}},
	} {
		config := defaults()
		config.Kluster.RouteGC.Enabled = new(!test.off)
		p := planFor(klustertest.Kluster("k", test.changes...), config, !test.unheard)
		why := ""
		if p.why != nil {
			why = string(p.why.Status) + "/" + p.why.Reason
		}
		if p.nodes != test.nodes || (p.volumes != nil) != test.volumes || why != test.why || p.idle() != (!test.nodes && !test.volumes) {
			t.Errorf("%s: nodes %v, volumes %v, why %q", name, p.nodes, p.volumes, why)
		}
	}
}

// TestSettings checks that the configuration applies where the spec has no value.
func TestSettings(t *testing.T) {
	config := defaults()
	config.LocalVolume.StorageClassNames = []string{"ours"}
	config.LocalVolume.WorkerThreads = new(int32(3))
	config.LocalVolume.DryRun = new(true)
	config.LocalVolume.MaxMissingNodeFraction = new(0.25)
	k := klustertest.Kluster("k", cleaned("theirs"))
	got := planFor(k, config, false).volumes
	if got.StorageClassNames[0] != "theirs" || len(got.StorageClassNames) != 1 || *got.WorkerThreads != 3 || !*got.DryRun ||
		*got.MaxMissingNodeFraction != 0.25 || got.PVCDeletionDelay.Duration != time.Minute {
		t.Errorf("settings %+v", got)
	}
	k.Spec.LocalVolumeCleanup.PVCDeletionDelay = &metav1.Duration{Duration: time.Second}
	k.Spec.LocalVolumeCleanup.MaxMissingNodeFraction = new(1.0)
	got = planFor(k, config, false).volumes
	if *got.MaxMissingNodeFraction != 1 || got.PVCDeletionDelay.Duration != time.Second {
		t.Errorf("settings %+v", got)
	}
	if config.LocalVolume.StorageClassNames[0] != "ours" || *config.LocalVolume.MaxMissingNodeFraction != 0.25 {
		t.Errorf("the configuration was changed: %+v", config.LocalVolume)
	}
}
