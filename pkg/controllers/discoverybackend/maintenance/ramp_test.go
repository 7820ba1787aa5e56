// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func TestNextRamp(t *testing.T) {
	// The time at which another process stored a ramp is of another clock.
	ramp := func(percent, from, to int32) *gimbalv1.RampStatus {
		return &gimbalv1.RampStatus{Percent: percent, From: from, To: to, StartTime: new(metav1.NewTime(noon.Add(-time.Hour)))}
	}
	const duration = 100 * time.Second
	for name, tc := range map[string]struct {
		phase    phase
		last     *gimbalv1.RampStatus
		duration time.Duration
		reason   string
		// observed is since when this process observes the stored step.
		observed time.Duration
		// want is the percentage, -1 for no ramp; after is when the next step is due.
		want  int32
		after time.Duration
	}{
		"enabled":                           {phaseEnabled, nil, duration, reasonEnabled, time.Hour, -1, 0},
		"maintenance in one step":           {phaseDraining, nil, 0, reasonEnabled, time.Hour, -1, 0},
		"it begins":                         {phaseDraining, nil, duration, reasonEnabled, time.Hour, 100, 10 * time.Second},
		"it begins, never reconciled":       {phaseDraining, nil, duration, "", time.Hour, 100, 10 * time.Second},
		"drained before":                    {phaseDraining, nil, duration, reasonDrained, time.Hour, 0, 0},
		"stored by another process":         {phaseDraining, ramp(100, 100, 0), duration, reasonDraining, 0, 100, 10 * time.Second},
		"before the first step":             {phaseDraining, ramp(100, 100, 0), duration, reasonDraining, 9 * time.Second, 100, time.Second},
		"the first step":                    {phaseDraining, ramp(100, 100, 0), duration, reasonDraining, 10 * time.Second, 90, 10 * time.Second},
		"after a long break":                {phaseDraining, ramp(90, 100, 0), duration, reasonDraining, 65 * time.Second, 30, 5 * time.Second},
		"the last step":                     {phaseDraining, ramp(10, 100, 0), duration, reasonDraining, 10 * time.Second, 0, 0},
		"long since":                        {phaseDraining, ramp(0, 100, 0), duration, reasonDrained, time.Hour, 0, 0},
		"without its duration":              {phaseDraining, ramp(60, 100, 0), 0, reasonDraining, 0, 0, 0},
		"a clock that went back":            {phaseDraining, ramp(60, 100, 0), duration, reasonDraining, -time.Minute, 60, time.Minute + 10*time.Second},
		"it turns round":                    {phaseEnabled, ramp(60, 100, 0), duration, reasonDraining, 9 * time.Second, 60, 10 * time.Second},
		"traffic returns":                   {phaseEnabled, ramp(60, 60, 100), duration, reasonRestoring, 25 * time.Second, 80, 5 * time.Second},
		"traffic has returned":              {phaseEnabled, ramp(90, 60, 100), duration, reasonRestoring, 10 * time.Second, -1, 0},
		"back in one step":                  {phaseEnabled, ramp(0, 100, 0), 0, reasonDrained, time.Hour, -1, 0},
		"endpoints are withheld":            {phaseHeld, ramp(0, 100, 0), duration, reasonDrained, time.Hour, 0, 0},
		"maintenance again on the way back": {phaseDraining, ramp(70, 60, 100), duration, reasonRestoring, 10 * time.Second, 70, 10 * time.Second},
	} {
		backend := &gimbalv1.DiscoveryBackend{}
		backend.Cluster.DrainDuration = &metav1.Duration{Duration: tc.duration}
		backend.Status.Ramp = tc.last
		if tc.reason != "" {
			backend.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionDrained, Reason: tc.reason}}
		}
		percent := int32(-1)
		next, since := nextRamp(backend, tc.phase, noon.Add(-tc.observed), noon)
		if next != nil {
			percent = next.Percent
		}
		after := time.Duration(0)
		if due := nextStep(next, tc.duration, since); !due.IsZero() {
			after = due.Sub(noon)
		}
		if percent != tc.want || after != tc.after {
			t.Errorf("%s: %d %% and %s, want %d %% and %s", name, percent, after, tc.want, tc.after)
		}
	}
}

// TestRamp checks that traffic is moved in steps, away and back. Each step is stored before a route follows it, and a new process
// continues at the last step.
func TestRamp(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, "us", func(backend *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(backend.Object, "100s", "cluster", "drainDuration")
		})
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(0) // the first step is not stored
		expect := func(what, condition, weights string, percent int32) {
			w.Helper()
			w.mustCheck("us")
			if _, _, err := w.correct(); err != nil {
				w.Fatal(err)
			}
			got := w.mustCheck("us")
			if at := percentOf(w.stored("us")); got != condition || w.weights() != weights || at != percent {
				w.Errorf("%s: %s, weights %s, %d %%", what, got, w.weights(), at)
			}
		}
		expect("at first", "False/Draining", "70 30", 100)
		time.Sleep(10 * time.Second)
		expect("the first step", "False/Draining", "63 37", 90)
		w.take()
		w.mustCheck("us")
		w.mustCorrect(0)
		if wrote := w.take(); len(wrote) > 0 {
			w.Errorf("between two steps: wrote %q", wrote)
		}
		time.Sleep(20 * time.Second)
		expect("two steps later", "False/Draining", "49 51", 70)
		time.Sleep(9 * time.Second)
		w.backends.cluster.memory = newMemory() // another process
		expect("in another process, which has not observed the step", "False/Draining", "49 51", 70)
		time.Sleep(10 * time.Second)
		expect("its first step", "False/Draining", "42 58", 60)
		w.cluster("us", "clusterStatus", "Enabled")
		w.mustCheck("us") // which finds that no endpoint is withheld
		expect("it turns round", "False/Restoring", "42 58", 60)
		time.Sleep(20 * time.Second)
		expect("on the way back", "False/Restoring", "56 44", 80)
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCheck("us")
		time.Sleep(2 * time.Minute)
		expect("drained", "True/Drained", "0 30", 0)
		w.cluster("us", "clusterStatus", "Enabled")
		w.mustCheck("us")
		expect("Enabled", "False/Restoring", "0 30", 0)
		time.Sleep(2 * time.Minute)
		expect("in the end", "False/Enabled", "70 30", 100)
		if w.record() != "" || w.stored("us").Status.Ramp != nil {
			w.Errorf("left: %q, %+v", w.record(), w.stored("us").Status.Ramp)
		}
	}, shared)
}
