// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
)

// watched is a fleet whose Leases are read, while time passes.
type watched struct {
	*testing.T
	client   client.Client
	reader   *failingReader
	backends *backends
	fleet    map[string]*gimbalv1.DiscoveryBackend
	now      time.Time
	// ahead is how far the clocks of the discoverers are ahead of that of the controller.
	ahead time.Duration
}

func newWatched(t *testing.T, all ...*gimbalv1.DiscoveryBackend) *watched {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &watched{T: t, client: fake.NewClientBuilder().WithScheme(scheme).Build(), fleet: map[string]*gimbalv1.DiscoveryBackend{}, now: noon}
	w.reader = &failingReader{Reader: w.client, reads: new(int)}
	w.backends = &backends{live: w.reader, cluster: &cluster{admins: []string{adminNamespace}, limit: 1, memory: newMemory()}}
	for _, backend := range all {
		w.fleet[backend.Name] = backend
		holder := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: backend.Namespace, Name: lease.Name(backend.Name)}}
		holder.Spec.HolderIdentity = new("by-hand")
		holder.Spec.RenewTime = new(metav1.NewMicroTime(noon))
		if err := w.client.Create(t.Context(), holder); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// passes lets ten seconds pass, after which some discoverers renew their Leases. Those that report that their backend does not respond
// repeat it.
func (w *watched) passes(renewed ...string) {
	w.Helper()
	w.now = w.now.Add(10 * time.Second)
	for _, name := range renewed {
		held := &coordinationv1.Lease{}
		if err := w.client.Get(w.Context(), client.ObjectKey{Namespace: adminNamespace, Name: lease.Name(name)}, held); err != nil {
			w.Fatal(err)
		}
		held.Spec.RenewTime = new(metav1.NewMicroTime(w.now.Add(w.ahead)))
		if err := w.client.Update(w.Context(), held); err != nil {
			w.Fatal(err)
		}
		for i := range w.fleet[name].Status.Errors {
			w.fleet[name].Status.Errors[i].StatusTime = new(metav1.NewTime(w.now.Add(w.ahead)))
		}
	}
}

// decides returns the condition AutomaticMaintenance of the backend us as Status/Reason, and stores it.
func (w *watched) decides() string {
	w.Helper()
	us := w.fleet["us"]
	f := w.backends.cluster.fleetOf(w.fleet)
	f.heard = w.backends.hear(w.Context(), us, f, w.now)
	c, after := w.backends.cluster.memory.decideAutomatic(us, f, w.now)
	if c.Reason != reasonReachable && (after == 0 || after > pulsePeriod) {
		w.Errorf("the next check of %s is after %s, want at most %s", c.Reason, after, pulsePeriod)
	}
	setCondition(us, *c)
	return string(c.Status) + "/" + c.Reason
}

func silentFor(ago time.Duration) func(*gimbalv1.DiscoveryBackend) {
	return reachable(metav1.ConditionFalse, ago)
}

// TestDeadDiscoverer checks that a backend does not count as serving when its discoverer died, however it was started, and that none is
// drained in its favour.
func TestDeadDiscoverer(t *testing.T) {
	w := newWatched(t, member("us", silentFor(time.Hour)), member("eu"))
	if got := w.decides(); got != "Unknown/ReachabilityUnknown" {
		t.Errorf("after the first read = %s, want Unknown/ReachabilityUnknown", got)
	}
	for range 5 {
		w.passes("us")
		if got := w.decides(); got != "Unknown/ReachabilityUnknown" && got != "False/Held" {
			t.Errorf("beside a dead discoverer = %s, want Held", got)
		}
	}
	if got := w.decides(); got != "False/Held" {
		t.Errorf("beside a dead discoverer = %s, want False/Held", got)
	}
	w.passes("us", "eu")
	if got := w.decides(); got != "True/Unreachable" {
		t.Errorf("beside one that runs = %s, want True/Unreachable", got)
	}
}

// TestDiscovererDies checks that the last backend that responds gets its traffic back when the discoverer of the other one dies.
func TestDiscovererDies(t *testing.T) {
	w := newWatched(t, member("us", silentFor(time.Hour)), member("eu"))
	w.decides()
	w.passes("us", "eu")
	if got := w.decides(); got != "True/Unreachable" {
		t.Fatalf("AutomaticMaintenance = %s, want True/Unreachable", got)
	}
	report(w.fleet["us"], metav1.ConditionTrue, w.now, w.now)
	w.passes("us", "eu")
	if got := w.decides(); got != "True/Recovering" {
		t.Errorf("AutomaticMaintenance = %s, want True/Recovering", got)
	}
	for range 4 {
		w.passes("us")
		w.decides()
	}
	if status.IsAutomatic(w.fleet["us"]) {
		t.Errorf("AutomaticMaintenance = %+v, want False", automaticOf(w.fleet["us"]))
	}
}

// TestOwnDiscovererDies checks that a report counts only as long as the discoverer runs.
func TestOwnDiscovererDies(t *testing.T) {
	w := newWatched(t, member("us", silentFor(time.Minute)), member("eu"))
	w.decides()
	w.passes("us", "eu")
	if got := w.decides(); got != "False/Unreachable" {
		t.Fatalf("AutomaticMaintenance = %s, want False/Unreachable", got)
	}
	for range 4 {
		w.passes("eu")
		w.decides()
	}
	if got := w.decides(); got != "Unknown/ReachabilityUnknown" {
		t.Errorf("AutomaticMaintenance = %s, want Unknown/ReachabilityUnknown", got)
	}
}

// TestClockOfDiscoverer checks that automatic maintenance begins and ends when it should although the clock of the discoverer is wrong.
func TestClockOfDiscoverer(t *testing.T) {
	for _, ahead := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			w := newWatched(t, member("us"), member("eu"))
			w.ahead = ahead
			at := func(now time.Time, value metav1.ConditionStatus) {
				report(w.fleet["us"], value, now.Add(ahead), now.Add(ahead))
			}
			pass := func(times int, want string) {
				t.Helper()
				for range times {
					w.passes("us", "eu")
					if got := w.decides(); got != want {
						t.Fatalf("AutomaticMaintenance at %s = %s, want %s", w.now.Format(time.TimeOnly), got, want)
					}
				}
			}
			at(w.now, metav1.ConditionFalse)
			w.decides() // it reads the Leases for the first time
			const step = 10 * time.Second
			pass(int(gimbalv1.DefaultUnreachablePeriod/step)-1, "False/Unreachable")
			pass(1, "True/Unreachable")
			at(w.now, metav1.ConditionTrue)
			pass(int(gimbalv1.DefaultStablePeriod/step)-1, "True/Recovering")
			pass(1, "False/Reachable")
		})
	}
}

// TestRestart checks that a process that does not know yet which discoverers run leaves everything unchanged, also while Leases cannot be
// read.
func TestRestart(t *testing.T) {
	w := newWatched(t, member("us", reachable(metav1.ConditionTrue, time.Minute), active), member("eu"))
	for range 3 {
		w.reader.err = errors.New("unavailable")
		w.passes("us", "eu")
		if got := w.decides(); got != "True/Unreachable" {
			t.Errorf("while Leases cannot be read = %s, want True/Unreachable", got)
		}
	}
	w.reader.err = nil
	if got := w.decides(); got != "True/Unreachable" {
		t.Errorf("after the first read = %s, want True/Unreachable", got)
	}
	w.passes("us", "eu")
	if got := w.decides(); got != "True/Recovering" {
		t.Errorf("after the second read = %s, want True/Recovering", got)
	}
}

// TestLeasesAreRead checks how many requests decisions cause: one for a backend that serves, as long as its time has not come none.
func TestLeasesAreRead(t *testing.T) {
	w := newWatched(t, member("us"), member("eu"), member("ap"))
	for range 3 {
		w.decides()
	}
	if got := *w.reader.reads; got != 1 {
		t.Errorf("reads for a backend that serves = %d, want 1", got)
	}
	w.fleet["us"].Cluster.Maintenance.Automatic = false
	w.backends.hear(t.Context(), w.fleet["us"], fleet{all: w.fleet}, w.now.Add(time.Hour))
	if got := *w.reader.reads; got != 1 {
		t.Errorf("reads for one without automatic maintenance = %d, want none", got-1)
	}
	delete(w.fleet, "us")
	w.backends.cluster.memory.discard(nil)
	if got := len(w.backends.cluster.memory.backends); got != 0 {
		t.Errorf("%d deleted backends are remembered, want none", got)
	}
}
