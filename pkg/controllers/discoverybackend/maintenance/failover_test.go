// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

// TestFailoverNext checks when the requests for a Service move and return, by what one process observed.
func TestFailoverNext(t *testing.T) {
	type check struct {
		after           time.Duration
		ready, recorded bool
	}
	down, up := func(after time.Duration) check { return check{after: after} }, func(after time.Duration) check { return check{after: after, ready: true} }
	for name, tc := range map[string]struct {
		checks []check
		over   bool
		count  int
		due    time.Duration
	}{
		"ready":                          {checks: []check{up(0)}},
		"not ready yet":                  {checks: []check{down(0)}, due: 10 * time.Second},
		"not ready for a moment":         {checks: []check{up(0), down(time.Hour), down(4 * time.Second)}, due: 6 * time.Second},
		"not ready for long":             {checks: []check{up(0), down(0), down(10 * time.Second)}, over: true, count: 1},
		"ready in between":               {checks: []check{down(0), up(9 * time.Second), down(0), down(9 * time.Second)}, due: time.Second},
		"ready again":                    {checks: []check{down(0), down(10 * time.Second), up(time.Minute)}, over: true, count: 1, due: time.Minute},
		"ready for long":                 {checks: []check{down(0), down(10 * time.Second), up(0), up(time.Minute)}, count: 1},
		"the second time":                {checks: []check{down(0), down(10 * time.Second), up(0), up(time.Minute), down(0), down(10 * time.Second), up(0)}, over: true, count: 2, due: 2 * time.Minute},
		"flapping while it is over":      {checks: []check{down(0), down(10 * time.Second), up(0), down(59 * time.Second), up(0)}, over: true, count: 1, due: time.Minute},
		"it was ready for an hour":       {checks: []check{down(0), down(10 * time.Second), up(0), up(time.Minute), down(time.Hour), down(10 * time.Second)}, over: true, count: 1},
		"it was ready for nearly that":   {checks: []check{down(0), down(10 * time.Second), up(0), up(time.Minute), down(58 * time.Minute), down(10 * time.Second)}, over: true, count: 2},
		"recorded before a restart":      {checks: []check{{recorded: true}}, over: true, count: 1},
		"recorded in another route":      {checks: []check{{}, {after: time.Second, recorded: true}}, over: true, count: 1},
		"recorded, and ready since then": {checks: []check{{recorded: true, ready: true}}, over: true, count: 1, due: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var f failover
			var due time.Duration
			now := noon
			for _, c := range tc.checks {
				now = now.Add(c.after)
				f, due = f.next(gimbalv1.ServiceMaintenancePolicy{}, c.ready, c.recorded, now)
			}
			if f.over != tc.over || f.count != tc.count || due != tc.due {
				t.Errorf("over = %t, count = %d, due = %s, want %t, %d, %s", f.over, f.count, due, tc.over, tc.count, tc.due)
			}
		})
	}
	if got := returnPeriod(gimbalv1.ServiceMaintenancePolicy{}, 100); got != time.Hour {
		t.Errorf("after 100 times it returns after %s, want 1h", got)
	}
}

// TestServicesThatMayFailOver checks of which Services the endpoints are observed. Those of the others stay where their record has them.
func TestServicesThatMayFailOver(t *testing.T) {
	web := types.NamespacedName{Namespace: "shop", Name: "us-web"}
	for name, tc := range map[string]struct {
		status       gimbalv1.ClusterStatus
		deleted      *metav1.Time
		externalName bool
		recorded     bool
		want         bool
	}{
		"an enabled backend":                 {status: gimbalv1.ClusterEnabled, want: true},
		"a backend in maintenance":           {status: gimbalv1.ClusterMaintenance},
		"a backend that is being deleted":    {status: gimbalv1.ClusterEnabled, deleted: new(metav1.NewTime(noon))},
		"the same, recorded":                 {status: gimbalv1.ClusterEnabled, deleted: new(metav1.NewTime(noon)), recorded: true, want: true},
		"a Service of type ExternalName":     {status: gimbalv1.ClusterEnabled, externalName: true},
		"the same, recorded as another type": {status: gimbalv1.ClusterEnabled, externalName: true, recorded: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			us := &gimbalv1.DiscoveryBackend{}
			us.Namespace, us.Name, us.UID, us.DeletionTimestamp = "shop", "us", "us", tc.deleted
			us.Cluster.ClusterStatus, us.Cluster.Maintenance.Services.Automatic = tc.status, true
			m := &membership{
				fleet: fleet{all: map[string]*gimbalv1.DiscoveryBackend{"us": us}}, memory: newMemory(),
				targets: map[drain.Object]*target{{NamespacedName: web}: {service: &service{backend: "us", externalName: tc.externalName}}},
			}
			m.memory.setRestored("us", true)
			recorded := sets.Set[types.NamespacedName]{}
			if tc.recorded {
				recorded.Insert(web)
			}
			m.failover(recorded, []drain.Object{{NamespacedName: web}}, noon)
			m.failover(recorded, []drain.Object{{NamespacedName: web}}, noon.Add(gimbalv1.DefaultUnreadyPeriod))
			if got := m.FailsOver(web); got != tc.want {
				t.Errorf("fails over = %t, want %t", got, tc.want)
			}
		})
	}
}

// failsOver lets the Services of a backend fail over.
func (w *world) failsOver(backend string, automatic bool) {
	w.Helper()
	w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, backend, func(object *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(object.Object, automatic, "cluster", "maintenance", "services", "automatic")
	})
}

// TestServiceFailsOver checks that the requests for a Service without a ready endpoint move to the other receiver of its route and return, that
// the backend counts as enabled meanwhile, and that a restart changes nothing.
func TestServiceFailsOver(t *testing.T) {
	inWorld(t, func(w *world) {
		recorder := events.NewFakeRecorder(100)
		w.backends.recorder = recorder
		w.failsOver("us", true)
		expect := func(when string, writes int, weights string) {
			w.Helper()
			w.mustCorrect(writes)
			if got := w.weights(); got != weights {
				w.Errorf("%s the weights are %q, want %q", when, got, weights)
			}
			if got := w.mustCheck("us"); got != "False/Enabled" {
				w.Errorf("%s the backend is %s, want False/Enabled", when, got)
			}
		}
		expect("at first", 0, "70 30")
		w.setReady("us-web", false)
		expect("immediately", 0, "70 30")
		time.Sleep(gimbalv1.DefaultUnreadyPeriod)
		expect("without an endpoint", 1, "0 30")
		if got := w.stored("us").Status; len(got.Errors) != 1 || got.Errors[0].Type != gimbalv1.ErrorServiceFailedOver || got.Routes.WithoutEndpoints != nil {
			w.Errorf("the status is %+v, want one error of type %s", got, gimbalv1.ErrorServiceFailedOver)
		}
		w.stop()
		w.boot()
		w.backends.recorder = recorder
		w.start()
		expect("after a restart", 0, "0 30")
		w.setReady("us-web", true)
		expect("with an endpoint", 0, "0 30")
		w.setReady("eu-web", false)
		expect("while the other one has none", 1, "70 30")
		w.setReady("eu-web", true)
		expect("with both again", 1, "0 30")
		time.Sleep(gimbalv1.DefaultServiceStablePeriod)
		expect("after a while", 1, "70 30")
		if got := w.stored("us").Status.Errors; len(got) > 0 {
			w.Errorf("errors: %+v, want none", got)
		}
		var announced []string
		for len(recorder.Events) > 0 {
			announced = append(announced, strings.Fields(<-recorder.Events)[1])
		}
		if got := strings.Join(announced, " "); !strings.Contains(got, "WithoutEndpoints ServiceFailedOver") || !strings.HasSuffix(got, eventServiceReturned) {
			w.Errorf("events = %s, want them to begin with WithoutEndpoints ServiceFailedOver and to end with %s", got, eventServiceReturned)
		}
	}, shared)
}

// TestFailoverIsTurnedOff checks that a Service that is not to fail over any more gets its requests at once, and that nothing fails over
// without being requested.
func TestFailoverIsTurnedOff(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.setReady("us-web", false)
		w.mustCorrect(0)
		time.Sleep(time.Hour)
		w.mustCorrect(0)
		w.failsOver("us", true)
		w.mustCorrect(0)
		time.Sleep(gimbalv1.DefaultUnreadyPeriod)
		w.mustCorrect(1)
		w.failsOver("us", false)
		w.mustCorrect(1)
		if got := w.weights(); got != "70 30" {
			w.Errorf("the weights are %q, want 70 30", got)
		}
	}, shared)
}

// TestFailoverDuringMaintenance checks that maintenance drains a backend whose Service has failed over, and gives it back.
func TestFailoverDuringMaintenance(t *testing.T) {
	inWorld(t, func(w *world) {
		w.failsOver("us", true)
		w.mustCheck("us")
		w.setReady("us-web", false)
		w.mustCorrect(0)
		time.Sleep(gimbalv1.DefaultUnreadyPeriod)
		w.mustCorrect(1)
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		if got := w.mustCheck("us"); got != "True/Drained" || w.weights() != "0 30" {
			w.Errorf("%s with the weights %q, want True/Drained with 0 30", got, w.weights())
		}
		w.setReady("us-web", true)
		w.cluster("us", "clusterStatus", "Enabled")
		synctest.Wait()
		w.mustCheck("us")
		w.mustCorrect(1)
		if got := w.weights(); got != "70 30" {
			w.Errorf("afterwards the weights are %q, want 70 30", got)
		}
	}, shared)
}
