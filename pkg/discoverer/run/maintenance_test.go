// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	gimbalclient "groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/typed/gimbal/v1"
)

// backends is an API server with no DiscoveryBackend in the beginning.
type backends struct {
	gimbalclient.DiscoveryBackendInterface
	watcher *watch.FakeWatcher

	mu      sync.Mutex
	down    bool
	backend *gimbalv1.DiscoveryBackend
}

// Get implements gimbalclient.DiscoveryBackendInterface.
func (b *backends) Get(_ context.Context, name string, _ metav1.GetOptions) (*gimbalv1.DiscoveryBackend, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.down:
		return nil, errors.New("no response")
	case b.backend == nil:
		return nil, apierrors.NewNotFound(gimbalv1.Resource("discoverybackends"), name)
	}
	return b.backend, nil
}

// List implements gimbalclient.DiscoveryBackendInterface.
func (b *backends) List(_ context.Context, options metav1.ListOptions) (*gimbalv1.DiscoveryBackendList, error) {
	if options.FieldSelector != "metadata.name=us" {
		return nil, errors.New("more than the own DiscoveryBackend is listed")
	}
	return &gimbalv1.DiscoveryBackendList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

// Watch implements gimbalclient.DiscoveryBackendInterface.
func (b *backends) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil { // as a server that does not know that yet
		return nil, apierrors.NewInvalid(gimbalv1.Kind("DiscoveryBackend"), "us", nil)
	}
	return b.watcher, nil
}

// put changes the DiscoveryBackend, in a new version.
func (b *backends) put(version string, withheld bool, notify func(*watch.FakeWatcher, *gimbalv1.DiscoveryBackend)) {
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "us", ResourceVersion: version}}
	backend.Status.EndpointsDrained = withheld
	b.mu.Lock()
	b.backend = backend
	b.mu.Unlock()
	notify(b.watcher, backend)
}

// TestMaintenance checks that the callback is called immediately with whether endpoints are withheld, even without a
// DiscoveryBackend, and with every change, but not while it is unknown.
func TestMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &backends{watcher: watch.NewFake(), down: true}
		var mu sync.Mutex
		var notified []bool
		m := newMaintenance(server, server, "ns", "us", time.Second, func(withheld bool) {
			mu.Lock()
			defer mu.Unlock()
			notified = append(notified, withheld)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { m.follow(ctx) })
		expect := func(what string, want ...bool) {
			t.Helper()
			time.Sleep(5 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(notified, want) {
				t.Errorf("%s: notifications = %v, want %v", what, notified, want)
			}
		}
		expect("without a response")
		server.mu.Lock()
		server.down = false
		server.mu.Unlock()
		expect("without a DiscoveryBackend", false)
		server.put("2", false, func(w *watch.FakeWatcher, b *gimbalv1.DiscoveryBackend) { w.Add(b) })
		expect("with one", false, false)
		server.put("3", true, func(w *watch.FakeWatcher, b *gimbalv1.DiscoveryBackend) { w.Modify(b) })
		expect("withheld", false, false, true)
		if withheld, err := m.withheld(ctx); err != nil || !withheld {
			t.Errorf("withheld() = %t, %v", withheld, err)
		}
		server.put("4", false, func(w *watch.FakeWatcher, b *gimbalv1.DiscoveryBackend) { w.Delete(b) })
		expect("gone", false, false, true)
		cancel()
		group.Wait()
	})
}

// TestDeletionIsObserved checks that a discoverer receives the deletion of its backend from its first request and from the watch.
func TestDeletionIsObserved(t *testing.T) {
	going := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "us", ResourceVersion: "3", DeletionTimestamp: new(metav1.Now())}}
	for name, learn := range map[string]func(context.Context, *maintenance, *backends){
		"by the watch": func(_ context.Context, _ *maintenance, b *backends) { b.watcher.Modify(going) },
		"by a question": func(ctx context.Context, m *maintenance, b *backends) {
			b.mu.Lock()
			b.backend = going
			b.mu.Unlock()
			_, _ = m.withheld(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &backends{watcher: watch.NewFake()}
				m := newMaintenance(server, server, "ns", "us", time.Second, func(bool) {})
				ctx, cancel := context.WithCancel(t.Context())
				var group sync.WaitGroup
				group.Go(func() { m.follow(ctx) })
				isDeleted := func() bool {
					synctest.Wait()
					select {
					case <-m.deleted:
						return true
					default:
						return false
					}
				}
				server.put("2", false, func(w *watch.FakeWatcher, b *gimbalv1.DiscoveryBackend) { w.Add(b) })
				if isDeleted() {
					t.Error("a backend that lives is taken for one that is being deleted")
				}
				for range 2 {
					learn(ctx, m, server)
				}
				if !isDeleted() {
					t.Error("the deletion is not observed")
				}
				cancel()
				group.Wait()
			})
		})
	}
}
