// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/readiness"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/test/support/clienttest"
)

const serviceCount = 5

// maintained is a world in a bubble of fake time, with serviceCount services of two endpoints each, and a DiscoveryBackend that
// reports whether they are withheld.
type maintained struct {
	*world
	ctx       context.Context
	endpoints *readiness.Endpoints
	backend   *gimbalv1.DiscoveryBackend

	mu       sync.Mutex
	withheld bool
	requests int
	err      error
}

// oneReady returns the endpoints of a service in the backend: one that is ready, and one that terminates.
func oneReady(service string) *discoveryv1.EndpointSlice {
	part := endpoints("shop", service, "a", "10.1.0.1", "10.1.0.2")
	for i := range part.Endpoints {
		part.Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: new(i == 0), Serving: new(true), Terminating: new(i == 1)}
	}
	return part
}

// inMaintenance runs a test in a bubble, with a discoverer that has copied everything.
func inMaintenance(t *testing.T, test func(*maintained)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var there []runtime.Object
		for i := range serviceCount {
			name := fmt.Sprintf("web-%d", i)
			there = append(there, service("shop", name), oneReady(name))
		}
		m := &maintained{world: newWorld(t, there, []runtime.Object{namespace("shop")})}
		m.backend = &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: "us", UID: "us"}}
		var cancel context.CancelFunc
		m.ctx, cancel = context.WithCancel(t.Context())
		var group sync.WaitGroup
		m.run(&group)
		time.Sleep(time.Minute)
		if got := m.writes(); len(got) > 0 {
			t.Fatalf("wrote %v before it knew whether the endpoints are withheld", got)
		}
		m.replica.SetWithheld(false)
		time.Sleep(time.Second)
		if m.replica.LastSync().IsZero() {
			t.Fatal("nothing is copied")
		}
		m.writes()
		test(m)
		cancel()
		group.Wait()
	})
}

// run starts the discoverer, and the controller beside it.
func (m *maintained) run(group *sync.WaitGroup) {
	m.Helper()
	queue := replica.NewQueue()
	m.ledger, m.meters = report.NewLedger(clock.RealClock{}), telemetry.New("us", "kubernetes", "v0", queue.Len)
	there := clienttest.Client{Clientset: m.there}
	m.upstream = New(Options{Backend: "us", Client: there, Watching: there, Meters: m.meters, Clock: clock.RealClock{}})
	m.replica = replica.New(replica.Options{Labels: desired.Labels{Include: []string{"app"}},
		Backend: "us", Upstream: m.upstream, Client: clienttest.Client{Clientset: m.here}, Watching: clienttest.Client{Clientset: m.here}, Workers: 2, Resync: time.Hour,
		Withheld: m.query, Ledger: m.ledger, Meters: m.meters, Clock: clock.RealClock{},
	}, queue)
	m.endpoints = readiness.New(m.here, []string{"gimbal-discovery"})
	group.Go(func() { m.upstream.Watch(m.ctx) })
	group.Go(func() { m.replica.Watch(m.ctx) })
	group.Go(func() { _ = m.endpoints.Start(m.ctx) })
	group.Go(func() { _ = m.replica.Work(m.ctx) })
}

func (m *maintained) query(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	return m.withheld, m.err
}

// It counts how often it was queried since the last call; err is what the next responses are.
func (m *maintained) queries(err error) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests := m.requests
	m.requests, m.err = 0, err
	return requests
}

// announce changes the DiscoveryBackend. The test delivers the event to the discoverer later.
func (m *maintained) announce(withheld bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.withheld = withheld
}

// withhold withholds the endpoints of all Services.
func (m *maintained) withhold(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (int, error) {
	services := readiness.Services{Withhold: sets.Set[types.NamespacedName]{}}
	for i := range serviceCount {
		services.Withhold.Insert(types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("us-web-%d", i)})
	}
	return m.endpoints.Withhold(ctx, backend, services)
}

// control does what the controller does about the endpoints, and waits until the discoverer has seen it.
func (m *maintained) control(do func(context.Context, *gimbalv1.DiscoveryBackend) (int, error)) {
	m.Helper()
	for {
		synctest.Wait()
		pending, err := do(m.ctx, m.backend)
		if err != nil {
			m.Fatal(err)
		}
		if pending == 0 {
			synctest.Wait()
			return
		}
	}
}

// readies reports about each copied slice how many endpoints are ready.
func (m *maintained) readies() []int {
	m.Helper()
	list, err := m.here.DiscoveryV1().EndpointSlices("").List(m.ctx, metav1.ListOptions{})
	if err != nil {
		m.Fatal(err)
	}
	var all []int
	for i := range list.Items {
		ready := 0
		for _, endpoint := range list.Items[i].Endpoints {
			if *endpoint.Conditions.Ready {
				ready++
			}
		}
		all = append(all, ready)
	}
	return all
}

func (m *maintained) expect(what string, ready, writes int) {
	m.Helper()
	if got := m.readies(); !slices.Equal(got, slices.Repeat([]int{ready}, serviceCount)) {
		m.Errorf("%s: %v are ready, want %d each", what, got, ready)
	}
	if got := m.writes(); len(got) != writes || strings.Contains(strings.Join(got, " "), "services") {
		m.Errorf("%s: wrote %v, want %d slices", what, got, writes)
	}
}

// Discoverer and controller do not overwrite each other: each slice is written once, whichever receives the change first, and nothing is
// written afterwards.
func TestMaintenanceOfBoth(t *testing.T) {
	for name, lag := range map[string]time.Duration{"the discoverer hears immediately": 0, "after a second": time.Second, "after nine": 9 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inMaintenance(t, func(m *maintained) {
				for _, withheld := range []bool{true, false, true, false} {
					m.announce(withheld)
					if lag == 0 {
						m.replica.SetWithheld(withheld)
					}
					do, ready := m.endpoints.Restore, 1
					if withheld {
						do, ready = m.withhold, 0
					}
					m.control(do)
					time.Sleep(lag)
					m.replica.SetWithheld(withheld)
					time.Sleep(time.Minute)
					m.control(do)
					m.expect(fmt.Sprintf("withheld %t", withheld), ready, serviceCount)
				}
			})
		})
	}
}

// TestMaintenanceOfTheDiscoverer checks that, without the controller, which decides about endpoints, the discoverer withholds only
// those of new services and keeps withheld ones withheld. It restores them some seconds later, with one query for all.
func TestMaintenanceOfTheDiscoverer(t *testing.T) {
	inMaintenance(t, func(m *maintained) {
		m.announce(true)
		m.replica.SetWithheld(true)
		time.Sleep(time.Minute)
		m.expect("as long as nothing is withheld", 1, 0)
		m.control(m.withhold)
		m.writes()
		m.queries(nil)
		m.announce(false)
		m.replica.SetWithheld(false)
		time.Sleep(4 * time.Second)
		m.expect("at first", 0, 0)
		time.Sleep(20 * time.Second)
		m.expect("in the end", 1, serviceCount)
		if requests := m.queries(nil); requests == 0 || requests > 2 { // two workers may query concurrently
			t.Errorf("queries = %d, want 1 or 2", requests)
		}
	})
}

// The endpoints of a service that is new in maintenance are withheld until the controller has decided about them.
func TestNewServiceInMaintenance(t *testing.T) {
	inMaintenance(t, func(m *maintained) {
		m.announce(true)
		m.replica.SetWithheld(true)
		if err := errors.Join(m.there.Tracker().Add(endpoints("shop", "new", "a", "10.1.0.9")), m.there.Tracker().Add(service("shop", "new"))); err != nil {
			t.Fatal(err)
		}
		ready := func() bool {
			time.Sleep(time.Minute)
			return *m.slice("shop", sliceName("new", "new-a")).Endpoints[0].Conditions.Ready
		}
		if ready() {
			t.Error("it is ready before the controller decides")
		}
		if m.control(m.endpoints.Restore); !ready() {
			t.Error("it is not ready although the controller restored it")
		}
	})
}

// For some seconds the readiness is left to the controller, even of a service that changes.
func TestReadinessIsLeftToTheController(t *testing.T) {
	inMaintenance(t, func(m *maintained) {
		m.announce(true)
		m.replica.SetWithheld(true)
		changed := service("shop", "web-0")
		changed.Labels["app"] = "changed"
		update(t, m.there, changed)
		time.Sleep(time.Second)
		if got := m.writes(); !slices.Equal(got, []string{"patch services"}) {
			t.Errorf("wrote %v", got)
		}
		m.control(m.withhold)
		time.Sleep(time.Minute)
		m.expect("in the end", 0, serviceCount)
	})
}

// TestEndpointsChangeInMaintenance checks that changes of the backend's endpoints are still copied in maintenance, and that none is
// ready.
func TestEndpointsChangeInMaintenance(t *testing.T) {
	inMaintenance(t, func(m *maintained) {
		m.announce(true)
		m.replica.SetWithheld(true)
		m.control(m.withhold)
		m.writes()
		grown := endpoints("shop", "web-0", "a", "10.1.0.1", "10.1.0.2", "10.1.0.3")
		update(t, m.there, grown)
		time.Sleep(time.Second)
		slice := m.slice("shop", sliceName("web-0", "web-0-a"))
		if len(slice.Endpoints) != 3 {
			t.Errorf("%d endpoints are copied", len(slice.Endpoints))
		}
		m.expect("with one more endpoint", 0, 1)
	})
}

// A slice that a user withheld without maintenance is repaired, but not as long as the API server does not report that there is
// none.
func TestReadinessIsConfirmed(t *testing.T) {
	inMaintenance(t, func(m *maintained) {
		m.queries(errors.New("no response"))
		m.control(m.withhold)
		m.expect("withheld", 0, serviceCount)
		time.Sleep(20 * time.Second)
		m.expect("without a response", 0, 0)
		m.queries(nil)
		time.Sleep(time.Minute)
		m.expect("with a response", 1, serviceCount)
	})
}

// TestZonesInMaintenance checks that endpoints that get a zone, as all do after an upgrade, do not get ready by that while the discoverer
// has not been notified of maintenance.
func TestZonesInMaintenance(t *testing.T) {
	inMaintenance(t, func(m *maintained) {
		m.queries(errors.New("no response"))
		m.control(m.withhold)
		m.expect("withheld", 0, serviceCount)
		update(t, m.there, inZone("a", oneReady("web-0")))
		time.Sleep(20 * time.Second)
		m.expect("with a zone", 0, 0)
	})
}

// Without maintenance, what the backend reports about readiness alone is copied immediately. The API server is queried only before
// something becomes ready.
func TestReadinessWithoutMaintenance(t *testing.T) {
	inMaintenance(t, func(m *maintained) {
		time.Sleep(time.Minute)
		m.queries(nil)
		for _, ready := range []bool{false, true} {
			changed := endpoints("shop", "web-0", "a", "10.1.0.1", "10.1.0.2")
			for j := range changed.Endpoints {
				changed.Endpoints[j].Conditions = discoveryv1.EndpointConditions{Ready: new(j == 0 && ready), Serving: new(true), Terminating: new(j == 1)}
			}
			update(t, m.there, changed)
			synctest.Wait()
			if got := m.slice("shop", sliceName("web-0", "web-0-a")); *got.Endpoints[0].Conditions.Ready != ready {
				t.Errorf("ready %t is not copied immediately", ready)
			}
			if requests := m.queries(nil); requests > 0 != ready {
				t.Errorf("ready %t: queried %d times", ready, requests)
			}
		}
		// Maintenance begins a moment after that response, and the discoverer is not notified: it reverts nothing.
		m.writes()
		m.announce(true)
		m.control(m.withhold)
		time.Sleep(time.Minute)
		m.expect("withheld", 0, serviceCount)
	})
}

// For some seconds after the start, maintenance may just have ended: readiness is left to the controller.
func TestReadinessAfterTheStart(t *testing.T) {
	inMaintenance(t, func(m *maintained) {
		m.control(m.withhold)
		m.writes()
		time.Sleep(time.Second)
		m.expect("at first", 0, 0)
		time.Sleep(time.Minute)
		m.expect("in the end", 1, serviceCount)
	})
}
