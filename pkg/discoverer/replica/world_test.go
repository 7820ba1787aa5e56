// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/test/support/clienttest"
)

// backend is an Upstream whose services, all in namespace shop, a test sets.
type backend struct {
	mu       sync.Mutex
	unsynced bool
	services map[string]bool
	// listed is what a listing again brings; nil is an error, and so are the first ones that are broken.
	listed []string
	// listings counts these.
	listings, brokenListings int
	// live is what the backend itself has, services unless it is set; broken is why it cannot be read.
	live   map[string]bool
	broken error
	// unknown reports what is not known to be deleted: nothing, unless it is set.
	unknown func(types.NamespacedName) bool
	// since is of when it was last requested to be read.
	since time.Time
}

func (b *backend) lock() func() {
	b.mu.Lock()
	return b.mu.Unlock
}

// Listen implements Upstream: tests notify.
func (b *backend) Listen(Listener) {}

// Synced implements Upstream.
func (b *backend) Synced() bool {
	defer b.lock()()
	return !b.unsynced
}

// Keys implements Upstream.
func (b *backend) Keys() []types.NamespacedName {
	defer b.lock()()
	var keys []types.NamespacedName
	for name := range maps.Keys(b.services) {
		keys = append(keys, keyOf(name))
	}
	return keys
}

// Source implements Upstream.
func (b *backend) Source(key types.NamespacedName) (source *desired.Source, excluded bool) {
	defer b.lock()()
	return sourceIn(b.services, key), false
}

// Unknown implements Upstream.
func (b *backend) Unknown(key types.NamespacedName) bool { return b.unknown != nil && b.unknown(key) }

// Read implements Upstream.
func (b *backend) Read(_ context.Context, key types.NamespacedName, since time.Time) (source *desired.Source, excluded bool, err error) {
	defer b.lock()()
	b.since = since
	if b.live != nil {
		return sourceIn(b.live, key), false, b.broken
	}
	return sourceIn(b.services, key), false, b.broken
}

func sourceIn(services map[string]bool, key types.NamespacedName) *desired.Source {
	if !services[key.Name] {
		return nil
	}
	return &desired.Source{Namespace: key.Namespace, Name: key.Name, Ports: []corev1.ServicePort{{Port: 80}}}
}

// set adds a service to what is known of the backend.
func (b *backend) set(name string) {
	defer b.lock()()
	b.services[name] = true
}

// repair lets the backend be read again.
func (b *backend) repair() {
	defer b.lock()()
	b.broken = nil
}

// Copies implements Upstream.
func (b *backend) Copies(context.Context) (sets.Set[desired.Ref], error) {
	defer b.lock()()
	b.listings++
	if b.listed == nil || b.listings <= b.brokenListings {
		return nil, errors.New("the listing is not complete")
	}
	copies := sets.New[desired.Ref]()
	for _, name := range b.listed {
		copies.Insert(refTo(name))
	}
	return copies, nil
}

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

func refTo(name string) desired.Ref {
	return desired.Ref{Kind: desired.KindService, NamespacedName: types.NamespacedName{Namespace: "shop", Name: desired.CopyName("us", name)}}
}

// copied returns the copy of a service of the backend.
func copied(name, version string) *corev1.Service {
	service := desired.Build("us", &desired.Source{Namespace: "shop", Name: name, Ports: []corev1.ServicePort{{Port: 80}}}).Service
	service.UID, service.ResourceVersion = types.UID("uid-"+name), version
	return service
}

// world is a Replica in a bubble of fake time.
type world struct {
	*testing.T
	*Replica
	backend *backend
	here    *fake.Clientset
	start   func()
}

// inWorld runs a test with a Replica of services, and copies that are here already. The test starts it.
func inWorld(t *testing.T, services, copies []string, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		there := &backend{services: map[string]bool{}}
		for _, name := range services {
			there.services[name] = true
		}
		var here []runtime.Object
		for i, name := range copies {
			here = append(here, copied(name, fmt.Sprint(i+1)))
		}
		here = append(here, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
		w := &world{T: t, backend: there, here: clienttest.NewStrict(t, here...)}
		client, queue := clienttest.Client{Clientset: w.here}, NewQueue()
		w.Replica = New(Options{
			Backend: "us", Upstream: there, Client: client, Watching: client, Workers: 1, Resync: time.Hour,
			Ledger: report.NewLedger(clock.RealClock{}), Meters: telemetry.New("us", "kubernetes", "v0", queue.Len), Clock: clock.RealClock{},
		}, queue)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		w.start = func() {
			group.Go(func() { w.Watch(ctx) })
			group.Go(func() { _ = w.Work(ctx) })
		}
		defer group.Wait()
		defer cancel()
		test(w)
	})
}

// after lets time pass.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// writes are how often each verb was tried since the last call.
func (w *world) writes() map[string]int {
	counts := map[string]int{}
	for _, action := range w.here.Actions() {
		if !slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
			counts[action.GetVerb()]++
		}
	}
	w.here.ClearActions()
	return counts
}

func (w *world) expect(what string, want map[string]int) {
	w.Helper()
	if got := w.writes(); !maps.Equal(got, want) {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

// It makes requests of a verb fail, as long as there is an error. It is called before the start.
func (w *world) reject(verb string, rejection func() error) {
	w.here.PrependReactor(verb, "services", func(ktesting.Action) (bool, runtime.Object, error) {
		err := rejection()
		return err != nil, nil, err
	})
}
