// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

const (
	// freeRewrites is how often a route is rewritten immediately. After that each one waits twice as long as the one before, so
	// that a client that continuously resets weights causes few writes.
	freeRewrites = 10
	minPause     = 100 * time.Millisecond
	maxPause     = 5 * time.Second
	// quietPeriod is how long nothing has to be rewritten for the count to start over.
	quietPeriod = time.Minute
)

// known returns what is known of a route, nothing for one of which nothing is.
func (m *memory) known(key routeKey, uid types.UID) routeMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.routes[key]; r != nil && r.uid == uid {
		return *r
	}
	return routeMemory{}
}

// route returns the entry of a route, new or old. The lock is held.
func (m *memory) route(key routeKey, uid types.UID) *routeMemory {
	r := m.routes[key]
	if r == nil || r.uid != uid {
		r = &routeMemory{uid: uid}
		m.routes[key] = r
	}
	return r
}

// follow notes routes that were there at the start and may have had a record, until a user changes them.
func (m *memory) follow(key routeKey, e resourcewatch.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !e.Initial {
		if r := m.routes[key]; r != nil && (e.Old == nil || e.New == nil || e.Old.Generation != e.New.Generation) {
			r.unrecorded = nil
		}
		return
	}
	if kept := valueOf[route](e.New); kept != nil && kept.record == "" && kept.view.HasZero() {
		m.route(key, e.New.UID).unrecorded = new(e.New.CreationTimestamp.Time)
	}
}

// hadRecord returns the backends of which a route had a record before this process started.
func (m *memory) hadRecord(key routeKey, uid types.UID, backends map[string]*gimbalv1.DiscoveryBackend) sets.Set[string] {
	created := m.known(key, uid).unrecorded
	if created == nil {
		return nil
	}
	names := sets.Set[string]{}
	for name, backend := range backends {
		since := m.of(backend.UID).drained
		if since != nil && !created.After(*since) && backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
			names.Insert(name)
		}
	}
	return names
}

// discardRoute drops what is known of a route that has been deleted.
func (m *memory) discardRoute(key routeKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.routes, key)
}

// ahead reports whether a cached route is older than what Groundskeeper wrote: its event is on the way.
func (m *memory) ahead(key routeKey, cached *resourcewatch.Object, now time.Time) bool {
	return m.known(key, cached.UID).written.isAfter(cached.ResourceVersion, now)
}

// missing returns the record that a route should have when it has none, or one that cannot be read; "" when there should be none.
// That of a backend that is being deleted, or has been deleted, is removed on purpose, together with the references.
func (m *memory) missing(key routeKey, uid types.UID, record string, backends map[string]*gimbalv1.DiscoveryBackend) string {
	known := m.known(key, uid)
	leaves := func(name string) bool { return backends[name] == nil || !backends[name].DeletionTimestamp.IsZero() }
	if record != "" && !drain.IsDamaged(record) || slices.ContainsFunc(known.recorded, leaves) {
		return ""
	}
	return known.record
}

// agrees notes that nothing is to be done about a route.
func (m *memory) agrees(key routeKey, cached *resourcewatch.Object, kept *route) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.route(key, cached.UID)
	r.record, r.recorded, r.rejected, r.unrecorded = kept.record, kept.recorded, "", nil
	if r.lost != nil && r.lostGeneration != cached.Generation {
		r.lost, r.lostOf = nil, nil
	}
	if r.record == "" && r.lost == nil && r.rewrites == 0 {
		delete(m.routes, key)
	}
}

// pause is how long a rewrite has to wait.
func (m *memory) pause(key routeKey, uid types.UID, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.routes[key]
	if r == nil || r.uid != uid {
		return 0
	}
	since := now.Sub(r.rewritten)
	if since >= quietPeriod {
		r.rewrites = 0
	}
	if r.rewrites < freeRewrites {
		return 0
	}
	return max(min(minPause<<min(r.rewrites-freeRewrites, 16), maxPause)-since, 0)
}

// wrote notes the state of a route after a write by Groundskeeper.
func (m *memory) wrote(key routeKey, object *unstructured.Unstructured, written *route, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.route(key, object.GetUID())
	r.written = moment{object.GetResourceVersion(), now}
	r.record, r.recorded = written.record, written.recorded
}

// rewrote notes that values of a route were written, and which saved weights of which backends were lost.
func (m *memory) rewrote(key routeKey, object *unstructured.Unstructured, lost, lostOf []string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.route(key, object.GetUID())
	r.rewrites, r.rewritten, r.rejected, r.unrecorded = r.rewrites+1, now, "", nil
	if len(lost) > 0 {
		r.lost, r.lostOf, r.lostGeneration = lost, lostOf, object.GetGeneration()
	}
}

// reject notes why a route cannot be written, and reports whether that is news.
func (m *memory) reject(key routeKey, uid types.UID, why string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.route(key, uid)
	news := r.rejected != why
	r.rejected = why
	return news
}

// problems returns why a route cannot be written, and the rules in which weights of a backend were lost; each may be "".
func (m *memory) problems(key routeKey, uid types.UID, backend string) (rejected, lost string) {
	known := m.known(key, uid)
	if slices.Contains(known.lostOf, backend) {
		lost = strings.Join(known.lost, ", ")
	}
	return known.rejected, lost
}
